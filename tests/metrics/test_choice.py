"""Metrics over verdicts, added up by hand."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.metrics.choice import (
    accuracy,
    both_right,
    both_wrong,
    chance,
    consistency,
    failure_rate,
    flip_rate,
    margin,
)
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
