"""Rows of a training file: CSV, TSV or JSON Lines, each with its location."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from boxpen.catalog.tabular import DELIMITERS, table_rows
from boxpen.errors import SuiteError, nearest
from boxpen.printable import excerpt
from boxpen.text.lines import opened, read_lines

__all__ = ["ENDINGS", "Row", "column_of", "read_rows", "text_of"]

ENDINGS = (".jsonl", *DELIMITERS)


class Row(NamedTuple):
    """One row: its location (``'dev.csv, line 7'``), its number from 1, and its cells."""

    where: str
    number: int
    cells: Mapping[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; the format follows from the ending of its name."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise SuiteError(f"{path} ends in '{path.suffix}', expected {', '.join(ENDINGS)}")
    rows = _json_rows(path) if ending == ".jsonl" else _table(path)
    if not rows:
        raise SuiteError(f"{path} has no rows, expected at least one")
    return rows


def column_of(rows: Sequence[Row], names: Sequence[str], path: Path, what: str) -> str:
    """Return the first of these names that is a column of the first row."""
    header = list(rows[0].cells)
    for name in names:
        if name in header:
            return name
    raise SuiteError(
        f"{path} has no column '{names[0]}', {nearest(names[0], header)} "
        f"(found: {', '.join(header)}); say which one it is with --column {what}=NAME"
    )


def text_of(row: Row, column: str) -> str:
    """Return a cell that must be a non-empty text."""
    cell = row.cells.get(column)
    if isinstance(cell, str) and cell.strip():
        return cell
    if cell is None:
        raise SuiteError(f"{row.where} has no '{column}', expected a text")
    raise SuiteError(f"{row.where}: column '{column}' is {excerpt(str(cell))}, expected a text")


def _json_rows(path: Path) -> list[Row]:
    rows: list[Row] = []
    with opened(path, newline="\n") as stream:  # a lone carriage return is white space to JSON
        for line, text in enumerate(stream, start=1):
            if not text.strip():
                continue
            try:
                data = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise SuiteError(f"{path}, line {line} is not JSON ({error})") from None
            if not isinstance(data, dict):
                raise SuiteError(
                    f"{path}, line {line} is {excerpt(text.strip())}, expected a JSON object"
                )
            rows.append(Row(f"{path}, line {line}", len(rows) + 1, data))
    return rows


def _table(path: Path) -> list[Row]:
    try:
        return _even(path, list(table_rows(path)))
    except SuiteError:
        if path.suffix.lower() != ".tsv":
            raise
    # Many published TSV files do not quote: a quotation mark is a letter there, and so some cells
    # begin with one and never end.
    plain = [(n, line.rstrip("\r").split("\t")) for n, line in enumerate(read_lines(path), 1)]
    return _even(path, [(n, cells) for n, cells in plain if cells != [""]])


def _even(path: Path, records: list[tuple[int, list[str]]]) -> list[Row]:
    if not records:
        raise SuiteError(f"{path} is empty, expected a header line")
    header = [name.strip() for name in records[0][1]]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise SuiteError(f"{path} has the column '{twice[0]}' twice, expected each once")
    rows: list[Row] = []
    for line, cells in records[1:]:
        if len(cells) != len(header):
            raise SuiteError(
                f"{path}, line {line} has {len(cells)} cell(s), expected {len(header)} "
                f"({', '.join(header)})"
            )
        where = f"{path}, line {line}"
        rows.append(Row(where, len(rows) + 1, dict(zip(header, cells, strict=True))))
    return rows
