"""Scripts find the page that shows a table; cheap tables are those of the journals."""

from __future__ import annotations

import re

import commonmt
import discourse_judged
import discourse_mined
import discourse_pairs
import page_tables
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


PAGES = sorted(results.DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_table_is_empty(page):
    text = page.read_text("utf-8")
    begun = re.findall(r"<!-- begin (.+?) -->", text)
    found = dict(re.findall(r"<!-- begin (.+?) -->(.*?)<!-- end \1 -->", text, re.S))
    assert list(found) == begun, "each begins once and ends"
    assert not [key for key, table in found.items() if not table.strip()]


@pytest.mark.parametrize("end", ["", "| all | blocks | 7 | |", "| all | blocks | 7 | |\n\n- `sig`"])
def test_rows_of_a_paper_come_after_ours(end):
    ours = "| system | metric | all | ties |\n|---|---|---|---|\n| us | accuracy | 0.6 | 1 |"
    made = results.beside_paper(f"{ours}\n{end}", {("them", "accuracy"): ("0.7",)})
    assert made == f"{ours}\n| them | accuracy | 0.7 | – |\n{end}".removesuffix("\n")


def test_a_dash_is_no_number():
    with pytest.raises(SystemExit, match="expected a number in a table, found '–'"):
        page_tables.number("–")


def test_cheap_tables_are_those_of_the_journals():
    assert results.shown("discourse", "mined") == discourse_mined.table()
    assert results.shown("discourse", "contrasts") == discourse_judged.contrasts()
    assert results.shown("discourse-zh-en", "read") == discourse_pairs.table(26)
    for cells in (line.split(" | ") for line in discourse_mined.repaired().splitlines()[2:]):
        name, read, sound = cells[0].removeprefix("| "), *cells[1:3]
        assert f"{name} {sound} of {read}" in (
            results.page_of("discourse", "mined").read_text("utf-8")
        )
    trained = page_tables.tables("said-instead", "trainings")[0]
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
