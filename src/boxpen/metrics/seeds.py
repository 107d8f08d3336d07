"""Intervals that include the seed: several trainings of a system, all on the same items.

One training says how good this model is, not how good its kind is: another seed gives another
model. Seeds and items are two crossed samples, as subjects and words are in Clark (1973). The
variance of a mean over both is taken to be the sum of that over seeds and that over items, with the
degrees of freedom of Satterthwaite (1946). What is due to neither alone is in both, so that the
interval is a little wide; to subtract it once, as Cameron et al. (2011) do, can leave next to
nothing of few seeds. A bootstrap over seeds would not do: three seeds resampled show two thirds of
their variance, and no tail.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from boxpen.errors import RunError
from boxpen.metrics.choice import clusters
from boxpen.metrics.intervals import Estimate, added
from boxpen.scoring.verdicts import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["accuracy_over_seeds", "gap_over_seeds", "over_seeds", "seed_gap"]

Rows = Sequence[Sequence[float]]
"""What every item earned, seed by seed; items in the same order."""


def accuracy_over_seeds(seeds: Sequence[Sequence[Verdict]]) -> Estimate:
    """Return the mean accuracy of trainings that differ in their seed; see ``over_seeds``.

    Raises:
        RunError: If they did not judge the same items.
    """
    return over_seeds(_credits(seeds, seeds[0]), clusters(seeds[0]))


def gap_over_seeds(
    ours: Sequence[Sequence[Verdict]], theirs: Sequence[Sequence[Verdict]]
) -> Estimate:
    """Return the accuracy of one kind of system less that of another; see ``seed_gap``.

    Raises:
        RunError: If they did not judge the same items, or one has more seeds.
    """
    first = ours[0]
    return seed_gap(_credits(ours, first), _credits(theirs, first), clusters(first))


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

    With one seed the interval is not known. ``n`` counts the items.

    Args:
        rows: What was measured; one item per seed, such as a loss, gives Student's interval.
        of: The cluster of every item; each is its own if None.
    """
    import numpy as np
    from scipy.stats import t

    items = len(rows[0])
    value = math.fsum(math.fsum(row) for row in rows) / (len(rows) * items)
    # Departures from the mean, scaled so that clusters of unequal size weigh the same.
    sums = [added(row, of) for row in rows]
    y = np.stack([total - size * value for total, size in sums])  # (seeds, clusters)
    y *= y.shape[1] / items
    if len(y) < 2:
        return Estimate(value, math.nan, math.nan, items)
    parts = [(_variance(y.mean(axis=1)), y.shape[0] - 1)]
    if y.shape[1] > 1:
        parts.append((_variance(y.mean(axis=0)), y.shape[1] - 1))
    variance = math.fsum(part for part, _ in parts)
    if not variance:
        return Estimate(value, value, value, items)
    free = variance**2 / math.fsum(part**2 / free for part, free in parts)
    half = float(t.ppf(0.975, free)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, items)


def _variance(means: NDArray[np.float64]) -> float:
    """Return the variance of the mean of departures, which is 0."""
    return float((means**2).sum()) / (len(means) - 1) / len(means)


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
