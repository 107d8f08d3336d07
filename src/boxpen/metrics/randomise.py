"""A paired randomisation test over blocks, exact for any number of them.

If two systems were equally good, each block might as well have gone the other way round: the sum of
the differences of its items is as likely to be -d as d. Credits are small fractions, so sums are
whole multiples of one unit, and how likely each sum is follows block by block: no draws at random,
and the same p-value every time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["randomisation"]

_DENOMINATOR = 1000  # of credits: 1/k for ties of k candidates


def randomisation(differences: Sequence[Sequence[float]]) -> float:
    """Return the two-sided p-value that the differences of blocks add up to so much by chance.

    Args:
        differences: For every block, and every item of it, what the first system earned less the
            second.
    """
    import numpy as np

    # Of single items, for these are small fractions; sums of them need not be.
    exact = [
        sum((Fraction(d).limit_denominator(_DENOMINATOR) for d in block), Fraction(0))
        for block in differences
    ]
    unit = math.lcm(*(d.denominator for d in exact)) if exact else 1
    steps = [abs(int(d * unit)) for d in exact if d]
    observed = abs(sum(int(d * unit) for d in exact))
    # chances[s + total] is how likely the sum s is after some blocks.
    total = sum(steps)
    chances = np.zeros(2 * total + 1)
    chances[total] = 1.0
    reach = 0
    for step in steps:
        reach += step
        low, high = total - reach, total + reach + 1
        part = chances[low:high].copy()
        chances[low:high] = 0.0
        chances[low : high - step] += 0.5 * part[step:]
        chances[low + step : high] += 0.5 * part[: len(part) - step]
    sums = np.abs(np.arange(-total, total + 1))
    return min(1.0, float(chances[sums >= observed].sum()))
