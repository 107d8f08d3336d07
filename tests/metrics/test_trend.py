"""Trends: the numbers of other tools, slow twins, and blocks that count as one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from boxpen.metrics.permutation import exchange_test
from boxpen.metrics.trend import trend


def items(right: list[int], n: list[int], start: int = 1) -> tuple[list[float], list[float]]:
    """Numbers and credits of levels with so many right ones of so many."""
    numbers, earned = [], []
    for level, (good, count) in enumerate(zip(right, n, strict=True), start):
        numbers += [float(level)] * count
        earned += [1.0] * good + [0.0] * (count - good)
    return numbers, earned


SMOKERS = items([83, 90, 129, 70], [86, 93, 136, 82])


def test_cochran_and_armitage_as_r_has_it():
    # The example of R's prop.trend.test: X-squared = 8.2249, df = 1, p-value = 0.004132.
    found = trend(*SMOKERS)
    assert found.statistic**2 == pytest.approx(8.2249, abs=5e-5)
    assert found.p == pytest.approx(0.004132, abs=5e-7)
    assert (found.test, found.direction, found.monotone) == ("Cochran-Armitage", "falling", False)
    assert [value for value, _ in found.levels] == [1, 2, 3, 4]
    assert [right.n for _, right in found.levels] == [86, 93, 136, 82]
    assert found.levels[0][1].value == pytest.approx(83 / 86)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=2))
def test_two_levels_are_the_chi_square_test_of_a_table(levels):
    table = np.array([[min(good, n), n - min(good, n)] for good, n in levels])
    assume(table.sum(axis=0).all())
    numbers, earned = items(table[:, 0].tolist(), table.sum(axis=1).tolist())
    expected = stats.chi2_contingency(table, correction=False)
    found = trend(numbers, earned)
    assert found.statistic**2 == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue)


pairs = st.lists(
    st.tuples(st.integers(-3, 9), st.sampled_from([0.0, 0.5, 1.0])), min_size=4, max_size=40
)


@given(pairs)
def test_the_statistic_is_a_correlation_and_the_slope_a_least_squares_line(data):
    numbers, earned = ([float(v) for v in side] for side in zip(*data, strict=True))
    assume(len(set(numbers)) > 1)
    found = trend(numbers, earned)
    line = stats.linregress(numbers, earned)
    assert found.slope.value == pytest.approx(line.slope, abs=1e-9)
    if len(set(earned)) > 1:
        assert found.statistic**2 == pytest.approx(len(data) * line.rvalue**2, abs=1e-8)
    # Turned round, and moved, it is the same trend.
    other = trend([7 - 2 * x for x in numbers], earned)
    assert other.p == pytest.approx(found.p)
    assert other.slope.value == pytest.approx(-found.slope.value / 2, abs=1e-9)


def sandwich(numbers, earned, clusters) -> float:
    """The standard error of the slope, by matrices."""
    x = np.column_stack([np.ones(len(numbers)), numbers])
    y = np.array(earned)
    bread = np.linalg.inv(x.T @ x)
    rest = y - x @ (bread @ x.T @ y)
    meat = np.zeros((2, 2))
    names = sorted(set(clusters))
    for name in names:
        mine = [i for i, c in enumerate(clusters) if c == name]
        score = x[mine].T @ rest[mine]
        meat += np.outer(score, score)
    c = len(names)
    return math.sqrt((bread @ meat @ bread)[1, 1] * c / (c - 1))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_interval_of_the_slope_by_matrices(size):
    rng = np.random.default_rng(size)
    numbers = rng.integers(1, 4, 60).astype(float).tolist()
    earned = rng.integers(0, 2, 60).astype(float).tolist()
    clusters = [i // size for i in range(60)]
    found = trend(numbers, earned, clusters if size > 1 else None).slope
    half = stats.t.ppf(0.975, 60 // size - 1) * sandwich(numbers, earned, clusters)
    assert found.low == pytest.approx(found.value - half)
    assert found.high == pytest.approx(found.value + half)


def test_the_slope_covers_the_truth():
    rng = np.random.default_rng(9)
    numbers = np.repeat([1.0, 2.0, 3.0], 60)
    covered = []
    for _ in range(600):
        earned = (rng.random(180) < 0.9 - 0.15 * numbers).astype(float)
        slope = trend(numbers.tolist(), earned.tolist()).slope
        covered.append(slope.low <= -0.15 <= slope.high)
    assert 0.925 <= np.mean(covered) <= 0.975


def brute(numbers, earned, clusters) -> float:
    """The permutation test over blocks of one size, by going through all orders of blocks."""
    blocks: dict[object, list[int]] = {}
    for place, cluster in enumerate(clusters):
        blocks.setdefault(cluster, []).append(place)
    order = list(blocks.values())
    x = [numbers[i] for block in order for i in block]
    sums = [
        sum(a * earned[i] for a, i in zip(x, itertools.chain(*permuted), strict=True))
        for permuted in itertools.permutations(order)
    ]
    middle = sum(sums) / len(sums)
    far = abs(sums[0] - middle) - 1e-9
    return sum(abs(s - middle) >= far for s in sums) / len(sums)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 3)] * 2, *[st.sampled_from([0.0, 0.5, 1.0])] * 2),
        min_size=2,
        max_size=6,
    )
)
def test_few_blocks_are_gone_through_in_all_orders(data):
    numbers = [float(x) for row in data for x in row[:2]]
    earned = [y for row in data for y in row[2:]]
    clusters = [i // 2 for i in range(len(numbers))]
    assume(len(set(numbers)) > 1)
    found = trend(numbers, earned, clusters)
    assert (found.test, found.exact) == ("permutation of blocks", True)
    assert found.p == pytest.approx(brute(numbers, earned, clusters))


def test_many_blocks_are_drawn_and_come_near_the_exact_value():
    rng = np.random.default_rng(3)
    numbers = np.repeat(rng.integers(1, 4, 8), 2).astype(float).tolist()
    earned = rng.integers(0, 2, 16).astype(float).tolist()
    clusters = [i // 2 for i in range(16)]
    found = trend(numbers, earned, clusters)
    assert not found.exact  # 8! orders
    assert found.p == pytest.approx(brute(numbers, earned, clusters), abs=0.015)
    assert trend(numbers, earned, clusters).p == found.p  # the seed is fixed


def test_single_items_exchanged_are_scipys_permutation_of_pairings():
    rng = np.random.default_rng(5)
    x, y = rng.integers(1, 5, 7).astype(float), rng.integers(0, 2, 7).astype(float)
    twin = stats.permutation_test(
        (y,), lambda y: abs(((x - x.mean()) * y).sum()), permutation_type="pairings",
        alternative="greater", n_resamples=10**5, vectorized=False,
    )  # fmt: skip
    ours = exchange_test([([[v] for v in x.tolist()], [[v] for v in y.tolist()])])
    assert ours.exact
    assert ours.p == pytest.approx(twin.pvalue)


def test_the_approximation_for_independent_items_is_near_the_exact_test():
    numbers, earned = items([17, 14, 9], [20, 20, 20])
    drawn = exchange_test([([[x] for x in numbers], [[y] for y in earned])], draws=50_000)
    assert trend(numbers, earned).p == pytest.approx(drawn.p, abs=0.005)


def test_a_block_counts_once_however_many_items_it_has():
    numbers, earned = items([4, 3, 1], [4, 4, 4])
    single = trend(numbers, earned, list(range(12)))
    numbers5 = [x for x in numbers for _ in range(5)]
    earned5 = [y for y in earned for _ in range(5)]
    blocks = trend(numbers5, earned5, [i // 5 for i in range(60)])
    assert blocks.p == pytest.approx(single.p, abs=0.01)
    assert blocks.slope.high - blocks.slope.low == pytest.approx(
        single.slope.high - single.slope.low
    )
    assert trend(numbers5, earned5).p < 0.001 < 0.02 < blocks.p


def test_blocks_of_other_sizes_are_not_exchanged():
    # Two blocks of two and one of one: 2 orders, of which one is what was observed.
    found = trend([1, 1, 2, 2, 9], [1, 1, 0, 0, 1], [0, 0, 1, 1, 2])
    assert found.exact
    assert found.p == 1.0  # the other order is as far from the middle


def test_without_a_trend_it_is_found_as_often_as_the_level_says_and_no_oftener():
    # Sums are few different numbers, so p is not quite uniform; its share below a level is what
    # counts. Blocks whose items go together fool the test for independent items.
    rng = np.random.default_rng(1)
    numbers = np.repeat(rng.integers(1, 4, 30), 2).astype(float).tolist()
    clusters = [i // 2 for i in range(60)]
    blocks, alone = [], []
    for _ in range(400):
        block = rng.integers(0, 2, 30)
        together = np.repeat(rng.random(30) < 0.8, 2)
        earned = np.where(together, np.repeat(block, 2), rng.integers(0, 2, 60)).astype(float)
        blocks.append(trend(numbers, earned.tolist(), clusters).p <= 0.1)
        alone.append(trend(numbers, earned.tolist()).p <= 0.1)
    assert 0.06 <= np.mean(blocks) <= 0.14
    assert np.mean(alone) > 0.15


def test_what_does_not_vary_has_no_trend():
    found = trend([1, 2, 3, 3], [1.0] * 4)
    assert (found.p, found.statistic, found.direction) == (1.0, 0.0, "flat")
    assert math.isnan(found.slope.low)
    assert found.monotone


@pytest.mark.parametrize(
    ("right", "direction", "monotone"),
    [([1, 5, 9], "rising", True), ([9, 5, 1], "falling", True), ([5, 9, 6], "rising", False)],
)
def test_direction_and_turns(right, direction, monotone):
    found = trend(*items(right, [10, 10, 10]))
    assert (found.direction, found.monotone) == (direction, monotone)


@pytest.mark.parametrize(
    ("start", "step"), [(1e15, 1.0), (20_240_101.0, 1.0), (0.0, 2.0**-40), (0.0, 2.0**70)]
)
@pytest.mark.parametrize("size", [1, 2])
def test_numbers_may_be_large_and_close_or_small_or_far_apart(start, step, size):
    plain, earned = items([8, 5, 6], [10, 10, 10], start=0)
    clusters = [i // size for i in range(30)] if size > 1 else None
    expected = trend(plain, earned, clusters)
    found = trend([start + step * number for number in plain], earned, clusters)
    assert found.statistic == pytest.approx(expected.statistic, nan_ok=True)
    assert found.p == pytest.approx(expected.p)
    assert found.direction == expected.direction == "falling"
    assert [number * step for number in found.slope[:3]] == pytest.approx(expected.slope[:3])


def test_large_numbers_by_hand():
    # 80, 50 and 60 % of ten items each: the sum of (x - 1) y is -2, its variance 19/30 11/30 20.
    numbers, earned = items([8, 5, 6], [10, 10, 10], start=10**15)
    found = trend(numbers, earned)
    assert found.slope.value == pytest.approx(-0.1)
    assert found.statistic == pytest.approx(-2 / math.sqrt(19 / 30 * 11 / 30 * 20))


def test_one_number_is_no_trend():
    with pytest.raises(ValueError, match="1 different numbers, expected two or more"):
        trend([2.0, 2.0], [0.0, 1.0])
