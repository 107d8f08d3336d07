"""Intervals that include the seed: several trainings of a system, all on the same items.

One training says how good this model is, not how good its kind is: another seed gives another
model. Seeds and items are two crossed samples, as subjects and words are in Clark (1973). The
variance of a mean over both is taken to be the sum of that over seeds and that over items, with the
degrees of freedom of Satterthwaite (1946). What is due to neither alone is in both, so that the
interval is a little wide; to subtract it once, as Cameron et al. (2011) do, can leave next to
nothing of few seeds. A bootstrap over seeds would not do: three seeds resampled show two thirds of
their variance, and no tail.

Near 0 and 1 too few items vary to show the variance: three trainings that are right on all of four
items leave none. An accuracy takes in the interval of Wilson (1927) for as many independent items
as have its variance, or for all clusters if nothing varies.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from boxpen.errors import RunError
from boxpen.metrics.choice import clusters
from boxpen.metrics.intervals import Estimate, added, paired, wilson
from boxpen.scoring.verdicts import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["accuracy_over_seeds", "gap_over_seeds", "over_seeds", "seed_gap"]

Rows = Sequence[Sequence[float]]
"""What every item earned, seed by seed; items in the same order."""


_NOTHING = 1e-18  # a variance that rounding alone can leave


def accuracy_over_seeds(seeds: Sequence[Sequence[Verdict]]) -> Estimate:
    """Return the mean accuracy of trainings that differ in their seed; see ``over_seeds``.

    Raises:
        RunError: If there is nothing to average, or they did not judge the same items.
    """
    _refuse_empty(seeds)
    rows, of = _credits(seeds, seeds[0]), clusters(seeds[0])
    found = over_seeds(rows, of)
    if math.isnan(found.low):
        return found
    low, high = wilson(found.value, _spread(rows, of).size)
    return _within(found._replace(low=min(found.low, low), high=max(found.high, high)), 0.0, 1.0)


def gap_over_seeds(
    ours: Sequence[Sequence[Verdict]], theirs: Sequence[Sequence[Verdict]]
) -> Estimate:
    """Return the accuracy of one kind of system less that of another; see ``seed_gap``.

    Raises:
        RunError: If there is nothing to compare, they did not judge the same items, or one has
            more seeds.
    """
    _refuse_empty(ours)
    one, other = _credits(ours, ours[0]), _credits(theirs, ours[0])
    of = clusters(ours[0])
    found = seed_gap(one, other, of)
    if found.high - found.low < math.sqrt(_NOTHING):  # as for one training that is always right
        found = paired(_means(one), _means(other), of)
    return _within(found, -1.0, 1.0)


def seed_gap(one: Rows, other: Rows, of: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of one system less that of another on the same items.

    Systems are paired by seed, since a seed also draws the data of both; with one item per seed
    this is the interval of the paired t-test.

    Raises:
        RunError: If one has more seeds.
    """
    if len(one) != len(other):
        raise RunError(
            f"{len(one)} seeds of one system and {len(other)} of another; expected pairs"
        )
    gaps = [[a - b for a, b in zip(*both, strict=True)] for both in zip(one, other, strict=True)]
    return over_seeds(gaps, of)


def over_seeds(rows: Rows, of: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean over seeds and items, for other seeds and other items of the same sort.

    With one seed, or several items in one cluster, the interval is not known. ``n`` counts the
    items.

    Args:
        rows: What was measured; one item per seed, such as a loss, gives Student's interval.
        of: The cluster of every item; each is its own if None.

    Raises:
        RunError: If there are no seeds, or no items.
    """
    from scipy.stats import t

    _refuse_empty(rows)
    spread = _spread(rows, of)
    value, items = spread.value, spread.items
    if len(rows) < 2 or spread.clusters == 1 < items:
        return Estimate(value, math.nan, math.nan, items)
    variance = spread.variance
    if not variance:
        return Estimate(value, value, value, items)
    free = variance**2 / math.fsum(part**2 / free for part, free in spread.parts)
    half = float(t.ppf(0.975, free)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, items)


class _Spread(NamedTuple):
    """A mean over seeds and items, and what its variance is made of."""

    value: float
    items: int
    clusters: int
    answers: int
    parts: tuple[tuple[float, int], ...]  # a variance and its degrees of freedom

    @property
    def variance(self) -> float:
        return math.fsum(part for part, _ in self.parts)

    @property
    def size(self) -> float:
        """How many independent items have the variance of this share; at most all answers."""
        if self.variance < _NOTHING:
            return self.clusters
        return min(self.answers, self.value * (1 - self.value) / self.variance)


def _spread(rows: Rows, of: Sequence[Hashable] | None) -> _Spread:
    import numpy as np

    items = len(rows[0])
    value = math.fsum(math.fsum(row) for row in rows) / (len(rows) * items)
    # Departures from the mean, scaled so that clusters of unequal size weigh the same.
    sums = [added(row, of) for row in rows]
    y = np.stack([total - size * value for total, size in sums])  # (seeds, clusters)
    y *= y.shape[1] / items
    means = [some for some in (y.mean(axis=1), y.mean(axis=0)) if len(some) > 1]
    parts = tuple((_variance(some), len(some) - 1) for some in means)
    return _Spread(value, items, y.shape[1], len(rows) * items, parts)


def _variance(means: NDArray[np.float64]) -> float:
    """Return the variance of the mean of departures, which is 0."""
    return float((means**2).sum()) / (len(means) - 1) / len(means)


def _means(rows: Rows) -> list[float]:
    """Return what every item earned, in the mean of the seeds."""
    return [math.fsum(item) / len(rows) for item in zip(*rows, strict=True)]


def _within(found: Estimate, least: float, most: float) -> Estimate:
    """Return an interval cut off at the values that are possible; an unknown one is left."""
    low = least if found.low < least else found.low
    high = most if found.high > most else found.high
    return found._replace(low=low, high=high)


def _refuse_empty(rows: Sequence[Sequence[object]]) -> None:
    """Raise if there are no seeds, or no items."""
    if not rows or not rows[0]:
        what = "items" if rows else "trainings"
        raise RunError(f"no {what} are given, expected one or more items of two or more trainings")


def _credits(seeds: Sequence[Sequence[Verdict]], first: Sequence[Verdict]) -> list[list[float]]:
    """Return what every item earned, seed by seed, in the order of the first run."""
    ids = {v.id for v in first}
    out = []
    for verdicts in seeds:
        by_id = {v.id: v.credit for v in verdicts}
        if by_id.keys() != ids:
            raise RunError(
                "the trainings did not judge the same items: "
                f"{len(by_id.keys() ^ ids)} are in some runs only"
            )
        out.append([by_id[v.id] for v in first])
    return out
