"""docs/reference/suite-format.md: its examples are items, and it is right about rows and items."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import boxpen
from boxpen.catalog import entries
from boxpen.exchange import export_suite

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "reference" / "suite-format.md").read_text("utf-8")


def test_its_examples_are_a_suite(tmp_path: Path) -> None:
    lines = "".join(re.findall(r"```json\n(.+?)```", PAGE, re.S))
    (tmp_path / "kitchen.jsonl").write_text(lines, "utf-8")
    suite = boxpen.load_suite(tmp_path / "kitchen.jsonl")
    assert suite.name == "kitchen"
    assert [item.id for item in suite] == ["1", "2", "3a", "4", "5"]


def test_a_file_has_a_row_more_than_items_and_a_data_set_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    items, cache = entries()["starter"].items, str(tmp_path / "cache")
    for page in (PAGE, (DOCS / "how-to" / "exchange" / "hub.md").read_text("utf-8")):
        assert re.search(rf"\b{items + 1} rows,? (?:of|for) {items}\sitems", page)
    boxpen.write_suite(boxpen.load_suite("starter"), tmp_path / "starter.jsonl")
    found = datasets.load_dataset(
        "json", data_files=str(tmp_path / "starter.jsonl"), split="train", cache_dir=cache
    )
    assert len(found) == items + 1
    export_suite(boxpen.load_suite("starter"), "hf", tmp_path / "starter-hf")
    found = datasets.load_dataset(str(tmp_path / "starter-hf"), split="test", cache_dir=cache)
    assert len(found) == items
