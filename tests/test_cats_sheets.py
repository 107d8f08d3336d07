"""Sheets of CATs: blind, and read back by their keys."""

from __future__ import annotations

import pytest
from cats import answers, write_sheets

from boxpen import Choice

ITEMS = [
    Choice(id=f"i{n}", candidates=(f"Good  {n}.", f"Bad {n}.")[:: 1 - 2 * (n % 2)], gold=n % 2)
    for n in range(50)
]


def test_sheets_are_blind_and_keys_find_the_right_side(tmp_path):
    folder = tmp_path / "steps"
    write_sheets("x", ITEMS, 2, folder)
    seen, first = [], 0
    for part, reader in ((part, reader) for part in (1, 2) for reader in "AB"):
        head, *rows = (folder / f"x-{part}.tsv").read_text("utf-8").splitlines()
        assert head == "row\tsentence 1\tsentence 2"
        lines = []
        for row in rows:
            number, one, two = row.split("\t")
            assert {one[:4], two[:4]} == {"Good", "Bad "}
            side = 1 if one.startswith("Good") else 2
            first += side == 1
            # Reader B takes every row for undecided, and a step more.
            lines.append(f"{number}\t{side}\t1" if reader == "A" else f"{number}\t?\t2")
        seen += [row.split("\t")[1].split()[1] for row in rows] if reader == "A" else []
        (folder / f"answers-{reader}-x-{part}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    assert sorted(seen) == sorted(f"{n}." for n in range(50))
    assert seen != [f"{n}." for n in range(50)]
    assert 20 < first < 80  # of 100 readings
    assert answers(folder) == {item.id: [["right", "1"], ["?", "2"]] for item in ITEMS}


def test_a_missing_answer_is_named(tmp_path):
    write_sheets("x", ITEMS, 1, tmp_path / "s")
    for reader in "AB":
        (tmp_path / "s" / f"answers-{reader}-x.tsv").write_text("1\t1\n", "utf-8")
    with pytest.raises(SystemExit, match="x: row 2 has no answer of both readers"):
        answers(tmp_path / "s")
