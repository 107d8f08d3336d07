"""Measures of agreement against published examples and against counting pair by pair."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.metrics.agreement import (
    cohen_estimate,
    cohen_kappa,
    fleiss_kappa,
    free_kappa,
    krippendorff_alpha,
    percent_agreement,
    weighted_kappa,
)

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", part C: four observers,
# twelve units, answers missing.
KRIPPENDORFF = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
# The table of the article "Fleiss' kappa": 14 raters, 10 subjects, 5 categories.
FLEISS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip


def test_krippendorffs_own_example():
    rows = [row.split() for row in KRIPPENDORFF]
    items = [[a for a in column if a != "."] for column in zip(*rows, strict=True)]
    assert krippendorff_alpha(items) == pytest.approx(0.743, abs=5e-4)


def test_fleiss_published_example():
    items = [[c for c, count in enumerate(row) for _ in range(count)] for row in FLEISS]
    assert fleiss_kappa(items) == pytest.approx(0.210, abs=5e-4)
    assert percent_agreement(items) == pytest.approx(0.378, abs=5e-4)


@pytest.mark.parametrize(
    ("table", "kappa"),  # both yes, only the first, only the second, both no
    [((20, 5, 10, 15), 0.4), ((45, 15, 25, 15), 0.1304), ((25, 35, 5, 35), 0.2593)],
)
def test_cohen_published_examples(table, kappa):
    pairs = [p for p, count in zip(("yy", "yn", "ny", "nn"), table, strict=True) for _ in
             range(count)]  # fmt: skip
    first, second = [p[0] for p in pairs], [p[1] for p in pairs]
    assert cohen_kappa(first, second) == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
def test_weighted_kappa_equals_the_sum_over_all_cells(seed):
    dice = random.Random(seed)
    first = [dice.randint(1, 4) for _ in range(30)]
    second = [a if dice.random() < 0.5 else dice.randint(1, 4) for a in first]
    cells = [(a, b) for a in range(1, 5) for b in range(1, 5)]
    seen = {c: sum(p == c for p in zip(first, second, strict=True)) / 30 for c in cells}
    chance = {(a, b): first.count(a) / 30 * second.count(b) / 30 for a, b in cells}
    apart = [sum(abs(a - b) * table[a, b] for a, b in cells) for table in (seen, chance)]
    assert weighted_kappa(first, second) == pytest.approx(1 - apart[0] / apart[1])
    two = [min(a, 2) for a in first], [min(b, 2) for b in second]
    assert weighted_kappa(*two) == pytest.approx(cohen_kappa(*two))
    assert math.isnan(weighted_kappa([1, 1], [1, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_cohen_equals_draws_one_by_one(seed):
    dice = random.Random(seed)
    first = [dice.choice("rwc") for _ in range(40)]
    second = [a if dice.random() < 0.7 else dice.choice("rwc") for a in first]
    clusters = [dice.randrange(15) for _ in first]
    found = cohen_estimate(first, second, clusters, resamples=200, seed=seed)
    names = list(dict.fromkeys(clusters))
    members = [[i for i, c in enumerate(clusters) if c == name] for name in names]
    draws = np.random.default_rng(seed).multinomial(
        len(names), [1 / len(names)] * len(names), size=200
    )
    kappas = []
    for draw in draws:
        taken = [i for some, n in zip(members, draw, strict=True) for _ in range(n) for i in some]
        kappas.append(cohen_kappa([first[i] for i in taken], [second[i] for i in taken]))
    assert found.value == cohen_kappa(first, second)
    assert found.n == 40
    assert found[1:3] == pytest.approx(np.quantile(kappas, [0.025, 0.975]))


def test_the_interval_of_cohen_without_a_kappa():
    assert math.isnan(cohen_estimate("aaa", "aaa", range(3)).low)
    assert math.isnan(cohen_estimate("", "", []).value)
    # Draws of the first two alone say nothing; the others all disagree.
    assert cohen_estimate("aab", "aac", range(3)).high <= 1


def test_free_kappa_by_hand():
    # Items of 2 and 4 choices: chance is (1/2 + 1/4) / 2; pairs agree 1/3 and all.
    assert free_kappa([[0, 0, 1], [3, 3]], [2, 4]) == pytest.approx((2 / 3 - 0.375) / 0.625)


def test_free_kappa_does_not_mind_where_the_answers_stand():
    one_place = [[0, 0, 0]] * 19 + [[0, 0, 1]]
    spread = [[i % 2] * 3 for i in range(19)] + [[0, 0, 1]]
    assert free_kappa(one_place, [2] * 20) == free_kappa(spread, [2] * 20) > 0.9
    assert krippendorff_alpha(one_place) < 0.1 < 0.9 < krippendorff_alpha(spread)


def test_what_chance_would_do_as_well_is_no_number():
    same = [[1, 1], [1, 1]]
    for value in (fleiss_kappa(same), krippendorff_alpha(same), cohen_kappa([1, 1], [1, 1])):
        assert math.isnan(value)
    assert percent_agreement(same) == 1
    for value in (percent_agreement([[1]]), krippendorff_alpha([[1]]), free_kappa([[1]], [2])):
        assert math.isnan(value)
    assert math.isnan(cohen_kappa([], []))


def test_fleiss_refuses_unequal_numbers():
    with pytest.raises(ValueError, match="from 1 to 2 answers"):
        fleiss_kappa([[1, 2], [1]])


ITEMS = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=8)


@given(ITEMS)
def test_alpha_equals_disagreement_counted_pair_by_pair(items):
    items = [answers for answers in items if len(answers) > 1]
    everything = [a for answers in items for a in answers]
    pairs = list(itertools.permutations(everything, 2))
    expected = Fraction(sum(a != b for a, b in pairs), len(pairs)) if pairs else Fraction(0)
    alpha = krippendorff_alpha(items)
    if expected == 0:
        assert math.isnan(alpha)
        return
    observed = sum(
        Fraction(sum(a != b for a, b in itertools.permutations(answers, 2)), len(answers) - 1)
        for answers in items
    ) / len(everything)
    assert alpha == pytest.approx(float(1 - observed / expected), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_cohen_equals_agreement_counted_pair_by_pair(answers):
    first, second = zip(*answers, strict=True)
    observed = Fraction(sum(a == b for a, b in answers), len(answers))
    crossed = list(itertools.product(first, second))
    expected = Fraction(sum(a == b for a, b in crossed), len(crossed))
    kappa = cohen_kappa(first, second)
    if expected == 1:
        assert math.isnan(kappa)
    else:
        assert kappa == pytest.approx(float((observed - expected) / (1 - expected)), abs=1e-9)
