"""Paired tests against enumeration, SciPy and each other."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from boxpen.errors import RunError
from boxpen.metrics.compare import compare_verdicts, holm
from boxpen.metrics.paired import exact_mcnemar
from boxpen.metrics.randomise import randomisation
from boxpen.scoring.verdicts import Verdict

CREDITS = [0.0, 1 / 4, 1 / 3, 1 / 2, 1.0]


def verdicts(earned, blocks=None) -> list[Verdict]:
    return [
        Verdict(id=str(i), block=blocks and blocks[i], gold=0, scores=(0.0, 0.0), winner=0, tied=1,
                credit=c, margin=0.0)
        for i, c in enumerate(earned)
    ]  # fmt: skip


def enumerated(differences: list[float]) -> float:
    """Every block both ways round, in exact fractions."""
    exact = [d if isinstance(d, Fraction) else Fraction(d).limit_denominator(1000)
             for d in differences]  # fmt: skip
    observed = abs(sum(exact))
    ways = list(itertools.product([1, -1], repeat=len(exact)))
    more = sum(abs(sum(s * d for s, d in zip(way, exact, strict=True))) >= observed for way in ways)
    return more / len(ways)


@given(
    st.lists(
        st.tuples(st.sampled_from(CREDITS), st.sampled_from(CREDITS)).map(lambda p: p[0] - p[1]),
        max_size=9,
    )
)
def test_randomisation_is_enumeration(differences):
    assert randomisation([[d] for d in differences]) == pytest.approx(enumerated(differences))


@given(st.integers(0, 40), st.integers(0, 40))
def test_randomised_items_are_mcnemars(only_a, only_b):
    gaps = [[1.0]] * only_a + [[-1.0]] * only_b
    assert randomisation(gaps) == pytest.approx(exact_mcnemar(only_a, only_b))
    if only_a + only_b:
        theirs = stats.binomtest(only_a, only_a + only_b).pvalue
        assert exact_mcnemar(only_a, only_b) == pytest.approx(theirs)


def test_randomisation_of_many_blocks_is_close_to_draws():
    rng = np.random.default_rng(3)
    gaps = rng.choice([-2, -1, -0.5, 0, 0, 1, 1, 2], size=600)
    signs = rng.choice([-1, 1], size=(20000, 600))
    drawn = float((np.abs(signs @ gaps) >= abs(gaps.sum())).mean())
    assert randomisation([[g] for g in gaps.tolist()]) == pytest.approx(drawn, abs=0.01)


def test_blocks_of_odd_fractions_are_exact():
    blocks = [[1 / 7, 1 / 11, 1 / 13], [-1 / 7], [-1 / 11, -1 / 13], [1 / 3, -1 / 3]]
    expected = enumerated([Fraction(311, 1001), Fraction(-1, 7), Fraction(-24, 143), Fraction(0)])
    assert randomisation(blocks) == pytest.approx(expected)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04: times 4, 3, 2, 1, never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_items_by_themselves_take_mcnemar():
    a, b = [1, 1, 1, 0, 1, 0, 1, 1.0], [0, 1, 0, 0, 0, 1, 0, 0.0]
    (pair,) = compare_verdicts({"a": verdicts(a), "b": verdicts(b)}, "s")
    assert (pair.test, pair.only_a, pair.only_b, pair.n) == ("McNemar", 5, 1, 8)
    assert pair.p == pair.adjusted == pytest.approx(stats.binomtest(1, 6).pvalue)
    assert pair.difference.value == pytest.approx(4 / 8)
    assert pair.differing == ("0", "2", "4", "5", "6", "7")


def test_blocks_are_randomised_whole():
    blocks = ["x", "x", "y", "y", "z", "z"]
    a, b = [1, 1, 1, 1, 1, 1.0], [0, 0, 0, 0, 0, 0.0]
    (pair,) = compare_verdicts({"a": verdicts(a, blocks), "b": verdicts(b, blocks)}, "s")
    assert pair.test == "randomisation"
    assert pair.p == pytest.approx(2 / 2**3), "three blocks, not six items"


def test_a_part_of_a_credit_is_randomised():
    (pair,) = compare_verdicts({"a": verdicts([1, 0.5, 1.0]), "b": verdicts([0, 0, 0.5])}, "s")
    assert pair.test == "randomisation"
    assert pair.p == pytest.approx(enumerated([1, 0.5, 0.5]))


def test_three_systems_make_three_pairs_and_are_corrected():
    systems = {name: verdicts([float(i % k == 0) for i in range(60)])
               for name, k in (("a", 1), ("b", 2), ("c", 3))}  # fmt: skip
    pairs = compare_verdicts(systems, "s")
    assert [(p.a, p.b) for p in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [p.adjusted for p in pairs] == holm([p.p for p in pairs])


def test_the_test_is_level():
    """Two equal systems with clustered items are told apart in about 5 % of trials, not more."""
    rng = np.random.default_rng(8)
    blocks = [str(i // 2) for i in range(160)]
    rejected = covered = 0
    for _ in range(1000):
        runs = {}
        for name in "ab":
            together = np.repeat(rng.random(80) < 0.6, 2)
            alone = rng.random(160) < 0.6
            same = np.repeat(rng.random(80) < 0.5, 2)
            runs[name] = verdicts(np.where(same, together, alone).astype(float).tolist(), blocks)
        (pair,) = compare_verdicts(runs, "s")
        rejected += pair.p < 0.05
        covered += pair.difference.low <= 0 <= pair.difference.high
    assert 0.025 <= rejected / 1000 <= 0.065
    assert 0.93 <= covered / 1000 <= 0.97


def test_extreme_differences_have_honest_intervals():
    (all_or_none,) = compare_verdicts({"a": verdicts([1.0] * 5), "b": verdicts([0.0] * 5)}, "s")
    assert all_or_none.difference.value == 1.0
    # From two Wilson intervals, of 5 of 5 and of 0 of 5, by hand: 1 - sqrt(2) x 0.4345.
    assert all_or_none.difference.low == pytest.approx(1 - 2**0.5 * 0.43448, abs=1e-4)
    assert all_or_none.difference.high == 1.0
    (equal,) = compare_verdicts({"a": verdicts([1, 0, 1.0]), "b": verdicts([1, 0, 1.0])}, "s")
    assert equal.difference.low <= 0 <= equal.difference.high
    assert equal.p == 1.0


def test_items_of_one_name_that_are_not_the_same_are_refused():
    a, b = verdicts([1.0, 0.0]), verdicts([1.0, 0.0])
    b[1] = dataclasses.replace(b[1], scores=(0.0,) * 4)
    with pytest.raises(RunError, match="item '1' of s is not the same for a and for b"):
        compare_verdicts({"a": a, "b": b}, "s", common=True)


def test_common_items_are_those_that_all_have():
    systems = {"a": verdicts([1.0] * 6), "b": verdicts([1.0] * 5), "c": verdicts([1.0] * 4)}
    assert [p.n for p in compare_verdicts(systems, "s", common=True)] == [4, 4, 4]


def test_other_items_are_refused_or_left_out():
    a, b = verdicts([1, 0, 1.0]), verdicts([1, 0.0])
    with pytest.raises(
        RunError, match=r"1 appear in one run only .*use --common to compare the other 2"
    ):
        compare_verdicts({"a": a, "b": b}, "s")
    (pair,) = compare_verdicts({"a": a, "b": b}, "s", common=True)
    assert pair.n == 2
    with pytest.raises(RunError, match="no item"):
        compare_verdicts({"a": a[:1], "b": b[1:]}, "s", common=True)
