"""The exact McNemar test: do two systems differ on the same items?"""

from __future__ import annotations

__all__ = ["exact_mcnemar"]


def exact_mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided p-value of the exact McNemar test (McNemar 1947).

    Items that both systems get right, or both get wrong, say nothing. If the systems were equally
    good, each of the others would be a fair coin, so the smaller count is binomial with p = 1/2;
    the p-value is twice its lower tail, at most 1.
    """
    n, fewer = only_a + only_b, min(only_a, only_b)
    # Whole numbers to the end: a product of floats would overflow or round for large n.
    term = tail = 1
    for k in range(fewer):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))
