"""Intervals that include the seed: a slow twin, textbook cases, and how often they hold."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import mean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import small_runs
from boxpen.errors import RunError
from boxpen.metrics.intervals import mean as mean_estimate
from boxpen.metrics.intervals import share
from boxpen.metrics.seeds import accuracy_over_seeds, gap_over_seeds, over_seeds, seed_gap
from boxpen.scoring.verdicts import Verdict


def twin(rows: list[list[float]]) -> tuple[float, float, float]:
    """The same from definitions, for items that are by themselves."""
    seeds, items = len(rows), len(rows[0])
    of_seeds = variance([mean(row) for row in rows]) / seeds
    of_items = variance([mean(row[i] for row in rows) for i in range(items)]) / items
    total = of_seeds + of_items
    free = total**2 / (of_seeds**2 / (seeds - 1) + of_items**2 / (items - 1))
    value = mean(x for row in rows for x in row)
    half = stats.t.ppf(0.975, free) * math.sqrt(total)
    return value, value - half, value + half


def drawn(rng, seeds: int, items: int, apart: float) -> list[list[float]]:
    hard = rng.normal(0, 0.3, items)
    return [
        (0.5 + rng.normal(0, apart) + hard + rng.normal(0, 0.4, items)).tolist()
        for _ in range(seeds)
    ]


@pytest.mark.parametrize("apart", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_agrees_with_a_slow_twin(seeds, apart):
    rng = np.random.default_rng(seeds)
    one, other = drawn(rng, seeds, 17, apart), drawn(rng, seeds, 17, apart)
    gaps = [[a - b for a, b in zip(*both, strict=True)] for both in zip(one, other, strict=True)]
    assert over_seeds(one)[:3] == pytest.approx(twin(one), abs=1e-12)
    assert seed_gap(one, other)[:3] == pytest.approx(twin(gaps), abs=1e-12)


def test_clusters_of_one_size_are_like_their_means():
    rng = np.random.default_rng(4)
    one, other = (np.array(drawn(rng, 3, 40, 0.1)) for _ in range(2))
    of = [i // 2 for i in range(40)]
    halves = [rows.reshape(3, 20, 2).mean(axis=2).tolist() for rows in (one, other)]
    found = seed_gap(one.tolist(), other.tolist(), of)
    assert found[:3] == pytest.approx(seed_gap(*halves)[:3], abs=1e-12)
    assert found.n == 40


@given(st.lists(st.floats(0, 1), min_size=4, max_size=30), st.integers(2, 4))
def test_equal_seeds_leave_the_interval_of_the_items(row, seeds):
    of = [i // 3 for i in range(len(row))]
    found, items = over_seeds([row] * seeds, of), mean_estimate(row, of)
    assert found == pytest.approx(items, abs=1e-9)


def test_one_number_per_seed_is_students_interval():
    one, other = [3.1, 3.4, 3.2], [3.9, 3.0, 3.3]
    found = over_seeds([[x] for x in one])
    student = stats.t.interval(0.95, 2, loc=mean(one), scale=stats.sem(one))
    assert found == pytest.approx((mean(one), *student, 1))
    gap = seed_gap([[x] for x in one], [[x] for x in other])
    paired = stats.ttest_rel(one, other).confidence_interval()
    assert gap == pytest.approx((mean(one) - mean(other), *paired, 1))


def test_one_seed_says_nothing_of_others():
    found = over_seeds([[0.0, 1.0, 1.0, 1.0]])
    assert (found.value, found.n) == (0.75, 4)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("apart", [0.0, 0.02, 0.1])
def test_covers_the_truth_where_items_alone_do_not(apart):
    rng = np.random.default_rng(7)
    trials, items = 300, 200
    held = fooled = 0
    for _ in range(trials):
        hard = rng.normal(0, 0.3, items)
        one, other = (
            (hard + rng.normal(0, apart, (3, 1)) + rng.normal(0, 0.4, (3, items))).tolist()
            for _ in range(2)
        )
        gap = seed_gap(one, other)
        held += gap.low <= 0 <= gap.high
        alone = mean_estimate([a - b for a, b in zip(one[0], other[0], strict=True)])
        fooled += not alone.low <= 0 <= alone.high
    assert 0.93 <= held / trials <= 0.995
    assert (fooled / trials > 0.5) == (apart == 0.1)


def runs_of(*outcomes: str) -> list[tuple[Verdict, ...]]:
    """Verdicts of trainings on items that are two and two in a block."""
    return [small_runs.small_run(outcome, model=outcome).verdicts for outcome in outcomes]


def test_trainings_that_are_always_right_are_not_certain_to_be():
    found = accuracy_over_seeds(runs_of(*["++++"] * 3))
    assert found == pytest.approx(share([1] * 4, [0, 0, 1, 1]))
    assert found.low == pytest.approx(0.342, abs=5e-4)
    none = accuracy_over_seeds(runs_of(*["----"] * 3))
    assert (none.low, none.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_an_accuracy_stays_within_0_and_1_and_is_never_narrower_than_over_seeds():
    runs = runs_of("+" * 20, "+" * 19 + "-", "-" + "+" * 19)
    found, plain = accuracy_over_seeds(runs), over_seeds([[v.credit for v in r] for r in runs])
    assert plain.high > 1
    assert found.high == 1
    assert found.low <= plain.low
    assert found.value == plain.value == pytest.approx(58 / 60)


def test_in_the_middle_an_accuracy_is_that_of_seeds_and_items():
    rng = np.random.default_rng(3)
    runs = runs_of(*("".join(rng.choice(["+", "-"], 400)) for _ in range(3)))
    of = [i // 2 for i in range(400)]
    plain = over_seeds([[v.credit for v in run] for run in runs], of)
    assert accuracy_over_seeds(runs) == pytest.approx(plain, abs=1e-4)


def test_a_gap_stays_within_minus_1_and_1_and_is_not_certain():
    right, wrong = runs_of(*["++++"] * 3), runs_of(*["----"] * 3)
    gap = gap_over_seeds(right, wrong)
    assert (gap.value, gap.high) == (1, 1)
    assert 0 < gap.low < 0.6
    equal = gap_over_seeds(right, right)
    assert equal.value == 0
    assert equal.low == -equal.high < -0.3
    far = gap_over_seeds(runs_of("++++", "++-+", "+++-"), wrong)
    assert far.high == 1


@pytest.mark.parametrize("logit", [6.0, 4.5, 3.0])
def test_covers_accuracies_near_1(logit):
    """Three trainings on 20 blocks of two items; over seeds and items alone: 40 to 95 %."""
    rng = np.random.default_rng(3)
    truth = float(np.mean(1 / (1 + np.exp(-rng.normal(logit, math.sqrt(1.25), 1_000_000)))))
    some = small_runs.small_run("+" * 40).verdicts
    held = 0
    for _ in range(300):
        hard = np.repeat(rng.normal(0, 0.8**0.5, 20), 2) + rng.normal(0, 0.2**0.5, 40)
        odds = np.exp(logit + hard + rng.normal(0, 0.5, (3, 40)))
        right = rng.random((3, 40)) < odds / (1 + odds)
        found = accuracy_over_seeds(
            [[replace(v, credit=float(c)) for v, c in zip(some, row, strict=True)] for row in right]
        )
        held += found.low <= truth <= found.high
    assert held / 300 >= 0.95


def test_of_several_items_in_one_cluster_the_interval_is_not_known():
    found = over_seeds([[0.0, 1.0], [1.0, 0.0]], ["a", "a"])
    assert found.value == 0.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    runs = runs_of("++", "+-")
    assert math.isnan(accuracy_over_seeds(runs).low)
    assert math.isnan(gap_over_seeds(runs, runs).high)


def test_nothing_is_refused():
    for call in (over_seeds, accuracy_over_seeds):
        with pytest.raises(RunError, match="no trainings are given, expected one or more items"):
            call([])
        with pytest.raises(RunError, match="no items are given, expected one or more items"):
            call([[]])
    for one, other in (([], []), ([[]], [[]])):
        for compared in (seed_gap, gap_over_seeds):
            with pytest.raises(RunError, match="are given, expected one or more items"):
                compared(one, other)


def test_of_runs_items_are_found_by_id_and_blocks_kept_whole():
    runs = [small_runs.small_run(o, model=o).verdicts for o in ("++--++", "+++-+-", "+-+-+-")]
    rows = [[1, 1, 0, 0, 1, 1], [1, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0]]
    of = [0, 0, 1, 1, 2, 2]
    shuffled = [runs[0], runs[1][::-1], runs[2]]
    found, plain = accuracy_over_seeds(shuffled), over_seeds(rows, of)
    assert found.value == plain.value
    assert (found.low, found.high) == pytest.approx((max(0, plain.low), min(1, plain.high)))
    gap = gap_over_seeds(runs[:2], [runs[1][::-1], runs[2]])
    assert gap == pytest.approx(seed_gap(rows[:2], rows[1:], of))


def test_other_items_are_refused():
    runs = [small_runs.small_run(o).verdicts for o in ("++--", "++")]
    with pytest.raises(RunError, match="did not judge the same items: 2 are in some runs only"):
        accuracy_over_seeds(runs)
    with pytest.raises(RunError, match="1 seeds of one system and 2 of another; expected pairs"):
        gap_over_seeds(runs[:1], [runs[0], runs[0]])
