"""Precision ``fast``: score in bfloat16, and near ties again in full precision.

Rounding moves the margin of an item. How far is measured on the model itself: some items are scored
in both precisions, and a multiple of the largest difference is the bound. An item whose best two
candidates are nearer than that is scored again in full, all its candidates. Each of those is a
measurement, too: if one differs by more than the bound, the bound grows, and more items are scored
again, until it holds. This aims at the verdicts of full precision; the bound is measured, and not
proved.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import get_args

from boxpen.errors import PolicyError, ScoringError
from boxpen.models.base import Model, ResolvedPolicy, Tally
from boxpen.models.cached.lookup import Progress
from boxpen.models.cached.requests import ScoredRequests, scored
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.normalise import score
from boxpen.scoring.policy import Norm
from boxpen.scoring.requests import Record, Request

__all__ = ["Contest", "scored_fast"]

CALIBRATION = (40, 200)
"""Items that are scored in both precisions whatever their margins: a tenth, within these limits."""

LONGEST = 1 / 3
"""How many of the longest items come on top, as a share of those: rounding grows with the text."""

SAFETY = 2.0
"""What the largest difference is multiplied by."""

Records = Mapping[Request, Record]


@dataclass(frozen=True)
class Contest:
    """The items of a suite, whose candidates compete under one norm.

    Attributes:
        norm: The norm that decides.
        items: By id: the requests of all candidates, and those without context, if PMI needs them.
    """

    norm: Norm
    items: Mapping[str, tuple[Sequence[Request], Sequence[Request]]]


def scored_fast(
    model: Model,
    policy: ResolvedPolicy,
    contests: Sequence[Contest],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> tuple[list[ScoredRequests], list[dict[str, float]]]:
    """Score items in bfloat16, and near ties in full precision.

    Args:
        model: The model, which has a rounded twin.
        policy: How to score.
        contests: The items.
        cache: The score cache, which keeps the two precisions apart.
        label: What progress shows.
        progress: Called as requests are done.

    Returns:
        For each contest the scores, and by norm how near a tie an item must be to be scored in full
        precision.
    """
    twin = model.rounded
    assert twin is not None
    everything = [r for one in contests for of in one.items.values() for few in of for r in few]
    every = scored(twin, policy, everything, cache, label, progress)
    passes = [every]
    exact: dict[Request, Record] = {}
    decided = [_Decided(one, every.records) for one in contests]
    wanted = [one.sample() for one in decided]
    while any(wanted):
        asked = [r for one, items in zip(decided, wanted, strict=True) for r in one.asked(items)]
        if new := [request for request in asked if request not in exact]:
            again = scored(model, policy, new, cache, f"{label} ({model.dtype})", progress)
            passes.append(again)
            exact.update(again.records)
        wanted = [one.near(items, exact) for one, items in zip(decided, wanted, strict=True)]
    engine = _added([one.engine for one in passes])
    together = replace(
        every, seconds=sum(one.seconds for one in passes), exact=exact,
        dtypes=(twin.dtype, model.dtype),
    )  # fmt: skip
    results = [
        replace(together, rescored=one.done, engine=engine | {"rescored": len(one.done)})
        for one in decided
    ]
    return results, [one.bounds for one in decided]


def _added(engines: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return what several passes computed together, and how."""
    counts = ("from_cache", *(count.name for count in fields(Tally)))
    sums = {k: sum(one.get(k, 0) for one in engines) for k in counts}  # type: ignore[misc]
    how = " + ".join(dict.fromkeys(str(one["how"]) for one in engines if "how" in one))
    computed = {"how": how, **sums} if how else {"from_cache": sums["from_cache"]}
    return {**engines[0], **computed, "precision": "fast"}


class _Decided:
    """The items of a contest, and how far rounding has been seen to move their margins.

    Attributes:
        done: Items that were scored in both precisions.
        bounds: By norm, the distance of two candidates below which an item is not decided.
    """

    def __init__(self, contest: Contest, rounded: Records) -> None:
        self._norm = contest.norm
        self._rounded = rounded
        self._of = {
            item: (requests, free)
            for item, (requests, free) in contest.items.items()
            if all(request in rounded for request in (*requests, *free))
        }
        self.done: set[str] = set()
        self.bounds: dict[str, float] = {}

    def sample(self) -> list[str]:
        """Return the items to calibrate on: some by their ids, and the longest ones."""
        least, most = CALIBRATION
        count = min(max(len(self._of) // 10, least), most)
        by_id = sorted(self._of, key=lambda i: (zlib.crc32(i.encode()), i))
        longest = sorted(by_id, key=self._length, reverse=True)[: round(LONGEST * count)]
        return list(dict.fromkeys((*by_id[:count], *longest)))

    def _length(self, item: str) -> int:
        """Return how many tokens of the longest candidate are scored."""
        return max(len(self._rounded[request].logprobs) for request in self._of[item][0])

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
        bound = self.bounds.get(self._norm, 0.0)
        return [
            item
            for item in self._of
            if item not in self.done
            and _lead(self._scores(item, self._norm, self._rounded)) <= bound
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
