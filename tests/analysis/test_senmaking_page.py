"""The figure, the counts and the findings of docs/results/senmaking.md are those of the data."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boxpen import Choice, Suite, load_suite
from boxpen.analysis.suites.differences import differences
from boxpen.catalog import write_suite
from boxpen.catalog.lint.items import lint
from boxpen.cli.app import app
from boxpen.errors import SuiteError
from boxpen.report.html.word_chart import frequent_words, words_svg

senmaking = pytest.importorskip("senmaking")
RESULTS = Path(__file__).parents[2] / "docs" / "results"
SVG = "{http://www.w3.org/2000/svg}"


def block(key: str) -> str:
    text = (RESULTS / "senmaking.md").read_text("utf-8")
    return text.partition(f"<!-- begin {key} -->\n")[2].partition(f"\n<!-- end {key} -->")[0]


def test_the_page_is_what_the_script_writes(mirror):
    assert (RESULTS / senmaking.FIGURE).read_text("utf-8") == senmaking.figure()
    assert block("figure-2") == senmaking.figure_facts()
    assert block("negations") == senmaking.negations()
    found = differences(load_suite("senmaking.sen-making"))
    right, wrong = (
        sum(side.different.get(word, 0) for word in senmaking.COUNTED)
        for side in (found.right, found.wrong)
    )
    assert (right, wrong) == (54, 58)
    assert f"(ours) | {right} | {wrong} |" in block("negations")


@pytest.mark.parametrize("name", ["senmaking", "comve", "starter"])
def test_the_findings_of_the_page(name, mirror):
    found = [one for one in lint(load_suite(name, validate=False)) if one.rule == "reason-keywords"]
    row = next(line for line in block("key-words").splitlines() if f"`{name}`" in line)
    assert f"| {len(found):,} (" in row


def pair(n: int, right: str, wrong: str) -> Choice:
    return Choice(id=f"p{n}", candidates=(right, wrong), gold=0)


PAIRS = Suite(
    "few",
    (
        pair(0, "the cat drinks milk", "the cat drinks sand"),
        pair(1, "a dog drinks milk", "a dog drinks sand"),
        pair(2, "she eats <soup> & bread", "she eats sand & the milk"),
    ),
)


def test_bars_are_as_long_as_words_are_frequent(tmp_path):
    found = differences(PAIRS)
    words = frequent_words(found, 1)
    assert words == {"milk": (2, 1), "sand": (0, 3)}
    drawn = ET.fromstring(words_svg(found, 0, "a <title> & more"))
    assert drawn.findtext(f"{SVG}title") == "a <title> & more"
    bars = [rect for rect in drawn.iter(f"{SVG}rect") if "bar" in rect.get("class", "")]
    counted = {bar.findtext(f"{SVG}title"): float(bar.get("width", "nan")) for bar in bars[:4]}
    assert counted["milk: 2"] == pytest.approx(2 * counted["milk: 1"], abs=0.2)
    assert counted["sand: 3"] == pytest.approx(3 * counted["milk: 1"], abs=0.2)
    assert counted["sand: 0"] == 0
    # A slow twin: words of one side, pair by pair.
    right: Counter[str] = Counter()
    for item in PAIRS:
        one, other = (text.replace("<", "").replace(">", "").split() for text in item.candidates)
        right += Counter(w for w in one if w.isalpha()) - Counter(other)
    assert {w: both[0] for w, both in frequent_words(found, 0).items() if both[0]} == dict(right)
    with pytest.raises(SuiteError, match="no different word occurs more than 9 times"):
        words_svg(found, 9, "none")


def test_the_command(tmp_path):
    write_suite(PAIRS, tmp_path / "few.jsonl")
    words = ["suite", "stats", str(tmp_path / "few.jsonl")]
    chart = tmp_path / "words.svg"
    done = CliRunner().invoke(app, [*words, "--words", "--over", "1", "--svg", str(chart)])
    assert done.exit_code == 0, done.output
    assert len(list(ET.parse(chart).iter(f"{SVG}rect"))) == 2 + 2 * 2
    drawn = chart.read_bytes()
    for given, message in (
        (["--svg", str(chart)], "--svg requires --words"),
        (["--words", "--over", "1"], "--over requires --svg"),
        (["--words", "--svg", str(chart)], "already exists; give another name or --overwrite"),
        (["--words", "--svg", str(tmp_path / "few.jsonl")], "--svg writes an .svg file"),
    ):
        done = CliRunner().invoke(app, [*words, *given])
        assert done.exit_code == 2
        assert message in done.stderr
    assert chart.read_bytes() == drawn
    again = [*words, "--words", "--over", "1", "--svg", str(chart), "--overwrite"]
    assert CliRunner().invoke(app, again).exit_code == 0


def reasons(*candidates: str) -> Suite:
    odd = "he put an elephant into the fridge"
    return Suite(
        "why",
        (
            Choice(id="s", candidates=("he put a turkey into the fridge", odd), gold=0),
            Choice(id="e", candidates=candidates, gold=0, context=odd),
        ),
    )


def test_confusing_reasons_have_key_words():
    right = "it is too big"  # the right reason may do without
    good = reasons(right, "Elephants eat a lot.", "the FRIDGE’s door is closed")
    assert not [one for one in lint(good) if one.rule == "reason-keywords"]
    bad = reasons(right, "he is very tall", "the fridges are full")
    (found,) = [one for one in lint(bad) if one.rule == "reason-keywords"]
    assert (found.item, found.message) == (
        "e",
        "has a wrong reason 1 without a key word of its statement: elephant, fridge",
    )
    alone = bad.take(bad.items[1:])  # a question and its answers: no statement is explained
    assert not [one for one in lint(alone) if one.rule == "reason-keywords"]
