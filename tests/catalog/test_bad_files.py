"""Whatever stands in a file, the answer is a suite or one sentence that says what is wrong."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_strategies import seldom, unhurried

from boxpen.catalog import read_suite, write_suite
from boxpen.errors import SuiteError
from boxpen.items import Choice, Suite

PAIR = Suite("pair", (Choice(id="1", candidates=("yes", "no"), gold=0),))


def refused(path: Path, content: bytes | str, **options: object) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SuiteError) as caught:
        read_suite(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message.replace(str(path), path.name)


GOOD = '{"id": "1", "candidates": ["a", "b"], "gold": 0}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.jsonl has no items, expected at least one"),
        (GOOD + "{", "x.jsonl, line 2 is not JSON (Expecting property name"),
        (GOOD + "[1]", "x.jsonl, line 2 is '[1]', expected a JSON object"),
        (GOOD + GOOD, "x.jsonl, line 2 has the id '1' a second time (see x.jsonl, line 1)"),
        (GOOD.replace("0}", "2}"), "x.jsonl, line 1: item '1' has label 2, expected 0 to 1"),
        (GOOD.replace("0}", '"0"}'), "line 1: key 'gold' is '0', expected a whole number"),
        (GOOD.replace('"gold": 0', '"glod": 0'), "line 1: unknown key 'glod'"),
        (GOOD.replace('"a"', '" "'), "line 1: item '1' has an empty candidate 0"),
        ('{"kind": "suite", "titel": "x"}', "line 1 has the unknown key 'titel', did you mean"),
        ('{"kind": "suite", "title": 7}', "line 1: key 'title' is '7', expected a string"),
        (GOOD + '{"kind": "suite"}', "line 2 describes a suite, expected an item"),
        ('{"kind": "quiz"}', "line 1: kind 'quiz' is unknown"),
        (GOOD.replace("b", "\\ud800"), "line 1 has half of a surrogate pair"),
        ("[" * 100_000, "line 1 holds JSON that cannot be read"),
        (GOOD.encode() + b"\xff", "x.jsonl, line 2: byte 0xff is not UTF-8, at byte 1 of"),
    ],
)
def test_json_lines(tmp_path, content, message):
    assert message in refused(tmp_path / "x.jsonl", content)


CSV = "kind,id,candidate_0,candidate_1,gold\n"
PLAIN = "good,bad,right\n"
MAP = {"candidates": ["good", "bad"], "gold": "right"}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "x.csv is empty, expected a header line"),
        (CSV, {}, "x.csv has no items"),
        (CSV + "choice,1,a,b\n", {}, "x.csv, line 2 has 4 cell(s), expected 5 (kind, id,"),
        (CSV + "choice,1,a,b,0,z\n", {}, "x.csv, line 2 has 6 cell(s), expected 5"),
        (CSV + "choice,1,a,b,2\n", {}, "line 2: item '1' has label 2, expected 0 to 1"),
        (CSV + "choice,1,a,b,x\n", {}, "line 2: column 'gold' is 'x', expected a whole number"),
        (CSV + "choice,1,a,b,\n", {}, "line 2: key 'gold' is missing"),
        (CSV + '\n\nchoice,1,"a\nb",b,9\n', {}, "x.csv, line 4: item '1' has label 9"),
        (CSV + 'choice,1,"a,b,0\n', {}, "x.csv, line 2 is not a valid row"),
        (CSV.replace("gold", "glod"), {}, "line 1 has the unknown column 'glod', did you mean"),
        (CSV.replace("id", "gold"), {}, "line 1 has the column 'gold' twice"),
        ("kind,x\n", {}, "x.csv has no column 'id'"),
        (
            CSV.encode() + b"\nchoice,1,a,\xe9,0\n",
            {},
            "x.csv, line 3: byte 0xe9 is not UTF-8, at byte 12 of",
        ),
        ("a,b,right\n", {}, "has the columns 'a', 'b', 'right', expected 'correct' and 'wrong', "),
        ("a,b\n", {}, "they are with: boxpen suite import "),
        ("good\n", {}, "'good', but none for the wrong candidates that go with 'good'; say which"),
        ("x_wrong\n", {}, "but none for the right candidates that go with 'x_wrong'"),
        ("premise,x\n", {}, "but none named 'hypothesis', 'label'; say which"),
        ("sent0,sent1\n", {}, "but none named 'label', 'gold' or 'answer' with the number of"),
        (PLAIN, MAP | {"gold": "rigth"}, "has no column 'rigth', did you mean 'right'?"),
        (PLAIN, MAP | {"gold": "zzz"}, "has no column 'zzz', known: good, bad, right."),
        (PLAIN, MAP | {"glod": "right"}, "option 'glod' is unknown, did you mean 'gold'"),
        (PLAIN, MAP | {"block_size": 1}, "block_size is 1, expected 2 or more"),
        (PLAIN, MAP | {"block": "bad", "block_size": 2}, "exclude each other"),
        (PLAIN + "a,b,one\n", MAP, "line 2: column 'right' is 'one', expected the number of"),
        (PLAIN + "a,b,3\n", MAP, "line 2: item '1' has label 3, expected 0 to 1"),
        (PLAIN + "a,b,2\na,b,0\n", MAP, "line 2: column 'right' is '2' with 2 candidates, so it c"),
        (PLAIN + "a,b,1\n", MAP, "its labels may count from 0 or from 1; say which with: boxpen"),
        (
            PLAIN + "a,b,0\n",
            MAP | {"gold_start": 1},
            "is '0', expected 1 to 2; if it counts from 0",
        ),
        (PLAIN + "a,,0\n", MAP, "line 2: item '1' has 1 candidate(s), expected two or more"),
        (PLAIN + f"{'a' * 200_000},b,0\n", MAP, "line 2 is not a valid row (field larger"),
        ("premise,hypothesis,label\na,b,1\n", {}, "line 2: item '1' has label '1', expected ent"),
        ("x_correct,x_incorrect\na,\n", {}, "line 2: item '1' has 1 candidate(s)"),
        (
            "good;bad;note, if any\na;b;c\n",
            {},
            "x.csv has several separators in its header line: commas (1), semicolons (2); put the",
        ),
        ("good;bad\nx\n", {}, "x.csv, line 2 has 1 cell(s), expected 2 (good, bad)"),
        ('good;bad\n"x;y\n', {}, "line 2 is not a valid row"),
    ],
)
def test_csv(tmp_path, content, options, message):
    assert message in refused(tmp_path / "x.csv", content, **options)


def test_a_suite_takes_no_column_options(tmp_path):
    message = refused(tmp_path / "x.jsonl", GOOD, source="a")
    assert "x.jsonl is already a suite, so the option 'source' does not apply" in message


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('{"good": "a", "bad": "b"}\n{"good": "a"}\n', {}, "line 2: item '2' has 1 candidate(s)"),
        (
            '{"good": ["a"], "bad": "b"}\n',
            {},
            "line 1: column 'good' is '[\"a\"]', expected a text",
        ),
        ('{"good": "a", "bad": []}\n', {}, "line 1: item '1' has 1 candidate(s)"),
        ('{"good": "a", "bad": ["b", null]}\n', {}, "line 1: column 'bad' is '[\"b\", null]', exp"),
        ('{"a": "x"}\n', {"correct": "a", "wrong": "b"}, "x.jsonl has no column 'b'"),
        ('{"a": "x"}\n', {"language": "en"}, "--out x-suite.jsonl --correct COLUMN"),
        ('{"a": "x", "id": "1"}\n', {}, "x.jsonl has the columns 'a', 'id', expected 'correct'"),
    ],
)
def test_json_lines_of_others(tmp_path, content, options, message):
    assert message in refused(tmp_path / "x.jsonl", content, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"good": "a", "bad": "b"}', "is not an array, expected an array of objects"),
        ('[{"good": "a", "bad": "b"}, 3]', "object 2 is '3', expected a JSON object"),
        ('{"good": "a"}\n{"good": "b"}', "one object per line is a .jsonl file"),
        ('[{"good": "\\ud800", "bad": "b"}]', "object 1 has half of a surrogate pair"),
        ("[" * 100_000, "JSON"),
        ("[]", "has no items, expected at least one"),
    ],
)
def test_json_arrays(tmp_path, content, message):
    path = tmp_path / "pairs.json"
    path.write_text(content, "utf-8")
    with pytest.raises(SuiteError, match=re.escape(message)):
        read_suite(path)


def test_a_json_array_is_the_suite_of_its_lines(tmp_path):
    rows = [{"good": "a", "bad": "b"}, {"good": "c", "bad": "d"}]
    (tmp_path / "pairs.json").write_text(json.dumps(rows, indent=2), "utf-8")
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert read_suite(tmp_path / "pairs.json").items == read_suite(tmp_path / "pairs.jsonl").items
    bad = tmp_path / "bytes.json"
    bad.write_bytes(b'[{"good": "\xff"}]')
    with pytest.raises(SuiteError, match="is not UTF-8"):
        read_suite(bad)


def test_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    assert "is not a Parquet file" in refused(path, b"")
    assert "is not a Parquet file" in refused(path, b"PAR1 and no more")
    assert "is a broken Parquet file" in refused(path, b"PAR1" + bytes(40) + b"PAR1")
    write_suite(PAIR, path)
    whole = path.read_bytes()
    assert "is not a Parquet file" in refused(path, whole[:-20])
    row = {"kind": "choice", "id": "1", "candidates": ["a", "b"], "gold": 2, "tags": "{}"}
    for change, message in (
        ({}, "x.parquet, row 1: item '1' has label 2"),
        ({"gold": "0"}, "row 1: key 'gold' is '0', expected a whole number"),
        ({"tags": "{"}, "row 1: column 'tags' is '{', expected a JSON object"),
        ({"id": None}, "row 1: key 'id' is missing"),
    ):
        pl.DataFrame([row | change]).write_parquet(path)
        assert message in refused(path, path.read_bytes())


def test_missing_file_and_folder(tmp_path):
    for ending in (".jsonl", ".csv", ".parquet"):
        with pytest.raises(SuiteError, match=r"x\..* cannot be read: No such file"):
            read_suite(tmp_path / f"x{ending}")
        (tmp_path / f"folder{ending}").mkdir()
        with pytest.raises(SuiteError, match=r"folder\..* cannot be read: Is a directory"):
            read_suite(tmp_path / f"folder{ending}")


def test_without_validation_bad_items_are_kept(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(GOOD.replace("0}", "7}") * 2)
    assert [item.gold for item in read_suite(path, validate=False)] == [7, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for validate in (True, False):
        try:
            _ = read_suite(path, validate=validate).hash
        except SuiteError as error:
            assert str(error)  # noqa: PT017 - both ways out are fine


HEADERS = [
    b"",
    b"kind,id,candidate_0,candidate_1,gold\n",
    b"a_correct,a_wrong\n",
    b"sent0,sent1,label\n",
    b"premise,hypothesis,label\n",
]


@unhurried
@given(start=st.sampled_from(HEADERS), body=st.binary(max_size=200))
def test_fuzz_tables(folder, start, body):
    read_or_refuse(folder / "x.csv", start + body)
    read_or_refuse(folder / "x.tsv", start.replace(b",", b"\t") + body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["kind", "id", "candidates", "gold", "tags", "source", "label", "name"])


@unhurried
@given(body=st.binary(max_size=200), data=st.dictionaries(keys, json_values))
def test_fuzz_json_lines(folder, body, data):
    read_or_refuse(folder / "x.jsonl", body)
    read_or_refuse(folder / "x.jsonl", GOOD.encode() + json.dumps(data).encode() + b"\n" + body)


def test_a_parquet_file_that_asks_for_all_memory(tmp_path):
    """Polars ends the process that reads of a page with less than no values."""
    path = tmp_path / "x.parquet"
    write_suite(PAIR, path)
    page = b"\x2c\x15\x02"  # its header, and that it has one value
    whole = path.read_bytes()
    assert page in whole
    assert refused(path, whole.replace(page, b"\x2c\x15\x01", 1)) == (
        "x.parquet is a broken Parquet file (its reader died)"
    )


def test_a_parquet_file_is_read_whatever_stands_beside(tmp_path, monkeypatch):
    write_suite(PAIR, tmp_path / "x.parquet")
    for name in ("polars.py", "pickle.py", "io.py"):
        (tmp_path / name).write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert read_suite(Path("x.parquet")).hash == PAIR.hash


@settings(seldom, max_examples=5)
@given(at=st.integers(4, 10_000), patch=st.binary(min_size=1, max_size=8), body=st.binary())
def test_fuzz_parquet(folder, at, patch, body):
    path = folder / "x.parquet"
    read_or_refuse(path, body)
    read_or_refuse(path, b"PAR1" + body + b"PAR1")
    write_suite(PAIR, path)
    whole = bytearray(path.read_bytes())
    at = 4 + at % (len(whole) - 8 - len(patch))
    whole[at : at + len(patch)] = patch
    read_or_refuse(path, bytes(whole))


def test_a_changed_byte_of_a_parquet_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_suite(PAIR, path)
    whole = path.read_bytes()
    assert read_suite(path).items == PAIR.items
    assert whole.count(b"yes") > 0
    message = refused(path, whole.replace(b"yes", b"yet"))
    assert "x.parquet was changed after boxpen wrote it: its rows do not match the chec" in message
    pl.read_parquet(whole).write_parquet(path)  # as another tool writes it
    assert read_suite(path).items == PAIR.items
