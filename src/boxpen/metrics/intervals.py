"""Confidence intervals for shares, honest near 0 and 1 and about clustered items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

__all__ = ["Estimate", "share"]

Z95 = 1.959963984540054  # 97.5 % point of the normal distribution


class Estimate(NamedTuple):
    """A share with its 95 % interval and the number of units it was taken over."""

    value: float
    low: float
    high: float
    n: int


def share(earned: Sequence[float], clusters: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of credits between 0 and 1 with a Wilson score interval (Wilson 1927).

    Items of a cluster are not independent. Where clusters are given, the number of items is
    replaced by the effective number n / deff, with the design effect (Kish 1965) estimated from
    the variance between clusters. It is never taken to be below 1, so the interval is never
    narrower than for independent items.

    Args:
        earned: One number per item.
        clusters: The cluster of every item; items without one are their own.
    """
    n = len(earned)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    value = math.fsum(earned) / n
    size = n if clusters is None else _effective(earned, clusters, value)
    low, high = wilson(value, size)
    return Estimate(value, low, high, n)


def wilson(value: float, n: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share ``value`` over ``n`` independent items."""
    z2 = Z95 * Z95
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(value * (1 - value) / n + z2 / (4 * n * n))
    return max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))


def _effective(earned: Sequence[float], clusters: Sequence[Hashable], value: float) -> float:
    sums: dict[Hashable, float] = {}
    for credit, cluster in zip(earned, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + credit - value
    count, n = len(sums), len(earned)
    independent = value * (1 - value) / n
    if count < 2 or independent == 0:
        return float(count)
    between = math.fsum(s * s for s in sums.values()) * count / (count - 1) / (n * n)
    deff = between / independent
    return n / max(1.0, deff)
