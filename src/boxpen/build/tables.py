"""Parquet files of a build: written whole or not at all, read with one sentence if damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.errors import BuildError
from boxpen.failures import reason, refusals
from boxpen.files import replaced

if TYPE_CHECKING:
    import polars as pl

__all__ = ["parquet_errors", "scan_columns", "write_table"]


def scan_columns(path: Path, columns: Iterable[str]) -> pl.LazyFrame:
    """Return a Parquet file that must have these columns, without reading its rows.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    import polars as pl

    if not path.is_file():
        raise BuildError(f"there is no {path}; run the stage that writes it first")
    with parquet_errors(path):
        lazy = pl.scan_parquet(path, glob=False)
        found = lazy.collect_schema()
    for name in columns:
        if name not in found:
            raise BuildError(f"{path} has no column '{name}', it has {', '.join(found)}")
    return lazy


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    with replaced(path, BuildError) as stream:
        table.write_parquet(stream)


@contextlib.contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Name the file that cannot be read."""
    try:
        yield
    except refusals() as error:
        raise BuildError(f"{path} is not a Parquet file ({reason(error)})") from None
