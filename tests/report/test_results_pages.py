"""Scripts find the page that shows a table; figures and texts have the numbers of the tables."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import commonmt
import discourse_judged
import discourse_mined
import discourse_pairs
import figures_from_tables
import pytest
import results


@pytest.fixture
def docs(tmp_path, monkeypatch):
    place = tmp_path / "docs" / "results"
    (place / "kg").mkdir(parents=True)
    monkeypatch.setattr(results, "DOCS", place)
    (place / "kg.md").write_text("Found.\n<!-- begin one -->\nold\n<!-- end one -->\nText.\n")
    (place / "kg" / "tables.md").write_text(
        "<!-- begin one more -->\n<!-- end one more -->\n<!-- begin two -->\n|\n<!-- end two -->"
    )
    return place


@pytest.mark.parametrize("topic", ["kg", "kg.md"])
def test_a_table_is_written_where_its_comments_are(topic, docs):
    results.write(topic, "one", "| 1 |\n| 2 |")
    results.write(topic, "two", "| 3 |")
    assert (docs / "kg.md").read_text() == (
        "Found.\n<!-- begin one -->\n| 1 |\n| 2 |\n<!-- end one -->\nText.\n"
    )
    assert results.shown(topic, "one") == "| 1 |\n| 2 |"
    assert results.shown(topic, "two") == "| 3 |"
    assert results.shown(topic, "one more") == ""


def test_a_table_has_one_place(docs):
    with pytest.raises(SystemExit, match=r"table 'three' of kg: .* found on none"):
        results.write("kg", "three", "")
    (docs / "kg" / "more.md").write_text("<!-- begin one --><!-- end one -->")
    with pytest.raises(SystemExit, match=r"found on docs/results/kg\.md, docs/results/kg/more\.md"):
        results.write("kg", "one", "")


FIGURES = [*figures_from_tables.FIGURES]
TOPICS = {
    topic: [results.DOCS / f"{topic}.md", *sorted((results.DOCS / topic).glob("*.md"))]
    for topic in (
        "cadec", "commonmt", "discourse", "discourse-zh-en", "mt", "nmt", "readings",
        "said-instead", "seeds",
    )
}  # fmt: skip
PAGES = [page for pages in TOPICS.values() for page in pages]
BLOCK = re.compile(r"<!-- begin (.+?) -->.*?<!-- end \1 -->", re.S)
TRIPLE = re.compile(r"([+-]?[\d.]+)\s(?:points\s)?\[([+-]?[\d.]+), ([+-]?[\d.]+)\]")
ELSEWHERE = {
    "discourse-zh-en": {("0.96", "0.89", "0.98")},  # of the first sample
    "seeds": {("0.4", "0.1", "0.7")},  # of 64 times the text, by its six doublings
    "discourse": {  # κ of right, wrong and cannot tell, rounded
        ("0.95", "0.87", "0.99"),
        ("0.81", "0.74", "0.87"),
        ("0.63", "0.53", "0.72"),
    },
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_the_tables_of_today(name):
    drawn = (results.DOCS / "figures" / f"{name}.svg").read_text("utf-8")
    assert drawn == figures_from_tables.FIGURES[name]()
    ET.fromstring(drawn)
    assert any(f"/{name}.svg)" in page.read_text("utf-8") for page in PAGES)


def test_a_figure_shows_the_numbers_of_its_table():
    text = (results.DOCS / "figures" / "mt.svg").read_text("utf-8")
    assert "all, OPUS-MT, recipe sound: 0.597 [0.569, 0.624]" in text
    assert "| 0.597 [0.569, 0.624] | 5 |" in results.shown("mt", "commonmt")
    text = (results.DOCS / "figures" / "discourse.svg").read_text("utf-8")
    assert "ellipsis, concat: 54.5 [49.6, 59.3]" in text
    with pytest.raises(SystemExit, match="expected a number in a table, found '–'"):
        figures_from_tables.number("–")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_opens_with_what_was_found(page):
    text = page.read_text("utf-8")
    prose = BLOCK.sub("", text)
    lines = [line for line in prose.splitlines() if not line.startswith(("|", "    "))]
    assert len(" ".join(lines).split()) <= 2000
    if page.parent == results.DOCS:
        opening = text.partition("\n![")[0].splitlines()
        assert len(opening) <= 17, "a title, ten lines of findings (wrapped), then the figure"


@pytest.mark.parametrize("topic", TOPICS)
def test_intervals_in_the_text_are_those_of_the_tables(topic):
    texts = [page.read_text("utf-8").replace("−", "-") for page in TOPICS[topic]]
    tables = {
        shown
        for text in texts
        for block in BLOCK.finditer(text)
        for found in TRIPLE.findall(block[0])
        for shown in (plain(found, 1), plain(found, 100))
    }
    stated = {plain(f, 1) for text in texts for f in TRIPLE.findall(BLOCK.sub("", text))}
    assert stated - tables == ELSEWHERE.get(topic, set())


def plain(numbers, scale):
    """Return numbers without a plus sign, as they are or in per cent."""
    if scale == 1:
        return tuple(number.removeprefix("+") for number in numbers)
    return tuple(f"{scale * float(number):.1f}" for number in numbers)


def test_cheap_tables_are_those_of_the_journals():
    assert results.shown("discourse", "mined") == discourse_mined.table()
    assert results.shown("discourse", "contrasts") == discourse_judged.contrasts()
    assert results.shown("discourse-zh-en", "read") == discourse_pairs.table(26)
    for cells in (line.split(" | ") for line in discourse_mined.repaired().splitlines()[2:]):
        name, read, sound = cells[0].removeprefix("| "), *cells[1:3]
        assert f"{name} {sound} of {read}" in (
            results.page_of("discourse", "mined").read_text("utf-8")
        )
    trained = figures_from_tables.tables("said-instead", "trainings")[0]
    page = (results.DOCS / "cadec.md").read_text("utf-8")
    for name in ("sentence", "cadec", "sentence-more"):
        assert re.search(
            rf"`{name}`.* \| {trained[name]['steps']} \| {trained[name]['validation loss']} \|",
            page,
        )


def test_counts_of_commonmt_are_those_of_the_journals(mirror):
    assert results.shown("commonmt", "ambiguity") == commonmt.ambiguity()
    assert results.shown("commonmt", "blocks") == commonmt.checked_blocks()


@pytest.mark.heavy
@pytest.mark.parametrize("key", ["agreement", "table-2", "decidable", "tokens"])
def test_slow_counts_of_commonmt_are_those_of_the_journals(key, mirror):
    made = {
        "agreement": commonmt.agreement,
        "table-2": commonmt.table_2,
        "decidable": commonmt.decidable,
        "tokens": commonmt.unique_tokens,
    }
    assert results.shown("commonmt", key) == made[key]()
