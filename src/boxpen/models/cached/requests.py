"""Score requests with a cache."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached.ask import Ask
from boxpen.models.cached.lookup import Progress, looked_up
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Record, Request

__all__ = ["ScoredRequests", "scored"]


@dataclass(frozen=True)
class ScoredRequests:
    """The records of requests, and how they were obtained.

    Attributes:
        records: One for each request that was answered.
        engine: What was computed and how.
        seconds: How long it took.
        unanswered: Requests without a record, with reasons.
        exact: Some of them again, in full precision, if ``records`` are rounded.
        rescored: Ids of the items whose records are those of ``exact``.
        dtypes: Names of the precisions of ``records`` and ``exact``, if there are two.
    """

    records: Mapping[Request, Record]
    engine: Mapping[str, object]
    seconds: float
    unanswered: Mapping[Request, str] = field(default_factory=dict)
    exact: Mapping[Request, Record] = field(default_factory=dict)
    rescored: Set[str] = frozenset()
    dtypes: tuple[str, str] = ("", "")

    def of(self, item: str) -> tuple[Mapping[Request, Record], str]:
        """Return the records for the requests of an item, and the precision that all have."""
        if item in self.rescored:
            return self.exact, self.dtypes[1]
        return self.records, self.dtypes[0]


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
        requests: The requests.
        cache: The cache; every batch is saved there once scored.
        label: A label for progress and for the record of the run.
        progress: Called as requests are done.
    """
    started = time.time()
    ask = Ask("score", model, tuple(requests), policy, label=label)
    before = replace(model.tally)
    records, stored, asked = looked_up(ask, cache, progress)
    engine: dict[str, object] = {"scored": label, "from_cache": stored, **model.exactness()}
    if asked:
        cost = {k: v - getattr(before, k) for k, v in asdict(model.tally).items()}
        engine |= {"how": model.engine, **cost}
    failed = {r: model.unanswered.get(r, "no answer") for r in ask.items if r not in records}
    return ScoredRequests(records, engine, time.time() - started, failed)
