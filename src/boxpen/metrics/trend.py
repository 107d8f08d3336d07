"""Does accuracy rise or fall with a number: the steps of an inference, say?

Independent items take the test of Cochran (1954) and Armitage (1955): are what an item earns and
its number correlated? Where items belong to blocks, whole blocks are exchanged instead. The slope
is that of the least-squares line; its interval allows for unequal variances and for blocks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from boxpen.metrics.intervals import Estimate, share
from boxpen.metrics.permutation import Rows, exchange_test

__all__ = ["Direction", "Trend", "trend"]

Direction = Literal["rising", "falling", "flat"]
_FLAT = 1e-12


@dataclass(frozen=True, slots=True)
class Trend:
    """How accuracy changes with a number.

    Attributes:
        levels: Every value of the number, with the accuracy of its items, in order.
        slope: Accuracy gained for one more, with its 95 % interval.
        monotone: Whether accuracy never turns back from one level to the next.
        test: ``Cochran-Armitage``, or ``permutation of blocks``.
        statistic: Of Cochran and Armitage, standard normal without a trend; NaN for permutations.
        exact: Whether the p-value has no error of an approximation or of draws.
    """

    levels: tuple[tuple[float, Estimate], ...]
    slope: Estimate
    direction: Direction
    monotone: bool
    test: str
    statistic: float
    p: float
    exact: bool


def trend(
    numbers: Sequence[float],
    earned: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
) -> Trend:
    """Test for a trend.

    Args:
        numbers: The number of every item; how far apart two are counts.
        earned: What every item earned, from 0 to 1.
        clusters: The cluster of every item; each is its own if None.

    Raises:
        ValueError: If all numbers are the same.
    """
    values = sorted(set(numbers))
    if len(values) < 2:
        raise ValueError(f"there are {len(values)} different numbers, expected two or more")
    levels = tuple((value, _accuracy(value, numbers, earned, clusters)) for value in values)
    places, unit = _placed(numbers)
    slope = _slope(places, earned, clusters)
    found = [estimate.value for _, estimate in levels]
    statistic, exact = math.nan, False
    if clusters is None:
        test = "Cochran-Armitage"
        statistic, p = _cochran_armitage(places, earned)
    else:
        test = "permutation of blocks"
        _, _, p, exact = exchange_test(_by_size(places, earned, clusters))
    return Trend(
        levels=levels,
        slope=Estimate(slope.value / unit, slope.low / unit, slope.high / unit, slope.n),
        direction=_direction(slope.value),
        monotone=found in (sorted(found), sorted(found, reverse=True)),
        test=test,
        statistic=statistic,
        p=p,
        exact=exact,
    )


def _placed(numbers: Sequence[float]) -> tuple[list[float], float]:
    """Return where numbers stand above the least of them, and the unit of that.

    Large numbers that lie close together would lose their differences in sums of squares, and
    small ones would look like none at all. The unit is a power of two, so that no digit is lost,
    and the greatest is 1 or more and less than 2.
    """
    least = min(numbers)
    unit = 2.0 ** (math.frexp(max(numbers) - least)[1] - 1)
    return [(number - least) / unit for number in numbers], unit


def _accuracy(
    value: float,
    numbers: Sequence[float],
    earned: Sequence[float],
    clusters: Sequence[Hashable] | None,
) -> Estimate:
    mine = [place for place, number in enumerate(numbers) if number == value]
    of = None if clusters is None else [clusters[place] for place in mine]
    if of is not None and len(set(of)) == len(of):
        of = None
    return share([earned[place] for place in mine], of)


def _cochran_armitage(numbers: Sequence[float], earned: Sequence[float]) -> tuple[float, float]:
    """Return the statistic and the two-sided p-value; squared, the statistic is n r².

    Without a trend the sum of x y has the variance p (1 - p) times that of x. A tie earns part of
    a credit, so the variance of what is earned stands for p (1 - p), which it is otherwise.
    """
    n = len(numbers)
    x, y = _centred(numbers), _centred(earned)
    spread = math.fsum(a * a for a in x) * math.fsum(b * b for b in y) / n
    if spread <= _FLAT:  # all right, or all wrong
        return 0.0, 1.0
    from scipy.stats import norm

    statistic = math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(spread)
    return statistic, float(2 * norm.sf(abs(statistic)))


def _slope(
    numbers: Sequence[float], earned: Sequence[float], clusters: Sequence[Hashable] | None
) -> Estimate:
    """Return the slope of the least-squares line, with an interval that is robust to clusters.

    The variance is the 'sandwich' of Liang and Zeger (1986), with the correction c/(c - 1) for
    the number of clusters and a t distribution of c - 1 degrees of freedom.
    """
    n = len(numbers)
    x, y = _centred(numbers), _centred(earned)
    width = math.fsum(a * a for a in x)
    value = math.fsum(a * b for a, b in zip(x, y, strict=True)) / width
    pulls: dict[Hashable, float] = {}
    for place, (a, b) in enumerate(zip(x, y, strict=True)):
        cluster = place if clusters is None else clusters[place]
        pulls[cluster] = pulls.get(cluster, 0.0) + a * (b - value * a)
    count = len(pulls)
    spread = math.fsum(pull * pull for pull in pulls.values())
    if count < 3 or spread <= _FLAT:  # what does not vary tells nothing of its error
        return Estimate(value, math.nan, math.nan, n)
    from scipy.stats import t

    error = math.sqrt(spread * count / (count - 1)) / width
    half = float(t.ppf(0.975, count - 1)) * error
    return Estimate(value, value - half, value + half, n)


def _by_size(
    numbers: Sequence[float], earned: Sequence[float], clusters: Sequence[Hashable]
) -> list[Rows]:
    """Return the rows of blocks, those of as many items together: only these can be exchanged."""
    members: dict[Hashable, list[int]] = {}
    for place, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(place)
    groups: dict[int, Rows] = {}
    for places in members.values():
        first, second = groups.setdefault(len(places), ([], []))
        first.append([numbers[place] for place in places])
        second.append([earned[place] for place in places])
    return list(groups.values())


def _centred(values: Sequence[float]) -> list[float]:
    middle = math.fsum(values) / len(values)
    return [value - middle for value in values]


def _direction(slope: float) -> Direction:
    if abs(slope) <= _FLAT:
        return "flat"
    return "rising" if slope > 0 else "falling"
