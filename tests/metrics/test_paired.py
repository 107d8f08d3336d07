"""The exact McNemar test against SciPy and against the counting of all outcomes."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from boxpen.metrics.paired import exact_mcnemar


@given(st.integers(0, 400), st.integers(0, 400))
def test_equals_scipy(a, b):
    expected = binomtest(a, a + b, 0.5).pvalue if a + b else 1.0
    assert exact_mcnemar(a, b) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(a, b) for a in range(7) for b in range(6)])
def test_equals_the_share_of_outcomes_as_lopsided(a, b):
    n = a + b
    flips = [sum(f) for f in itertools.product((0, 1), repeat=n)]
    as_lopsided = sum(abs(2 * heads - n) >= abs(a - b) for heads in flips)
    assert exact_mcnemar(a, b) == float(Fraction(as_lopsided, len(flips)))


def test_large_counts_neither_overflow_nor_vanish():
    assert exact_mcnemar(5_000, 5_000) == 1.0
    assert exact_mcnemar(5_200, 4_800) == pytest.approx(binomtest(5_200, 10_000).pvalue, rel=1e-9)
    assert exact_mcnemar(0, 3_000) == 0.0  # 2 ** -2999 is below the smallest float
