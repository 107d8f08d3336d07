"""Scripts find the page that shows a table."""

from __future__ import annotations

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
