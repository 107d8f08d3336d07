"""Precision ``fast``: score in bfloat16, and near ties again in full precision.

Rounding moves the margin of an item. How far is measured on the model itself: some items are scored
in both precisions, and a multiple of the largest difference is the bound. An item whose best two
candidates are nearer than that is scored again in full, all its candidates. Each of those is a
measurement, too: if one differs by more than the bound, the bound grows, and more items are scored
again, until it holds. So verdicts are those of full precision.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from boxpen.errors import PolicyError, ScoringError
from boxpen.models.cached import Progress, ScoredRequests, scored
from boxpen.plans import Plan
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.normalise import score
from boxpen.scoring.policy import Norm
from boxpen.scoring.requests import Record, Request

__all__ = ["scored_fast"]

CALIBRATION = 200
"""Items of a suite that are scored in both precisions whatever their margins."""

SAFETY = 2.0
"""What the largest difference is multiplied by."""

Records = Mapping[Request, Record]


def scored_fast(
    plans: Sequence[Plan],
    requests: Sequence[Request],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> ScoredRequests:
    """Score the requests of plans of one model in bfloat16, and near ties in full precision.

    Every plan gets the bounds that rounding was found to have.

    Args:
        plans: The plans; their model has a rounded twin.
        requests: All that they ask.
        cache: The score cache, which keeps the two precisions apart.
        label: What progress shows.
        progress: Called as requests are done.
    """
    model, policy = plans[0].model, plans[0].resolved_policy
    twin = model.rounded
    assert twin is not None
    every = scored(twin, policy, requests, cache, label, progress)
    exact: dict[Request, Record] = {}
    pairs = [_Pairs(planned, every.records) for planned in plans]
    wanted = [each.sample() for each in pairs]
    seconds = every.seconds
    while any(wanted):
        new = [r for each, items in zip(pairs, wanted, strict=True) for r in each.asked(items)]
        again = scored(model, policy, new, cache, f"{label} ({model.dtype})", progress)
        seconds += again.seconds
        exact.update(again.records)
        wanted = [each.near(items, exact) for each, items in zip(pairs, wanted, strict=True)]
    engine = {
        **every.engine,
        "precision": "fast",
        "rescored": sum(len(each.done) for each in pairs),
    }
    for planned, each in zip(plans, pairs, strict=True):
        planned.rounding = each.bounds
    dtypes = (twin.dtype, model.dtype)
    return ScoredRequests(every.records, engine, seconds, every.unanswered, exact, dtypes)


class _Pairs:
    """The items of a plan, and how far rounding has been seen to move their margins.

    Attributes:
        done: Items that were scored in both precisions.
        bounds: By norm, the distance of two candidates below which an item is not decided.
    """

    def __init__(self, planned: Plan, rounded: Records) -> None:
        self._plan = planned
        self._rounded = rounded
        self._of = {
            item.id: (tuple(requests), tuple(planned.unconditional(item)))
            for item in planned.judged
            for requests in [planned.requests(item)]
            if all(request in rounded for request in requests)
        }
        self.done: set[str] = set()
        self.bounds: dict[str, float] = {}

    def sample(self) -> list[str]:
        """Return the items to calibrate on; which they are follows from their ids alone."""
        return sorted(self._of, key=lambda i: (zlib.crc32(i.encode()), i))[:CALIBRATION]

    def asked(self, items: Iterable[str]) -> list[Request]:
        """Return the requests of items."""
        return [r for i in items for few in self._of[i] for r in few]

    def near(self, measured: Iterable[str], exact: Records) -> list[str]:
        """Measure rounding on items; return those that are to be scored in full precision now."""
        largest: dict[str, float] = {}
        for item in measured:
            self.done.add(item)
            for name, apart in self._moved(item, exact).items():
                largest[name] = max(apart, largest.get(name, 0.0))
        for name, apart in largest.items():
            if apart > self.bounds.get(name, -1.0):
                self.bounds[name] = SAFETY * apart
        norm = self._plan.policy.norm
        bound = self.bounds.get(norm, 0.0)
        return [
            item
            for item in self._of
            if item not in self.done and _lead(self._scores(item, norm, self._rounded)) <= bound
        ]

    def _scores(self, item: str, norm: Norm, records: Records) -> list[float]:
        requests, free = self._of[item]
        return [
            score(
                records[request],
                request.text,
                norm,
                unconditional=records[free[place]] if free else None,
            )
            for place, request in enumerate(requests)
        ]

    def _moved(self, item: str, exact: Records) -> dict[str, float]:
        """Return by how much the distance of a candidate from the best one changed, by norm."""
        found = {}
        for norm in get_args(Norm):
            try:
                rounded, full = (self._scores(item, norm, r) for r in (self._rounded, exact))
            except (PolicyError, ScoringError):  # no PMI without its records
                continue
            moved = [r - f for r, f in zip(rounded, full, strict=True)]
            best = moved[rounded.index(max(rounded))]
            found[norm] = max(abs(best - one) for one in moved)
        return found


def _lead(scores: Sequence[float]) -> float:
    first, second = sorted(scores, reverse=True)[:2]
    return first - second
