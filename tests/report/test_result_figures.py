"""Figures, and the numbers in the text, of pages of docs/results are those of their tables."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import cats
import duals_judged
import figures_from_tables
import kg_judged
import kg_readings
import pytest
import results

SVG = "{http://www.w3.org/2000/svg}"
TOPICS = sorted(page.stem for page in results.DOCS.glob("*.md") if page.stem != "index")
WITHOUT_FIGURE = {"servers"}
LINES = {"cadec", "machines", "nmt-scale"}  # not dots
TABLE = re.compile(r"<!-- begin (.+?) -->.*?<!-- end \1 -->|^\|[^\n]*$", re.S | re.M)
NUMBER = r"[+-]?\d*\.?\d+"
INTERVAL = re.compile(rf"({NUMBER})\s?%?\s*(?:points )?\[({NUMBER})%?, ({NUMBER})%?\]")
# Of samples and suites whose tables are not on the pages any more.
ELSEWHERE = {
    "kg": {
        ("-4", "-11", "3"),  # wrong tails after the rule for them, less before
        ("90.5", "86", "94"),  # the classifier on starter-graph, things and events
        ("80.0", "73", "86"),
        ("0.810", "0.776", "0.840"),  # and on held-out pairs of MNLI
    },
    "discourse-zh-en": {("0.96", "0.89", "0.98")},  # of the first sample
    "seeds": {("0.4", "0.1", "0.7")},  # of 64 times the text, by its six doublings
}


def pages(topic: str) -> list[Path]:
    return [results.DOCS / f"{topic}.md", *sorted((results.DOCS / topic).glob("*.md"))]


def text_of(topic: str) -> str:
    return "\n".join(page.read_text("utf-8") for page in pages(topic)).replace("−", "-")


def tables_of(text: str) -> str:
    return "\n".join(found[0] for found in TABLE.finditer(text))


def stated(text: str) -> set[tuple[str, ...]]:
    """Return the intervals in what is not a table."""
    found = INTERVAL.findall(TABLE.sub("", text))
    return {tuple(number.removeprefix("+") for number in numbers) for numbers in found}


def unfounded(numbers: set[tuple[str, ...]], text: str) -> set[tuple[str, ...]]:
    """Return the numbers that no table has, as they are or in per cent."""
    known = [[float(n) for n in found] for found in INTERVAL.findall(tables_of(text))]
    shown = {
        tuple(f"{scale * number:.{len(said.partition('.')[2])}f}"
              for number, said in zip(numbers_, one, strict=True))
        for one in numbers for numbers_ in known for scale in (1, 100, 0.01)
    }  # fmt: skip
    return numbers - shown


@pytest.mark.parametrize("name", figures_from_tables.FIGURES)
def test_a_figure_is_that_of_todays_table(name):
    committed = (results.DOCS / "figures" / f"{name}.svg").read_text("utf-8")
    assert committed == figures_from_tables.FIGURES[name]()
    topic = max((topic for topic in TOPICS if name.startswith(topic)), key=len)
    assert f"figures/{name}.svg)" in text_of(topic)
    drawn = ET.fromstring(committed)
    tips = [tip.text or "" for tip in drawn.iterfind(f"{SVG}g/{SVG}title")]
    numbers = {float(n) for n in re.findall(NUMBER, tables_of(text_of(topic)))}
    for tip in tips:
        shown = re.findall(NUMBER, tip.rpartition(": ")[2])
        assert {float(n) for n in shown} <= numbers, tip
    assert len(tips) > 2 or name in LINES


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_opens_with_its_finding_and_is_short(topic):
    whole = (results.DOCS / f"{topic}.md").read_text("utf-8")
    opening, figure, _ = whole.partition("\n![")
    assert bool(figure) != (topic in WITHOUT_FIGURE)
    if figure:
        said = [line for line in opening.splitlines()[1:] if line]
        assert len(said) <= 14, "ten lines, of which some are wrapped"
    for page in pages(topic):
        prose = re.sub(r"^    .*$", "", TABLE.sub("", page.read_text("utf-8")), flags=re.M)
        assert len(prose.split()) <= 2000, page


@pytest.mark.parametrize("topic", TOPICS)
def test_intervals_in_the_text_are_those_of_the_tables(topic):
    text = text_of(topic)
    assert unfounded(stated(text), text) == ELSEWHERE.get(topic, set())


def test_the_findings_are_those_of_the_pages_behind():
    whole = text_of("index")
    sections = [part for part in whole.split("\n## ") if "](figures/" in part]
    assert len(sections) == 5
    for section in sections:
        links = set(re.findall(r"\]\(([\w-]+)[/\w-]*\.md", section))
        behind = "\n".join(text_of(name) for name in sorted(links))
        assert len(stated(section)) >= 4
        assert unfounded(stated(section), behind) == set(), section[:20]


def test_the_findings_page_lists_every_page():
    listed = set(re.findall(r"\]\(([\w-]+\.md)", text_of("index").partition("## All results")[2]))
    assert listed == {page.name for page in results.DOCS.glob("*.md")} - {"index.md"}


def test_cheap_tables_are_those_of_the_data():
    rows = kg_judged._rows(kg_judged.READ)
    made = {
        ("kg", "read"): "\n".join(kg_readings.readings(rows)),
        ("kg", "judged"): "\n".join(kg_readings.judged(kg_judged._rows(kg_judged.JUDGED))),
        ("duals", "finding"): duals_judged.finding(),
        ("duals", "accepted-6"): duals_judged.accepted(6),
        ("duals", "edits-6"): duals_judged.blind_edits(),
        ("duals", "faults-6"): duals_judged.faults(),
        ("cats", "clear-conjunctions"): cats.clear_conjunctions(),
        ("cats", "conjunctions"): cats.conjunctions(),
    }
    if any(row["sample"] == kg_readings.NOW for row in rows):
        made["kg", "read-relations"] = "\n".join(kg_readings.by_relation(rows))
        tails = kg_readings.by_triple(rows, kg_readings.wrong_tails())
        made["kg", "read-tails"] = "\n".join(tails)
    for (topic, key), table in made.items():
        assert results.shown(topic, key) == table


def test_accuracy_of_language_models_is_that_of_the_tables_below(mirror):
    made = results.summary(results.LM_SUITES, results.LANGUAGE_MODELS)
    assert results.shown("lm", "summary") == made


def test_a_number_that_no_table_has_is_found():
    table = "| a | 0.597 [0.569, 0.624] |\n"
    for text in ("0.597 [0.569, 0.624]", "59.7 % [56.9, 62.4]", "+0.597\n[0.569, 0.624]"):
        assert unfounded(stated(text), table) == set()
    assert unfounded(stated("0.598 [0.569, 0.624]"), table) == {("0.598", "0.569", "0.624")}
