"""Round trips, atomic writes, and the JSON Schema."""

import errno
import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from suite_strategies import seldom, suites, unhurried

from boxpen.catalog import jsonl, load_suite, read_suite, write_suite
from boxpen.errors import SuiteError
from boxpen.items import Card, Choice, Entail, Suite

SCHEMA = json.loads(resources.files("boxpen.catalog").joinpath("suite.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PAIR = Suite("pair", (Choice(id="1", candidates=("yes", "no"), gold=0),))
ALL = (".jsonl", ".csv", ".tsv", ".parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("suites")


@unhurried
@given(suite=suites())
def test_json_lines_keep_everything(folder, suite):
    path = folder / "suite.jsonl"
    write_suite(suite, path)
    back = read_suite(path)
    assert back == suite
    assert back.hash == suite.hash


@unhurried
@given(suite=suites())
def test_what_is_written_follows_the_schema(folder, suite):
    path = folder / "schema.jsonl"
    write_suite(suite, path)
    for line in path.read_bytes().splitlines():
        VALIDATOR.validate(json.loads(line))


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@unhurried
@given(suite=suites())
def test_tables_keep_every_item(folder, ending, suite):
    keep_every_item(folder, ending, suite)


@seldom
@given(suite=suites())
def test_parquet_keeps_every_item(folder, suite):
    keep_every_item(folder, ".parquet", suite)


def keep_every_item(folder, ending, suite):
    path = folder / f"suite{ending}"
    write_suite(suite, path)
    back = read_suite(path)
    assert back.hash == suite.hash
    assert back.items == tuple(spelt_out(suite, item) for item in suite)


def spelt_out(suite, item):
    language, source_language = suite.languages_of(item)
    if isinstance(item, Entail):
        return replace(item, language=language)
    own = item.source_language if source_language is None else source_language
    return replace(item, language=language, source_language=own)


@pytest.mark.parametrize("ending", ALL)
def test_public_suites_survive_every_format(mirror, tmp_path, ending):
    for name in ("commonmt", "comve.B", "discourse", "starter"):
        suite = load_suite(name)
        write_suite(suite, tmp_path / f"x{ending}")
        assert read_suite(tmp_path / f"x{ending}").hash == suite.hash


def test_schema_refuses_what_the_reader_refuses():
    good = {"id": "1", "candidates": ["a", "b"], "gold": 0}
    VALIDATOR.validate(good)
    for change in ({"gold": "0"}, {"candidates": "ab"}, {"kind": "entail"}, {"colour": "red"}):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(good | change)


def test_the_examples_of_the_documentation(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "reference" / "suite-format.md").read_text(
        encoding="utf-8"
    )
    lines = [line for line in text.splitlines() if line.startswith('{"kind"')]
    for line in lines:
        VALIDATOR.validate(json.loads(line))
    (tmp_path / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
    suite = read_suite(tmp_path / "x.jsonl")
    assert (suite.name, len(suite)) == ("kitchen", 5)


def test_card_and_name_come_from_the_first_line(tmp_path):
    suite = replace(PAIR, card=Card(title="T", licence="L", citation="C", url="U", version="7"))
    write_suite(suite, tmp_path / "other.jsonl")
    assert read_suite(tmp_path / "other.jsonl") == suite


def test_without_a_first_line_the_file_gives_the_name(tmp_path):
    (tmp_path / "mine.jsonl").write_text('\n{"id": "1", "candidates": ["a", "b"], "gold": 1}\n\n')
    suite = read_suite(tmp_path / "mine.jsonl")
    assert suite.name == "mine"
    assert suite.items[0].gold == 1


def test_byte_order_mark_and_crlf(tmp_path):
    line = '{"id": "1", "candidates": ["a\u2028", "b"], "gold": 1}\r\n'
    (tmp_path / "mine.jsonl").write_bytes(b"\xef\xbb\xbf" + line.encode())
    assert read_suite(tmp_path / "mine.jsonl").items[0].candidates == ("a\u2028", "b")


@pytest.mark.parametrize("ending", ALL)
def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch, ending):
    path = tmp_path / f"kept{ending}"
    path.write_bytes(b"what was there")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SuiteError, match="cannot be written: No space left"):
        write_suite(PAIR, path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"what was there"


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(suite, stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(jsonl, "write_jsonl", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_suite(PAIR, tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_write_to_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(SuiteError, match=r"nowhere/x\.jsonl cannot be written: No such file"):
        write_suite(PAIR, tmp_path / "nowhere" / "x.jsonl")


def test_written_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    write_suite(PAIR, tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_table_refuses_an_empty_text(tmp_path):
    suite = Suite("s", (Choice(id="1", candidates=("a", ""), gold=0),))
    with pytest.raises(
        SuiteError, match="'candidate_1', which a table cannot distinguish from a missing one"
    ):
        write_suite(suite, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ALL)
def test_half_of_a_surrogate_pair_is_no_text(tmp_path, ending):
    suite = Suite("s", (Choice(id="1", candidates=("a", "\ud800"), gold=0),))
    with pytest.raises(SuiteError, match="surrogate"):
        write_suite(suite, tmp_path / f"x{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "found"), [("x.txt", "ends in '.txt'"), ("x", "has no ending")])
def test_unknown_ending(tmp_path, name, found):
    with pytest.raises(
        SuiteError, match=f"{found}, expected .jsonl, .json, .csv, .tsv or .parquet"
    ):
        read_suite(tmp_path / name)
    with pytest.raises(SuiteError, match=found):
        write_suite(PAIR, tmp_path / name)
