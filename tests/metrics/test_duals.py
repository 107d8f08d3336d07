"""What survives duals, and whether two answers depend on each other: twins and coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from boxpen.metrics.duals import independence, survival
from boxpen.metrics.intervals import RESAMPLES, wilson

sides = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


@given(sides)
def test_survival_is_the_share_of_right_originals(data):
    first, second = zip(*data, strict=True)
    assume(any(first))
    found = survival(first, second)
    of_right = [b for a, b in data if a]
    assert found.value == pytest.approx(sum(of_right) / len(of_right))
    assert (found.low, found.high) == pytest.approx(wilson(found.value, len(of_right)))
    assert found.n == len(of_right)


def test_nothing_right_leaves_nothing_to_survive():
    assert math.isnan(survival([0, 0], [1, 0]).value)
    assert survival([0, 0], [1, 0]).n == 0
    assert math.isnan(survival([], []).value)


def test_ties_weigh_as_much_as_they_earn():
    found = survival([1, 0.5, 0], [1, 0, 1])
    assert found.value == pytest.approx(1 / 1.5)
    assert found.n == 2


def bootstrap(first, second, clusters) -> tuple[float, float]:
    """The interval of the ratio by drawing whole blocks."""
    names = sorted(set(clusters))
    of = {c: [i for i, d in enumerate(clusters) if d == c] for c in names}
    both = np.array([sum(first[i] * second[i] for i in of[c]) for c in names])
    ones = np.array([sum(first[i] for i in of[c]) for c in names])
    rng = np.random.default_rng(4)
    drawn = rng.multinomial(len(names), [1 / len(names)] * len(names), size=RESAMPLES)
    return tuple(np.quantile((drawn @ both) / (drawn @ ones), [0.025, 0.975]))


@pytest.mark.parametrize("size", [1, 3])
def test_the_interval_is_near_that_of_a_bootstrap_over_blocks(size):
    rng = np.random.default_rng(size)
    first = np.repeat(rng.random(200) < 0.6, size).astype(float)
    likely = np.repeat(rng.choice([0.1, 0.9], 200), size)  # duals of a block go together
    second = (rng.random(200 * size) < likely).astype(float)
    blocks = np.repeat(np.arange(200), size).tolist()
    found = survival(first, second, blocks if size > 1 else None)
    low, high = bootstrap(first, second, blocks)
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)
    if size > 1:  # blocks make it wider
        alone = survival(first, second)
        assert found.high - found.low > 1.3 * (alone.high - alone.low)


def test_survival_covers_the_truth():
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(1500):
        first = (rng.random(80) < 0.5).astype(float)
        second = (rng.random(80) < 0.3).astype(float)
        found = survival(first.tolist(), second.tolist())
        covered.append(found.low <= 0.3 <= found.high)
    assert 0.93 <= np.mean(covered) <= 0.97


@given(sides)
def test_one_stratum_is_fishers_test(data):
    first, second = zip(*data, strict=True)
    table = [[sum(a == x and b == y for a, b in data) for y in (1, 0)] for x in (1, 0)]
    found = independence(first, second, ["add"] * len(data))
    assert found.test == "exact conditional"
    assert found.p == pytest.approx(stats.fisher_exact(table).pvalue)
    assert found.expected == pytest.approx(np.mean(first) * np.mean(second))


def brute(groups: list[list[tuple[int, int]]]) -> float:
    """All ways to deal the second sides within strata, each as likely as any other."""
    counts: dict[int, int] = {0: 1}
    for data in groups:
        first, second = zip(*data, strict=True)
        here: dict[int, int] = {}
        for order in itertools.permutations(second):
            both = sum(a * b for a, b in zip(first, order, strict=True))
            here[both] = here.get(both, 0) + 1
        counts = _added(counts, here)
    ours = counts[sum(a * b for data in groups for a, b in data)]
    total = sum(counts.values())
    return sum(count for count in counts.values() if count <= ours) / total


def _added(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    out: dict[int, int] = {}
    for (a, n), (b, m) in itertools.product(one.items(), other.items()):
        out[a + b] = out.get(a + b, 0) + n * m
    return out


few = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=5)


@given(st.lists(few, min_size=1, max_size=3))
def test_strata_are_dealt_by_themselves(groups):
    data = [pair for group in groups for pair in group]
    strata = [n for n, group in enumerate(groups) for _ in group]
    first, second = zip(*data, strict=True)
    assert independence(first, second, strata).p == pytest.approx(brute(groups))


def test_hard_and_easy_operations_make_no_dependence():
    # Within either operation the answers are independent; pooled they would not be.
    easy = [(1, 1)] * 16 + [(1, 0)] * 4 + [(0, 1)] * 4 + [(0, 0)]
    hard = [(0, 0)] * 16 + [(1, 0)] * 4 + [(0, 1)] * 4 + [(1, 1)]
    first, second = zip(*easy, *hard, strict=True)
    assert independence(first, second, ["all"] * 50).p < 0.05
    assert independence(first, second, [0] * 25 + [1] * 25).p == pytest.approx(1.0)


def test_duals_of_one_original_are_exchanged_together():
    # Ten originals with four duals each that go as their original does.
    rng = np.random.default_rng(2)
    right = rng.integers(0, 2, 10)
    first, second = np.repeat(right, 4).tolist(), np.repeat(right, 4).tolist()
    second[0] = 1 - second[0]
    strata, blocks = [0, 1, 2, 3] * 10, np.repeat(np.arange(10), 4).tolist()
    found = independence(first, second, strata, blocks)
    assert found.test == "permutation of blocks"
    # Ten blocks can be dealt in a few hundred ways; forty pairs would seem to say much more.
    assert 0.001 < found.p < 0.05
    assert independence(first, second, strata).p < 1e-6


def test_ties_take_the_permutation():
    found = independence([1, 0.5, 0, 1], [0, 0.5, 1, 0], ["add"] * 4)
    assert found.test == "permutation of blocks"
    assert found.expected == pytest.approx(2.5 * 1.5 / 16)
    sums = [1 * b[0] + 0.5 * b[1] + 1 * b[3] for b in itertools.permutations([0, 0.5, 1, 0])]
    middle = sum(sums) / 24
    assert found.p == pytest.approx(
        sum(abs(s - middle) >= abs(0.25 - middle) - 1e-9 for s in sums) / 24
    )


def test_no_pairs_have_no_p_value():
    assert math.isnan(independence([], [], []).p)
