"""Metrics over verdicts, added up by hand."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.metrics.choice import (
    accuracy,
    balanced_accuracy,
    both_right,
    both_wrong,
    chance,
    consistency,
    failure_rate,
    flip_rate,
    macro_accuracy,
    margin,
)
from boxpen.metrics.intervals import mean_of_shares
from boxpen.metrics.summary import estimates
from boxpen.scoring.verdicts import Verdict


def verdict(number: int, credit: float, block: str | None = None, k: int = 2, **tags) -> Verdict:
    return Verdict(
        id=str(number), block=block, gold=0, scores=(0.0,) * k, winner=0, tied=1, credit=credit,
        margin=2 * credit - 1, tags=tags,
    )  # fmt: skip


PAIRS = [
    verdict(0, 1, "a"), verdict(1, 1, "a"),
    verdict(2, 0, "b"), verdict(3, 0, "b"),
    verdict(4, 1, "c"), verdict(5, 0, "c"),
    verdict(6, 1, "d"), verdict(7, 0.5, "d"),
    verdict(8, 1),
]  # fmt: skip


def test_blocks_by_hand():
    assert accuracy(PAIRS).value == pytest.approx(5.5 / 9)
    assert failure_rate(PAIRS).value == pytest.approx(3.5 / 9)
    # a: both right; b: both wrong; c: flips; d: right, or flips, as its tie is broken.
    assert both_right(PAIRS).value == pytest.approx((1 + 0 + 0 + 0.5) / 4)
    assert both_wrong(PAIRS).value == pytest.approx(1 / 4)
    assert flip_rate(PAIRS).value == pytest.approx((0 + 0 + 1 + 0.5) / 4)
    assert consistency(PAIRS).value == pytest.approx(2.5 / 4)
    assert consistency(PAIRS).n == 4, "the item by itself is no block"
    assert margin(PAIRS).value == pytest.approx(sum(v.margin for v in PAIRS) / 9)


def test_the_failure_rate_turns_the_interval_round():
    right, wrong = accuracy(PAIRS), failure_rate(PAIRS)
    assert (wrong.low, wrong.high) == pytest.approx((1 - right.high, 1 - right.low))


def test_chance_is_one_in_k():
    some = [verdict(0, 1, k=2), verdict(1, 1, k=4), verdict(2, 0, k=4), verdict(3, 0, k=3)]
    assert chance(some).value == pytest.approx((1 / 2 + 1 / 4 + 1 / 4 + 1 / 3) / 4)


def test_macro_counts_sets_and_micro_counts_items():
    large = [verdict(i, 1.0, set="large") for i in range(30)]
    small = [verdict(30 + i, 0.0, set="small") for i in range(10)]
    found = dict(estimates(large + small))
    assert found["accuracy"].value == pytest.approx(0.75)
    assert found["macro_accuracy"].value == pytest.approx(0.5)
    assert found["macro_accuracy"].low < 0.5 < found["macro_accuracy"].high
    assert "macro_accuracy" not in dict(estimates(large)), "one set is no average"


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), max_size=6))
def test_ties_broken_every_way_come_to_the_same(blocks):
    """The twin: break every tie both ways, and average what comes out."""
    numbers = itertools.count()
    verdicts = [
        verdict(next(numbers), c, block=str(b)) for b, earned in enumerate(blocks) for c in earned
    ]
    large = [earned for earned in blocks if len(earned) > 1]
    right = wrong = 0.0
    for earned in large:
        outcomes = list(itertools.product(*[[c] if c != 0.5 else [0.0, 1.0] for c in earned]))
        right += sum(all(o) for o in outcomes) / len(outcomes)
        wrong += sum(not any(o) for o in outcomes) / len(outcomes)
    if not large:
        assert math.isnan(both_right(verdicts).value)
        return
    assert both_right(verdicts).value == pytest.approx(right / len(large))
    assert both_wrong(verdicts).value == pytest.approx(wrong / len(large))
    assert consistency(verdicts).value == pytest.approx((right + wrong) / len(large))
    assert flip_rate(verdicts).value == pytest.approx(1 - (right + wrong) / len(large), abs=1e-9)


def test_the_bootstrap_gives_another_interval_of_the_same_number():
    many = [verdict(i, float(i % 3 > 0), block=str(i // 2)) for i in range(200)]
    plain, resampled = accuracy(many), accuracy(many, "bootstrap")
    assert plain.value == resampled.value
    assert plain.low != resampled.low
    assert abs(plain.low - resampled.low) < 0.03


@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), st.integers(1, 4))
def test_a_constant_answer_has_a_balanced_accuracy_of_a_half(first, second, turn, size):
    """However many tests there are of each kind, and however they share blocks."""
    right = [verdict(n, float(turn), f"b{n // size}") for n in range(first)]
    wrong = [verdict(100 + n, float(not turn), f"b{n // size}") for n in range(second)]
    found = balanced_accuracy([right, wrong])
    assert found.value == pytest.approx(0.5)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_balanced_accuracy_by_hand():
    right = [verdict(n, credit) for n, credit in enumerate((1, 1, 1, 0))]
    wrong = [verdict(10, 0.5)]
    assert balanced_accuracy([right, wrong]).value == pytest.approx((0.75 + 0.5) / 2)
    assert balanced_accuracy([right, []]).value == pytest.approx(0.75)


def test_the_interval_of_balanced_accuracy_has_no_spread_between_groups():
    def made(start, size, wrong):
        return [verdict(start + n, float(n >= wrong), f"b{start + n}") for n in range(size)]

    for sizes, wrong in (((200, 100), (0, 0)), ((200, 200), (0, 0)), ((300, 20), (60, 5))):
        groups = [made(1000 * g, sizes[g], wrong[g]) for g in range(2)]
        found, apart = balanced_accuracy(groups), macro_accuracy(groups)
        assert found.value == pytest.approx(apart.value)
        assert found.low == pytest.approx(apart.low, abs=0.02)
        assert found.high == pytest.approx(apart.high, abs=0.02)
        assert found.low < found.value  # however good it is


def test_balanced_accuracy_allows_for_blocks_that_groups_share():
    """Both tests of a block are right or wrong together: two of them tell no more than one."""
    groups = [[verdict(1000 * g + n, float(n % 2), f"b{n}") for n in range(100)] for g in range(2)]
    found, one = balanced_accuracy(groups), accuracy(groups[0])
    assert found.value == one.value
    assert (found.low, found.high) == pytest.approx((one.low, one.high), abs=0.005)


def test_chance_counts_the_labels_that_are_right():
    one, two = verdict(0, 1, k=3), replace(verdict(1, 1, k=3), also=("neutral",))
    forced = replace(verdict(2, 1, k=2), also=("neutral",))
    assert chance([one]).value == pytest.approx(1 / 3)
    assert chance([two]).value == pytest.approx(2 / 3)
    assert chance([forced]).value == pytest.approx(1 / 2)


@pytest.mark.parametrize("sizes", [(25, 8, 2, 2, 1, 2), (1, 1), (6,) * 10, (50,) * 6])
def test_the_interval_of_a_mean_of_sets_holds_for_small_sets(sizes):
    rng = random.Random(1)
    for share_of_right in (0.4, 0.6, 0.75, 0.9):
        held = 0
        for _ in range(1000):
            drawn = [[float(rng.random() < share_of_right) for _ in range(n)] for n in sizes]
            found = mean_of_shares([(earned, None) for earned in drawn])
            assert 0 <= found.low <= found.value <= found.high <= 1
            held += found.low <= share_of_right <= found.high
        least = 900 if len(sizes) > 2 else 800  # two items have three outcomes
        assert held >= least, (sizes, share_of_right, held)
