"""Parquet files of a build: written whole or not at all, read with one sentence if damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from boxpen.errors import BuildError
from boxpen.failures import reason, refusals
from boxpen.files import replaced

__all__ = ["Row", "parquet_errors", "read_rows", "scan_columns", "write_dropped", "write_table"]

Row = Mapping[str, Any]
"""A row of a table, by column."""


def scan_columns(path: Path, columns: Iterable[str]) -> pl.LazyFrame:
    """Return a Parquet file that must have these columns, without reading its rows.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    if not path.is_file():
        raise BuildError(f"there is no {path}; run the stage that writes it first")
    with parquet_errors(path):
        lazy = pl.scan_parquet(path, glob=False)
        found = lazy.collect_schema()
    for name in columns:
        if name not in found:
            raise BuildError(f"{path} has no column '{name}', it has {', '.join(found)}")
    return lazy


def read_rows(path: Path, columns: Iterable[str]) -> list[Row]:
    """Return the rows of a Parquet file that must have these columns.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    lazy = scan_columns(path, columns)
    with parquet_errors(path):
        return list(lazy.collect().iter_rows(named=True))


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    with replaced(path, BuildError) as stream:
        table.write_parquet(stream)


def write_dropped(
    dropped: Iterable[tuple[Row, str, str]], schema: Mapping[str, Any], rename: str, path: Path
) -> None:
    """Write dropped rows, each with the step and the reason.

    Args:
        dropped: Rows, each with step and reason.
        schema: Of the rows.
        rename: New name for the ``reason`` that the rows themselves have.
        path: Of the file.
    """
    rows = [{**row, "step": step, "why": why} for row, step, why in dropped]
    table = pl.DataFrame(rows, schema={**schema, "step": pl.String, "why": pl.String})
    write_table(table.rename({"reason": rename, "why": "reason"}), path)


@contextlib.contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Name the file that cannot be read."""
    try:
        yield
    except refusals() as error:
        raise BuildError(f"{path} is not a Parquet file ({reason(error)})") from None
