"""Suites in files; the suffix determines the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from boxpen.catalog.jsonl import read_jsonl
from boxpen.catalog.parquet import read_parquet
from boxpen.catalog.tabular import DELIMITERS, read_table
from boxpen.errors import SuiteError
from boxpen.files import replaced
from boxpen.items import Suite
from boxpen.plugins import EXPORTERS

__all__ = ["FORMATS", "read_suite", "write_suite"]

FORMATS = (".jsonl", ".json", *DELIMITERS, ".parquet")
"""What can be read; plug-ins may add what can be written."""


def read_suite(path: str | Path, *, validate: bool = True, **options: Any) -> Suite:
    """Read a suite from a ``.jsonl``, ``.json``, ``.csv``, ``.tsv`` or ``.parquet`` file.

    Args:
        path: The file.
        validate: Reject items that a model cannot score. Without it they are kept, so that
            ``boxpen.catalog.lint.items`` can report them all.
        **options: For what is not boxpen's own: which column (or key of JSON objects) is which,
            see ``boxpen.catalog.tables.columns.Columns``.

    Raises:
        SuiteError: If the file cannot be read or is not what its ending says; the message names
            the file, the line or row, what was found and what was expected.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise SuiteError(_unknown_format(path, FORMATS))
    if ending in (".jsonl", ".json"):
        table = read_jsonl(path, options)
    elif ending == ".parquet":
        table = read_parquet(path, options)
    else:
        table = read_table(path, options)
    if validate and not table.rows:
        raise SuiteError(f"{path} has no items, expected at least one")
    return replace(table.suite(validate=validate), file=str(path))


def write_suite(suite: Suite, path: str | Path) -> None:
    """Write a suite as ``.jsonl``, ``.csv``, ``.tsv``, ``.parquet`` or in the format of a plug-in.

    Only JSON Lines keeps the card; the tables keep every item, with its languages spelt out, so
    that the suite's hash is the same whichever format it went through.

    Raises:
        SuiteError: If the ending is unknown, the file cannot be written, or the format cannot hold
            the suite.
    """
    path = Path(path)
    name = path.suffix.lower().removeprefix(".")
    if name not in EXPORTERS:
        raise SuiteError(_unknown_format(path, [f".{ending}" for ending in EXPORTERS]))
    write = EXPORTERS.load(name)
    try:
        with replaced(path) as stream, EXPORTERS.guarding(name):
            write(suite, stream)
    except UnicodeEncodeError:
        raise SuiteError(
            f"{path} cannot be written: a text of suite '{suite.name}' has half of a surrogate pair"
        ) from None


def _unknown_format(path: Path, known: Sequence[str]) -> str:
    found = f"ends in '{path.suffix}'" if path.suffix else "has no ending"
    return f"{path} {found}, expected {', '.join(known[:-1])} or {known[-1]}"
