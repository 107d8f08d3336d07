"""Score requests with a cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record, Request

__all__ = ["Progress", "ScoredRequests", "scored"]

Progress = Callable[..., None]
"""Called with a label, the number of requests done, the total, and tokens and cost if any."""


@dataclass(frozen=True)
class ScoredRequests:
    """The records of requests, and how they were obtained."""

    records: Mapping[Request, Record]
    engine: Mapping[str, object]
    seconds: float
    unanswered: Mapping[Request, str] = field(default_factory=dict)


def scored(
    model: Model,
    policy: ResolvedPolicy,
    requests: Sequence[Request],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> ScoredRequests:
    """Return scores from the cache where available, and score the rest in one go.

    Args:
        model: The model.
        policy: How to score.
        requests: The requests, without duplicates.
        cache: The cache; every batch is saved there once scored.
        label: A label for progress and for the record of the run.
        progress: Called as requests are done.
    """
    started = time.time()
    report = progress or (lambda *_: None)
    model.attach(cache)
    settings = policy.as_dict() | model.exactness()
    keys = {r: cache_key(model.fingerprint, settings, r.parts()) for r in requests}
    known = cache.records(list(keys.values()))
    records = {r: known[key] for r, key in keys.items() if key in known}
    missing = [r for r in requests if r not in records]
    engine: dict[str, object] = {"scored": label, "from_cache": len(records), **model.exactness()}
    if requests:
        report(label, len(records), len(requests))
    if missing:
        before = replace(model.tally)
        with cache.writing() as write:
            for batch in model.score(missing, policy):
                found = [(missing[i], record) for i, record in batch]
                write([(keys[r], record) for r, record in found])
                records.update(found)
                told = model.detail(len(records), len(requests))
                report(label, len(records), len(requests), *([told] if told else []))
        cost = {k: v - getattr(before, k) for k, v in asdict(model.tally).items()}
        engine |= {"how": model.engine, **cost}
    failed = {r: model.unanswered[r] for r in missing if r in model.unanswered}
    return ScoredRequests(records, engine, time.time() - started, failed)
