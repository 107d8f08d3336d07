"""Confidence intervals for shares, valid near 0 and 1 and for clustered items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Estimate",
    "added",
    "between",
    "bootstrap",
    "mean",
    "mean_of_shares",
    "paired",
    "share",
    "standard_error",
    "wilson",
]

RESAMPLES = 2000
SEED = 1960
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
    """
    n = len(earned)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    value = math.fsum(earned) / n
    size = n if clusters is None else _effective(earned, clusters, value)
    low, high = wilson(value, size)
    return Estimate(value, low, high, n)


def mean_of_shares(
    groups: Sequence[tuple[Sequence[float], Sequence[Hashable] | None]],
    weights: Sequence[float] | None = None,
) -> Estimate:
    """Return the mean of the shares of independent groups (Price and Bonett 2004).

    Two successes and two failures, divided among the groups, are added to what was counted, so
    that small groups do not look certain; the value is that of the counts alone.

    Args:
        groups: Credits between 0 and 1, and their clusters as ``share`` takes them.
        weights: How much each group counts; equal if None.
    """
    if not groups:
        return Estimate(math.nan, math.nan, math.nan, 0)
    more = 4 / len(groups)
    values, centres, variances = [], [], []
    for earned, of in groups:
        value = math.fsum(earned) / len(earned)
        size = len(earned) if of is None else _effective(earned, of, value)
        centre = (size * value + more / 2) / (size + more)
        values.append(value)
        centres.append(centre)
        variances.append(centre * (1 - centre) / (size + more))
    parts = [1.0] * len(groups) if weights is None else weights
    total = math.fsum(parts)
    value, centre = (
        math.fsum(p * x for p, x in zip(parts, some, strict=True)) / total
        for some in (values, centres)
    )
    variance = math.fsum(p * p * x for p, x in zip(parts, variances, strict=True))
    half = Z95 * math.sqrt(variance) / total
    low, high = max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))
    return Estimate(value, low, high, sum(len(earned) for earned, _ in groups))


def wilson(value: float, n: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share ``value`` over ``n`` independent items."""
    z2 = Z95 * Z95
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(value * (1 - value) / n + z2 / (4 * n * n))
    return max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))


def _effective(earned: Sequence[float], clusters: Sequence[Hashable], value: float) -> float:
    between, count = _variance(earned, clusters, value)
    independent = value * (1 - value) / len(earned)
    if count < 2 or independent == 0:
        return float(count)
    return len(earned) / max(1.0, between / independent)


def mean(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> Estimate:
    """Return a mean with a t interval whose standard error allows for clusters.

    Items of a cluster are added up first; with each item its own cluster this is Student's
    interval. For numbers without bounds, such as margins, and for differences of credits.
    """
    n = len(values)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    value = math.fsum(values) / n
    variance, count = _variance(values, clusters, value)
    if count < 2:
        return Estimate(value, math.nan, math.nan, n)
    from scipy.stats import t

    half = float(t.ppf(0.975, count - 1)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, n)


def standard_error(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float:
    """Return the standard error of a mean that allows for clusters; NaN for fewer than two."""
    value = math.fsum(values) / len(values) if values else math.nan
    return math.sqrt(_variance(values, clusters, value)[0])


def between(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two shares of independent items (Newcombe 1998, method 10).

    The interval is put together from those of the two, so that clusters count in it as in them.
    """
    value = one.value - other.value
    down = math.hypot(one.value - one.low, other.high - other.value)
    up = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value, value - down, value + up, one.n + other.n)


def paired(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """Return the difference of two mean credits of the same items (Newcombe 1998, paired).

    The interval is put together from Wilson's intervals of the two, less what the systems have in
    common: the correlation of what they earn, cluster by cluster. It stays within -1 and 1, and is
    not empty where one system is always right and the other never.
    """
    a, b = share(one, clusters), share(other, clusters)
    if not a.n:
        return Estimate(math.nan, math.nan, math.nan, 0)
    alike = _correlation(one, other, clusters)

    def half(mine: float, theirs: float) -> float:
        return math.sqrt(max(0.0, mine * mine + theirs * theirs - 2 * alike * mine * theirs))

    value = a.value - b.value
    down = half(a.value - a.low, b.high - b.value)
    up = half(a.high - a.value, b.value - b.low)
    return Estimate(value, max(-1.0, value - down), min(1.0, value + up), a.n)


def _correlation(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable] | None
) -> float:
    """Return how alike the sums of clusters are, from -1 to 1; 0 if either does not vary."""
    mine, sizes = added(one, clusters)
    theirs, _ = added(other, clusters)
    mine = mine - sizes * (math.fsum(one) / len(one))
    theirs = theirs - sizes * (math.fsum(other) / len(other))
    scale = float((mine * mine).sum() * (theirs * theirs).sum())
    return float((mine * theirs).sum()) / math.sqrt(scale) if scale > 1e-18 else 0.0


def bootstrap(
    earned: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Return a mean with the percentile interval of a bootstrap over whole clusters.

    Args:
        earned: One number per item.
        clusters: The cluster of every item; each is its own if None.
        resamples: How many times clusters are drawn, with replacement.
        seed: Random seed for the draw, so that the same numbers give the same interval.
    """
    import numpy as np

    n = len(earned)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    totals, sizes = added(earned, clusters)
    count = len(totals)
    rng = np.random.default_rng(seed)
    means = []
    step = max(1, (1 << 22) // count)  # a few million counts at a time
    for start in range(0, resamples, step):
        drawn = rng.multinomial(count, [1 / count] * count, size=min(step, resamples - start))
        means.append((drawn @ totals) / (drawn @ sizes))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return Estimate(math.fsum(earned) / n, float(low), float(high), n)


def added(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum and the number of items of every cluster."""
    import numpy as np

    if clusters is None:
        return np.array(values, dtype=np.float64), np.ones(len(values))
    places: dict[Hashable, int] = {}
    of = [places.setdefault(cluster, len(places)) for cluster in clusters]
    totals = np.bincount(of, weights=np.array(values, dtype=np.float64))
    return totals.astype(np.float64), np.bincount(of).astype(np.float64)


def _variance(
    values: Sequence[float], clusters: Sequence[Hashable] | None, value: float
) -> tuple[float, int]:
    """Return the variance of the mean, and the number of clusters it was estimated from."""
    totals, sizes = added(values, clusters)
    count, n = len(totals), len(values)
    if count < 2:
        return math.nan, count
    spread = float(((totals - sizes * value) ** 2).sum())
    return spread * count / (count - 1) / (n * n), count
