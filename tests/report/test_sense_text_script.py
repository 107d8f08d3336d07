"""Counts of text for Sen-Making: scripts/sense_text.py against plain twins."""

import math
import random
import re
import statistics
from collections import Counter

import kinds
import numpy as np
import pytest
import results
import sense_text
from sense_text import BEGIN, END, Company, KneserNey

TEXT = [[1, 2, 3], [1, 2], [2, 3, 1], [3], [1, 2, 3], [4, 1, 2], [2, 2, 1, 3]]


def plain(text: list[list[int]], context: tuple[int, ...], word: int) -> float:
    """Interpolated Kneser-Ney from its definition, one n-gram at a time."""
    rows = [[BEGIN] * 3 + s + [END] for s in text]
    whole = Counter(tuple(r[i - 3 : i + 1]) for r in rows for i in range(3, len(r)))
    levels = [whole]
    for _ in range(3):
        levels.append(Counter(gram[1:] for gram in levels[-1]))

    def chance(order: int) -> float:
        if order == 0:
            return 1 / 65536
        counts = levels[4 - order]
        before = context[len(context) - order + 1 :]
        mine = {g: n for g, n in counts.items() if g[:-1] == before}
        if not mine:
            return chance(order - 1)
        once, twice = (sum(n == k for n in counts.values()) for k in (1, 2))
        off = once / max(1, once + 2 * twice)
        rest = off * len(mine) * chance(order - 1)
        return (max(mine.get((*before, word), 0) - off, 0) + rest) / sum(mine.values())

    return chance(4)


@pytest.mark.parametrize("sentence", [[1, 2, 3], [3, 3], [4, 4, 1], [7], [2, 1, 9]])
def test_the_score_of_a_sentence_is_that_of_the_definition(sentence):
    (score,) = KneserNey(TEXT).scores([sentence])
    row = [BEGIN] * 3 + sentence + [END]
    plainly = sum(math.log(plain(TEXT, tuple(row[i - 3 : i]), row[i])) for i in range(3, len(row)))
    assert score == pytest.approx(plainly, abs=1e-9)


def test_company_counts_sentences_with_both_words():
    company = Company(TEXT, np.arange(5), {1, 2, 3, 4})
    assert company.score([1, 4]) == pytest.approx(math.log(1 / (6 * 1 / 7)))
    assert company.score([3, 4]) == 0  # never together
    # 4 is with 2 once, 3 is with 2 four times; 2 is what both sentences have.
    assert company.met([2, 4], [2, 3]) == [5, 1, 4]
    assert company.met([1], [2]) is None, "nothing is shared"
    assert company.met([1, 2], [2, 1]) is None, "nothing differs"


def test_a_line_is_followed_to_the_accuracy_of_elmo():
    sizes = {2.0**n: np.array([0.5 + 0.01 * n] * 4) for n in range(10, 14)}
    slopes, ends = sense_text.fitted(sizes)
    assert list(slopes) == pytest.approx([0.01] * 4)
    assert list(ends) == pytest.approx([0.63] * 4)
    words = f"{2 ** (13 + 6.4):.1e}"
    assert sense_text.extrapolated(sizes) == (
        f"+0.0100 [+0.0100, +0.0100] | {words} [{words}, {words}]"
    )


def test_slope_and_height_of_a_line_vary_together():
    """Against a plain twin: draw pairs, fit a line to their accuracy at each size, follow it."""
    dice = random.Random(3)
    sizes = {
        2.0**n: np.array([float(dice.random() < 0.3 + 0.03 * n) for _ in range(300)])
        for n in range(6, 12)
    }
    far, tilts = [], []
    for _ in range(1000):
        drawn = dice.choices(range(300), k=300)
        means = [sum(credit[i] for i in drawn) / 300 for credit in sizes.values()]
        slope, start = statistics.linear_regression(range(6, 12), means)
        tilts.append(slope)
        far.append((sense_text.ELMO - start) / slope if slope > 0 else math.inf)
    cells = sense_text.extrapolated(sizes)
    numbers = [float(n) for n in re.findall(r"[+-]?[\d.]+(?:e[+-]\d+)?", cells)]
    tilts.sort()
    far.sort()
    assert numbers[1:3] == pytest.approx([tilts[25], tilts[974]], abs=0.003)
    assert [math.log2(n) for n in numbers[4:]] == pytest.approx([far[25], far[974]], abs=0.5)


def test_a_line_that_may_not_rise_may_never_get_there():
    flat = {2.0**n: np.array([0.0, 1.0] * 20) for n in range(3)}
    assert sense_text.extrapolated(flat).endswith("| none [none, none]")


def test_the_lines_of_the_page_are_those_of_its_models():
    shown = results.shown("sense", "text-lines")
    for kind in ("causal", "masked"):
        assert f" | {kinds.followed(kinds.line(sense_text.on_page(kind)))} |" in shown
