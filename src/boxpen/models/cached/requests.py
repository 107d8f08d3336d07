"""Score requests with a cache."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached.lookup import Progress, looked_up
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record, Request

__all__ = ["ScoredRequests", "scored"]


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
    model.attach(cache)
    settings = policy.as_dict() | model.exactness()
    keys = {r: cache_key(model.fingerprint, settings, r.parts()) for r in requests}
    missing: list[Request] = []
    before = replace(model.tally)

    def produce(few: list[Request]) -> Iterator[list[tuple[int, Record]]]:
        missing.extend(few)
        return model.score(few, policy)

    with cache.writing() as save:
        records = looked_up(model, keys, cache.records, save, produce, label, progress)
    stored = len(keys) - len(missing)
    engine: dict[str, object] = {"scored": label, "from_cache": stored, **model.exactness()}
    if missing:
        cost = {k: v - getattr(before, k) for k, v in asdict(model.tally).items()}
        engine |= {"how": model.engine, **cost}
    failed = {r: model.unanswered.get(r, "no answer") for r in missing if r not in records}
    return ScoredRequests(records, engine, time.time() - started, failed)
