"""Robustness of accuracy when items are asked again with small changes.

``survival`` is the share of right answers whose dual is answered rightly too. ``independence``
asks whether both are right more or less often than two answers that know nothing of each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from boxpen.metrics.intervals import Estimate, wilson
from boxpen.metrics.permutation import Rows, exchange_test

__all__ = ["Dependence", "independence", "survival"]


class Dependence(NamedTuple):
    """Both right, against what independent answers of the same accuracy would give.

    Attributes:
        expected: The share of pairs that would be right on both sides.
        test: ``exact conditional``, or ``permutation of blocks``.
    """

    expected: float
    p: float
    test: str


def survival(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Return both right / first right, with its 95 % interval.

    Pairs that are right on both sides are some of those that are right on the first, so given the
    latter this ratio is a share, and takes Wilson's interval. Where pairs share a cluster, or ties
    earn a part, their number is replaced by the effective number, from the linearised variance of
    a ratio (the delta method, cluster by cluster); it is never larger than without clusters.
    """
    total = math.fsum(first)
    count = sum(one > 0 for one in first)
    if not count:
        return Estimate(math.nan, math.nan, math.nan, 0)
    value = math.fsum(a * b for a, b in zip(first, second, strict=True)) / total
    whole = all(one in (0, 1) for one in (*first, *second))
    size = total if clusters is None and whole else _effective(first, second, clusters, value)
    low, high = wilson(value, size)
    return Estimate(value, low, high, count)


def independence(
    first: Sequence[float],
    second: Sequence[float],
    strata: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
) -> Dependence:
    """Ask whether the two sides of pairs are right independently of each other.

    Pairs are compared within strata, so that hard and easy kinds of pairs make no dependence. Of
    single pairs without ties the number of those right on both sides is a sum of hypergeometric
    numbers, and the p-value is exact; of one stratum this is Fisher's test. Otherwise the second
    sides are exchanged between clusters with pairs of the same strata.

    Args:
        first: What was earned on the first side of every pair, from 0 to 1.
        second: What was earned on the second.
        strata: The kind of every pair.
        clusters: The cluster of every pair; each is its own if None.
    """
    if not first:
        return Dependence(math.nan, math.nan, "exact conditional")
    places: dict[Hashable, list[int]] = {}
    for place, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(place)
    expected = math.fsum(
        math.fsum(first[i] for i in some) * math.fsum(second[i] for i in some) / len(some)
        for some in places.values()
    )
    if clusters is None and all(one in (0, 1) for one in (*first, *second)):
        test = "exact conditional"
        p = _exact([([int(first[i]) for i in s], [int(second[i]) for i in s])
                    for s in places.values()])  # fmt: skip
    else:
        test = "permutation of blocks"
        p = exchange_test(_alike(first, second, strata, clusters)).p
    return Dependence(expected / len(first), p, test)


def _effective(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None,
    value: float,
) -> float:
    rests: dict[Hashable, float] = {}
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        if one > 0:
            cluster = place if clusters is None else clusters[place]
            rests[cluster] = rests.get(cluster, 0.0) + one * (other - value)
    total, count = math.fsum(first), len(rests)
    independent = value * (1 - value) / total
    if count < 2 or independent <= 0:
        return min(total, float(count))
    spread = math.fsum(rest * rest for rest in rests.values())
    variance = spread * count / (count - 1) / (total * total)
    return total / max(1.0, variance / independent)


def _exact(tables: Sequence[tuple[Sequence[int], Sequence[int]]]) -> float:
    """Return the exact p-value: the probability of outcomes at most as likely as the observed."""
    import numpy as np
    from scipy.stats import hypergeom

    chances, least, observed = np.ones(1), 0, 0
    for first, second in tables:
        n, a, b = len(first), sum(first), sum(second)
        low, high = max(0, a + b - n), min(a, b)
        chances = np.convolve(chances, hypergeom.pmf(np.arange(low, high + 1), n, a, b))
        least += low
        observed += sum(x * y for x, y in zip(first, second, strict=True))
    ours = chances[observed - least]
    return min(1.0, float(chances[chances <= ours * (1 + 1e-7)].sum()))


def _alike(
    first: Sequence[float],
    second: Sequence[float],
    strata: Sequence[Hashable],
    clusters: Sequence[Hashable] | None,
) -> list[Rows]:
    """Return the rows of clusters, those with pairs of the same strata together."""
    members: dict[Hashable, list[int]] = {}
    for place in range(len(first)):
        members.setdefault(place if clusters is None else clusters[place], []).append(place)
    order = {stratum: number for number, stratum in enumerate(dict.fromkeys(strata))}
    groups: dict[Hashable, Rows] = {}
    for some in members.values():
        some.sort(key=lambda place: order[strata[place]])
        kinds = Counter(strata[place] for place in some)
        mine, theirs = groups.setdefault(frozenset(kinds.items()), ([], []))
        mine.append([first[place] for place in some])
        theirs.append([second[place] for place in some])
    return list(groups.values())
