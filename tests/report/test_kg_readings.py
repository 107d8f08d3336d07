"""What readers say of tests from a graph: gathered by id, counted by hand."""

import csv

import kg_judged
import pytest

from boxpen import load_suite
from boxpen.catalog.files import write_suite

KEYS = {
    "tests-1": [
        ("1", "isa", "qa", "isa-1-qa-1"),
        ("2", "isa", "nli", "isa-1-nli-1"),
        ("3", "hasa", "nli, wrong tails", "hasa-1-nli-1-wrong"),
    ],
    "tests-2": [("1", "hasa", "pairs", "hasa-9-pairs-1")],
    "tails": [
        ("1", "isa", "wrong answers", "graph-isa-1-pairs-1"),
        ("2", "isa", kg_judged.CONTROL, "graph-isa-1-pairs-2-right"),
    ],
    "tails-2": [("1", "isa", "wrong answers", "graph-isa-1-pairs-1")],
    "tails-3": [("1", "hasa", "wrong answers", "graph-hasa-1-pairs-1")],
    "tails-4": [("1", "xEffect", "wrong answers", "graph-xEffect-01-pairs-1")],
}
SAID = {
    "tests-1.A": ["1 y y w", "2 y y -", "3 y n a"],
    "tests-1.B": ["3 y y w", "2 n y -", "1 Y y w it is fine"],
    "tests-2.A": ["1 n n r"],
    "tests-2.B": ["1 n n r"],
    "tails.A": ["1 w", "2 r"],
    "tails.B": ["2 r", "1 w"],
    "tails-2.A": ["1 w"],
    "tails-2.B": ["1 r"],
    "tails-3.A": ["1 a"],
    "tails-3.B": ["1 w"],
    "tails-4.A": ["1 w"],
    "tails-4.B": ["1 w"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "keys").mkdir()
    for name, rows in KEYS.items():
        kg_judged._write(tmp_path / "keys" / f"{name}.tsv", rows)
    for name, lines in SAID.items():
        kg_judged._write(tmp_path / f"{name}.tsv", [line.split(" ", 4) for line in lines])
    monkeypatch.setattr(kg_judged, "READ", tmp_path / "read.csv")
    return tmp_path


def test_verdicts_are_joined_by_row_and_counted(folder):
    kg_judged.gather(folder)
    with (folder / "read.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    tails = 2 * 2 + 2 + 2 + 2
    assert len(rows) == 3 * 3 * 2 - 2 + 3 * 2 + tails  # a right tail has no wrong one to judge
    readers = {row["reader"] for row in rows if row["sample"] == "last exchange"}
    assert readers == {"reading 1", "reading 2"}  # one reader, twice
    by_relation = kg_judged.read_shares(rows, "relation", ("isa", "hasa", "xEffect"))
    isa, hasa, effect, everything = (
        [cell.strip() for cell in x.split("|")[2:-1]] for x in by_relation[2:]
    )
    assert [cell.split(" ")[0] for cell in isa] == [
        "75%",
        "100%",
        "100%",
        "",
        "",
        "",
        "100%",
        "50%",
        "",
        "",
    ]
    assert [cell.split(" ")[0] for cell in hasa] == [
        "100%",
        "50%",
        "50%",
        "0%",
        "0%",
        "0%",
        "",
        "",
        "50%",
        "",
    ]
    assert [cell.split(" ")[0] for cell in effect] == [""] * 9 + ["100%"]
    assert everything[0].endswith("of 3")
    agreement = {tuple(x.split(" | ")[:2]): x for x in kg_judged.read_agreement(rows)[2:]}
    assert "| 3 | 66.7% |" in agreement["| reviewed", "english"]
    assert "| 1 | 100.0% |" in agreement[f"| {kg_judged.CONTROL}", "tail"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1 y y w", "2 y y -"], "lacks or adds 1 rows: 3"),
        (["1 y y w", "2 y y -", "3 y maybe w"], "row 3: answer is 'maybe'"),
        (["1 y y w", "2 y y -", "3 y"], "row 3: english"),
    ],
)
def test_a_sheet_that_is_not_filled_in_is_refused(folder, lines, message):
    kg_judged._write(folder / "tests-1.A.tsv", [line.split(" ") for line in lines])
    with pytest.raises(SystemExit, match=message):
        kg_judged.gather(folder)
    assert not (folder / "read.csv").exists()


def fill(folder, reader, rows):
    lines = ["row,text,english,answer,tail,comment", *(f"{row}," for row in rows)]
    (folder / f"reader-{reader}.csv").write_text("\n".join(lines), "utf-8")


def test_a_later_reading_is_added_and_compared(folder):
    kg_judged.gather(folder)
    first = kg_judged._rows(folder / "read.csv")
    later = folder / "later"
    (later / "keys").mkdir(parents=True)
    kg_judged._write(later / "keys" / "reader.tsv", KEYS["tests-1"])
    fill(later, 1, ['1,"goal: P, H",y,y,w', '2,"P, H",y,y,-', '3,"P, H",n,y,w'])
    with pytest.raises(SystemExit, match="1 readers of reader, not two"):
        kg_judged.gather(later)
    fill(later, 2, ['3,"P, H",n,y,w', '2,"P, H",y,n,-', '1,"goal: P, H",y,y,a'])
    kg_judged.gather(later)
    kg_judged.gather(later)  # a second time, nothing is counted twice
    rows = kg_judged._rows(folder / "read.csv")
    assert [row for row in rows if row["sample"] != "with rules"] == first
    table = {line.split(" | ")[0]: line.split(" | ")[1:] for line in kg_judged.read_again(rows)[2:]}
    shown = [cell.split(" ")[0] for cell in table["| **all**"]]
    assert shown == ["83%", "67%", "-17", "83%", "83%", "+0", "75%", "75%", "+0"]
    assert table["| nli, wrong tails"][7].endswith("of 1")
    agreement = {tuple(x.split(" | ")[:2]): x for x in kg_judged.read_agreement(rows)[2:]}
    assert "| 3 | 66.7% |" in agreement["| with rules", "answer"]
    fill(later, 2, ['3,"P, H",n,y,-', '2,"P, H",y,n,-', '1,"goal: P, H",y,y,a'])
    with pytest.raises(SystemExit, match="row 3: tail is '-'"):
        kg_judged.gather(later)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A build of the tests of starter-graph, all of them with review and without."""
    suite = load_suite("starter-graph")
    for folder in ("files", "automatic"):
        (tmp_path / "kg" / folder).mkdir(parents=True)
        write_suite(suite, tmp_path / "kg" / folder / "kg.jsonl")
    monkeypatch.setattr(kg_judged, "BUILD", tmp_path / "kg")
    return tmp_path / "kg"


def test_sheets_are_blind_and_their_keys_name_every_row(build, tmp_path):
    kg_judged.sheets(tmp_path / "one")
    kg_judged.sheets(tmp_path / "two")
    sizes = {}
    for name in kg_judged.ASKED.keys() - {"reader"}:
        rows = kg_judged._read(tmp_path / "one" / f"{name}.tsv")
        assert rows == kg_judged._read(tmp_path / "two" / f"{name}.tsv")
        key = kg_judged._read(tmp_path / "one" / "keys" / f"{name}.tsv")
        assert [row[0] for row in rows] == [row[0] for row in key]
        assert {len(row) for row in rows} == {2}
        assert len({item for *_, item in key}) == len(key)
        sizes[name] = len(rows)
    wrong = {"tails": 12 * (30 * 5 + 10), "tails-2": 12 * 5, "tails-3": 16 * 5, "tails-4": 30 * 5}
    assert sizes == {"tests-1": 12 * 20, "tests-2": 12 * 10, **wrong}


def test_sheets_of_another_reading_have_no_test_that_was_read(build, tmp_path, monkeypatch):
    read = [i for i in load_suite("starter-graph") if i.tags["relation"] == "isa"][::2]
    rows = [("reviewed", "isa", "qa", i.id, "english", "A", "y") for i in read]
    head = ("sample", "relation", "task", "item", "question", "reader", "verdict")
    monkeypatch.setattr(kg_judged, "READ", tmp_path / "read.csv")
    kg_judged._write_csv(tmp_path / "read.csv", head, rows)
    kg_judged.again(tmp_path / "out", build, build)
    key = {row[0]: row[-1] for row in kg_judged._read(tmp_path / "out" / "keys" / "reader.tsv")}
    assert len(set(key.values())) == len(key) == 12 * 20
    assert not set(key.values()) & {i.id for i in read}
    one, two = ([(r["row"], r["text"]) for r in kg_judged._rows(p)]
                for p in sorted((tmp_path / "out").glob("reader-?.csv")))  # fmt: skip
    assert one != two
    assert sorted(one) == sorted(two)
    assert {number for number, _ in one} == set(key)
