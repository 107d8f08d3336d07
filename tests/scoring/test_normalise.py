"""Norms: one record, many numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from boxpen import PolicyError, Record, ScoringError
from boxpen.scoring.normalise import score, units


def record(*logprobs: float) -> Record:
    return Record(
        token_ids=np.arange(len(logprobs), dtype=np.int32),
        logprobs=np.array(logprobs, dtype=np.float32),
    )


@pytest.mark.parametrize(
    ("text", "norm", "expected"),
    [
        ("The box is in the pen.", "sum", 1),
        ("The box is in the pen.", "token", 3),
        ("The box is in the pen.", "word", 6),
        ("The box is in the pen.", "char", 22),
        ("The box is in the pen.", "byte", 22),
        (" the pen.", "char", 8),
        ("箱子在围栏里。", "word", 6),
        ("箱子在围栏里。", "char", 7),
        ("箱子在围栏里。", "byte", 21),
        ("3 箱子 boxes", "word", 4),
        ("naïve café", "byte", 12),
        ("...", "word", 1),
    ],
)
def test_units(text, norm, expected):
    assert units(record(-1, -2, -3), text, norm) == expected


def test_scores_by_hand():
    r = record(-1.0, -2.0, -4.5)
    assert score(r, "a box", "sum") == -7.5
    assert score(r, "a box", "token") == -2.5
    assert score(r, "a box", "word") == -3.75
    assert score(r, "a box", "char") == -1.5
    assert score(r, "a box", "pmi", unconditional=record(-10.0)) == 2.5


def test_the_mean_is_of_logs_not_the_log_of_the_mean():
    values = [math.log(0.5), math.log(0.1)]
    paper = math.log((0.5 * 0.1) ** (1 / 2))  # Sen-Making: perplexity (prod p)^(-1/n)
    assert score(record(*values), "a box", "token") == pytest.approx(paper)
    assert score(record(*values), "a box", "token") != pytest.approx(math.log(0.3))


def test_sums_are_in_float64():
    many = record(-16777216.0, *[-1.0] * 1000)  # 2**24: in float32 the ones vanish
    assert many.total == -16777216 - 1000


@pytest.mark.parametrize("norm", ["sum", "token", "word", "char", "byte"])
@pytest.mark.parametrize("bad", [math.nan, -math.inf, math.inf])
def test_trap_14_no_number_is_no_score(norm, bad):
    with pytest.raises(ScoringError, match=r"'a box'.*(nan|inf)"):
        score(record(-1.0, bad), "a box", norm)


@pytest.mark.parametrize("norm", ["sum", "token", "word", "char", "byte", "pmi"])
def test_trap_14_nothing_scored_is_no_score(norm):
    with pytest.raises(ScoringError, match="no token of 'a box'"):
        score(record(), "a box", norm, unconditional=record(-1.0))


@pytest.mark.parametrize("free", [record(), record(math.nan), record(-math.inf)])
def test_trap_14_pmi_needs_a_sound_score_without_context(free):
    """Minus nothing is not the score without context, and minus infinity would win."""
    with pytest.raises(ScoringError):
        score(record(-1.0), "a box", "pmi", unconditional=free)


def test_pmi_without_the_other_score_is_refused():
    with pytest.raises(PolicyError, match="pmi"):
        score(record(-1.0), "a box", "pmi")
