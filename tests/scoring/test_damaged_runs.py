"""Every column of every table of a run directory, damaged: one sentence, or no harm done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from boxpen import Run, RunError
from boxpen.cli.app import app
from boxpen.runs.run import Translation
from boxpen.runs.tables import COLUMNS
from small_runs import small_run, without_checksums

TABLES = {table: COLUMNS[table] for table in ("verdicts", "records", "translations")}
PLACES = [(table, column) for table, columns in TABLES.items() for column in columns]
VALUES: dict[str, list[Any]] = {
    "str": ["", "x", "[]", '{"a": 1}', "\x1b[2J"],
    "int": [-1, 2**62, -(2**62), 99],
    "float": [float("nan"), float("inf"), -float("inf"), -5.0],
    "bool": [True, False],
    "ints": [[], [None], [-1], [2**31 - 1] * 3],
    "floats": [[], [None], [float("nan")], [-float("inf")] * 8],
    "strs": [[], [None], ["x"], ["neutral"] * 3],
    "scores": [[], [None, None], [float("nan")] * 2, [-float("inf")] * 2, [1e308, -1e308]],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = small_run("+-+-=")
    translations = [
        Translation(f"i{n}", f"源 {n}", f"right {n}", f"made {n}", "en", {"set": "A"}, "before")
        for n in range(5)
    ]
    saved = replace(run, translations=tuple(translations)).save(tmp_path / "runs")
    without_checksums(saved)  # which would find any change
    return saved


def one_changed(column: pl.Series, value: Any) -> pl.Series:
    return pl.Series(column.name, [value, *column.to_list()[1:]], column.dtype)


def changes(column: pl.Series, kind: str) -> list[pl.Series]:
    wrong = [pl.Series(column.name, [value] * len(column)) for value in (None, 7, 0.5, "x", [1])]
    wrong += [pl.Series(column.name, [[None]] * len(column)), pl.Series([b"\xff"] * len(column))]
    values = (None, *VALUES[kind])
    return [each.alias(column.name) for each in wrong] + [one_changed(column, v) for v in values]


def refused(folder: Path) -> str | None:
    try:
        Run.load(folder)
    except RunError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("table", "column"), PLACES)
def test_damage_is_told_in_one_sentence_or_does_no_harm(folder, table, column):
    path = folder / f"{table}.parquet"
    frame = pl.read_parquet(path)
    kind = TABLES[table][column].removesuffix("?")
    frames = [frame.with_columns(new) for new in changes(frame[column], kind)]
    harmless = []
    for damaged in [*frames, frame.drop(column), frame.rename({column: "other"})]:
        damaged.write_parquet(path)
        said = refused(folder)
        if said is None:
            harmless.append(damaged)
        else:
            assert said.startswith(f"{folder} is not a whole run directory (")
            assert len(said.splitlines()) == 1
    for damaged in harmless[:1] + harmless[-2:]:
        damaged.write_parquet(path)
        for command in (["report", folder], ["compare", folder, folder], ["slices", folder]):
            done = CliRunner().invoke(app, [str(word) for word in command])
            assert done.exit_code in (0, 2), (command, damaged[column])
            assert done.exception is None or isinstance(done.exception, SystemExit), command


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("verdicts", "margin", None, "column 'margin' is null in row 1"),
        ("verdicts", "margin", float("nan"), "column 'margin' has a number that is not finite"),
        ("verdicts", "scores", [0.5, None], "column 'scores' has a list with a null"),
        ("verdicts", "winner", 2, "the verdict of item 'i0' is impossible"),
        ("verdicts", "also", ["maybe"], "the verdict of item 'i0' is impossible"),
        ("records", "prefix", None, "column 'prefix' is null in row 1"),
        ("translations", "tags", "[]", "item 'i0' has tags that are not texts"),
    ],
)
def test_what_is_wrong_is_named(folder, table, column, value, message):
    path = folder / f"{table}.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(one_changed(frame[column], value)).write_parquet(path)
    assert refused(folder) == f"{folder} is not a whole run directory ({table}.parquet: {message})"


@pytest.mark.parametrize(("table", "column"), PLACES)
def test_a_missing_column_is_named(folder, table, column):
    path = folder / f"{table}.parquet"
    pl.read_parquet(path).drop(column).write_parquet(path)
    said = f"{folder} is not a whole run directory ({table}.parquet: it has no '{column}')"
    later = column in (
        "context",
        "reference_context",
        "also",
        "dtype",
    )  # which earlier versions did not write
    assert refused(folder) == (None if later else said)


@pytest.mark.parametrize("name", ["verdicts.parquet", "records.parquet", "tokens.json"])
def test_a_changed_byte_is_found_whatever_it_means(tmp_path, name):
    folder = small_run("+-+-=").save(tmp_path)
    data = bytearray((folder / name).read_bytes())
    for place in range(0, len(data), 1 + len(data) // 150):
        data[place] ^= 1
        (folder / name).write_bytes(data)
        assert str(refused(folder)).startswith(f"{folder} is not a whole run directory ({name}: ")
        data[place] ^= 1
