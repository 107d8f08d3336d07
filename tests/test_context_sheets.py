"""Blind sheets: mixed, reproducible, and read back by the names of their lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from context_sheets import READERS, Asked, lines, read_answers, write_sheet

QUESTIONS = [Asked(f"i{n}", (f"Sentence {n}.",), ("right", "wrong", "odd")) for n in range(300)]


def test_readers_see_other_orders_and_every_option_first_about_as_often():
    sheets = {reader: lines(QUESTIONS, reader, seed=3) for reader in READERS}
    assert sheets["A"] == lines(QUESTIONS, "A", seed=3)
    orders = [[line.asked.item for line in found] for found in sheets.values()]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(q.item for q in QUESTIONS)
    first = Counter(line.options[0] for line in sheets["A"])
    assert min(first.values()) > 70
    for line in sheets["A"]:
        assert sorted(line.options) == sorted(line.asked.options)
        assert line.chosen(str(line.options.index("right") + 1)) == "right"
        assert line.chosen("?") is None


def test_answers_are_read_back(tmp_path: Path):
    found = lines(QUESTIONS[:3], "A", seed=1)
    write_sheet(tmp_path / "sheet.tsv", ["english", "1", "2", "3"], found)
    rows = (tmp_path / "sheet.tsv").read_text("utf-8").splitlines()
    assert rows[0] == "line\tenglish\t1\t2\t3"
    assert rows[1].split("\t") == [found[0].name, *found[0].asked.texts, *found[0].options]
    out = tmp_path / "out.tsv"
    out.write_text("".join(f"{line.name}\t1\t2\t\n" for line in found), "utf-8")
    assert read_answers(out, found) == {line.name: ["1", "2", ""] for line in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A001\t1\nA001\t2\n", "A001 is answered twice"),
        ("A001\t1\n", "not those of the sheet"),
        ("A001\t1\nA002\t1\nA003\t1\nB001\t1\n", "not those of the sheet"),
    ],
)
def test_other_answers_are_refused(tmp_path: Path, text: str, message: str):
    found = lines(QUESTIONS[:3], "A", seed=1)
    (tmp_path / "out.tsv").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_answers(tmp_path / "out.tsv", found)
    with pytest.raises(ValueError, match="none of 3 options"):
        found[0].chosen("4")
