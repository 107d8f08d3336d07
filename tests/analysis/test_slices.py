"""Slices: every item stands where it belongs, once, and wrong names get one sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.analysis.curve import curves, parse_size
from boxpen.analysis.slices import _edges, cut, cuts
from boxpen.errors import RunError
from boxpen.report.curve import curve_svg
from boxpen.runs.run import Run
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, Verdict
from small_runs import small_run


def record(n: int = 1) -> Record:
    return Record(np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.float32))


def run(rows, suite="mine") -> Run:
    """Rows of (credit, text, source, tags)."""
    verdicts = tuple(
        Verdict(id=str(i), block=None, gold=0, scores=(0.0, -1.0), winner=0, tied=1, credit=credit,
                margin=1.0, tags=tags)
        for i, (credit, _, _, tags) in enumerate(rows)
    )  # fmt: skip
    candidates = {
        str(i): [Scored(text, record(), source=source), Scored("other words here", record())]
        for i, (_, text, source, _) in enumerate(rows)
        if text is not None
    }
    one = small_run("+").info
    info = replace(
        one,
        suite=replace(one.suite, name=suite),
        model=replace(one.model, name="m"),
        signature="s",
    )
    return Run(info, verdicts, candidates)


def ids(slices) -> dict[str, list[str]]:
    return {name: [v.id for v in some] for name, some in slices.items()}


ROWS = [
    (1.0, "one two", "一二三", {"set": "x", "steps": "10"}),
    (0.0, "one two three", "一", {"set": "y", "steps": "2"}),
    (1.0, "one", "一二", {"set": "x", "steps": "1"}),
    (0.5, "one two three four", None, {"set": "y"}),
]


def test_tags_keep_their_order_and_numbers_count_up():
    found = cuts(run(ROWS))
    assert ids(found["set"]) == {"x": ["0", "2"], "y": ["1", "3"]}
    assert list(found["steps"]) == ["1", "2", "10"]


def test_the_id_of_an_original_divides_only_when_asked_for():
    duals = [
        (1.0, "one", None, {"side": side, "item": item, "operation": "add"})
        for item in ("a", "b")
        for side in ("original", "dual")
    ]
    found = run(duals)
    assert "item" not in cuts(found)
    assert ids(cuts(found)["side"]) == {"original": ["0", "2"], "dual": ["1", "3"]}
    assert {row.slice for row in found.summary()} >= {"all", "side=original", "side=dual"}
    assert not [row.slice for row in found.summary() if row.slice.startswith("item=")]
    assert ids(cut(found, "item")) == {"a": ["0", "1"], "b": ["2", "3"]}
    # Elsewhere a tag of this name means what its suite says.
    own = run([(1.0, "one", None, {"item": kind}) for kind in ("cup", "pot")])
    assert ids(cuts(own)["item"]) == {"cup": ["0"], "pot": ["1"]}
    assert "item=cup" in {row.slice for row in own.summary()}


def test_lengths_are_words_and_of_chinese_characters():
    found = cuts(run(ROWS))
    assert ids(found["length"]) == {"1": ["2"], "2": ["0"], "3": ["1"], "4": ["3"]}
    assert ids(found["source length"]) == {"1": ["1"], "2": ["2"], "3": ["0"]}


def test_two_things_at_once():
    found = cut(run(ROWS), "set x length")
    assert ids(found) == {"x x 1": ["2"], "x x 2": ["0"], "y x 3": ["1"], "y x 4": ["3"]}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_groups_of_length_cover_every_item_once(lengths):
    rows = [(1.0, " ".join(["w"] * n), None, {}) for n in lengths]
    found = cut(run(rows), "length")
    assert sorted(i for some in ids(found).values() for i in some) == sorted(
        map(str, range(len(rows)))
    )
    assert len(found) <= 5
    for name, some in found.items():
        low, _, high = name.partition("–")
        for v in some:
            assert int(low) <= lengths[int(v.id)] <= int(high or low)


def test_groups_are_about_equal():
    assert _edges(list(range(1, 101))) == [(1, 20), (21, 40), (41, 60), (61, 80), (81, 100)]
    assert _edges([7, 7, 7]) == [(7, 7)]


def test_wrong_names_get_one_sentence():
    with pytest.raises(RunError, match="cannot be divided by 'lenght'; did you mean 'length'"):
        cut(run(ROWS), "lenght")
    with pytest.raises(RunError, match="keeps no texts to take 'length' from"):
        cut(run([(1.0, None, None, {})]), "length")
    with pytest.raises(RunError, match="has no item that 'a x b' divides"):
        cut(run([(1.0, "t", None, {"a": "1"}), (1.0, "t", None, {"b": "1"})]), "a x b")


@pytest.mark.parametrize(
    ("text", "size"), [("500000", 5e5), ("0.5M", 5e5), ("100k", 1e5), ("2g", 2e9), ("1/16", 1 / 16)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-3", "1/0", "0", "many", "1e5x"])
def test_what_is_no_size(text):
    with pytest.raises(RunError, match="is not a size"):
        parse_size(text)


def test_curves_are_sorted_and_drawn():
    small, large = run(ROWS), run([(1.0, t, s, g) for _, t, s, g in ROWS])
    found = curves([(1e6, large), (1e5, small)], by="set")
    assert [(p.size, p.estimate.value) for p in found["x"]] == [(1e5, 1.0), (1e6, 1.0)]
    assert [(p.size, p.estimate.value) for p in found["y"]] == [(1e5, 0.25), (1e6, 1.0)]
    drawn = curve_svg(found, metric="accuracy")
    assert drawn.count("<circle") == 4
    assert drawn.count("<polyline") == 2
    heights = re.findall(r'<circle class="c1" cx="[\d.]+" cy="([\d.]+)"', drawn)
    assert float(heights[0]) > float(heights[1]), "more is higher up"
    assert "100k" in drawn
    assert "1M" in drawn


def test_curves_refuse_what_they_cannot_draw():
    with pytest.raises(RunError, match="no metric 'bleu'"):
        curves([(1.0, run(ROWS))], metric="bleu")
    with pytest.raises(RunError, match="same size"):
        curves([(1.0, run(ROWS)), (1.0, run(ROWS))])
