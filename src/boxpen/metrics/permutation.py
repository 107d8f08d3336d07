"""A permutation test that keeps clusters whole.

Every cluster has two rows of numbers of the same length: what is known of its items, and what they
earned. If the two had nothing to do with each other, the second row might as well have come with
the first row of any other cluster of the same kind. What is compared is the sum of products, item
by item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from boxpen.metrics.intervals import SEED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DRAWS", "Exchange", "exchange_test"]

DRAWS = 20_000
_MOST = 20_000  # arrangements that are all gone through; of more, some are drawn

Rows = tuple[list[list[float]], list[list[float]]]
"""Of clusters that may be exchanged: their first rows, and their second rows."""


class Exchange(NamedTuple):
    """The result of a permutation test.

    Attributes:
        observed: The sum of products as it is.
        expected: What it is on average over all arrangements.
        p: Two-sided: how often an arrangement is as far from that as what was observed.
        exact: Whether all arrangements were gone through; otherwise some were drawn.
    """

    observed: float
    expected: float
    p: float
    exact: bool


def exchange_test(groups: Sequence[Rows], *, draws: int = DRAWS, seed: int = SEED) -> Exchange:
    """Exchange the second rows of clusters within every group, and compare the sums of products.

    Args:
        groups: Each holds the rows of clusters of one kind, all of the same length.
        draws: How many arrangements are drawn where there are too many to go through them all.
        seed: Random seed for the draw, so that the same numbers give the same p-value.
    """
    import numpy as np

    # gains[i, j]: what cluster i would add to the sum with the second row of cluster j.
    gains = [np.asarray(a, np.float64) @ np.asarray(b, np.float64).T for a, b in groups]
    observed = math.fsum(float(np.trace(g)) for g in gains)
    expected = math.fsum(float(g.sum()) / len(g) for g in gains)
    far = abs(observed - expected) - 1e-9 * max(1.0, abs(observed), abs(expected))
    exact = _arrangements([len(g) for g in gains]) <= _MOST
    if exact:
        sums = [sum(one) for one in product(*map(_all_sums, gains))]
        hits = sum(abs(one - expected) >= far for one in sums)
        return Exchange(observed, expected, hits / len(sums), True)
    found = _drawn(gains, draws, np.random.default_rng(seed))
    # What was observed is one of the arrangements, so p is never 0 (Phipson and Smyth 2010).
    hits = int((np.abs(found - expected) >= far).sum())
    return Exchange(observed, expected, (1 + hits) / (1 + draws), False)


def _arrangements(sizes: Sequence[int]) -> int:
    """Return the number of arrangements, or one that is too large."""
    count = 1
    for size in sizes:
        for factor in range(2, size + 1):
            count *= factor
            if count > _MOST:
                return count
    return count


def _all_sums(gains: NDArray[np.float64]) -> list[float]:
    places = range(len(gains))
    return [math.fsum(gains[i, j] for i, j in enumerate(order)) for order in permutations(places)]


def _drawn(
    gains: Sequence[NDArray[np.float64]], draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    import numpy as np

    sums = np.zeros(draws)
    for g in gains:
        places = np.arange(len(g))
        step = max(1, (1 << 22) // len(g))  # a few million places at a time
        for start in range(0, draws, step):
            count = min(step, draws - start)
            orders = rng.permuted(np.tile(places, (count, 1)), axis=1)
            sums[start : start + count] += g[places, orders].sum(axis=1)
    return sums
