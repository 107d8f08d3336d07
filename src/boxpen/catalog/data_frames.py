"""Suites as data frames, and data frames of pandas or Polars as suites."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.catalog.jsonl import check_whole_characters
from boxpen.catalog.parquet import READER_TAGS, read_rows, suite_frame
from boxpen.catalog.rows import Table
from boxpen.catalog.tables.columns import TAG
from boxpen.catalog.tabular import READER_TAG
from boxpen.errors import SuiteError
from boxpen.items import item_to_dict
from boxpen.printable import excerpt, printable

if TYPE_CHECKING:
    import polars as pl

    from boxpen.items import Suite

__all__ = ["frame_of_suite", "suite_of_frame", "with_tag_columns"]

_WHERE = "the data frame"
_WAY = (
    'correct="COLUMN", wrong="COLUMN" (or candidates=["COLUMN", "COLUMN"], gold="COLUMN") as '
    "arguments"
)
_COUNT = "gold_start=1 (or gold_start=0)"


def frame_of_suite(suite: Suite) -> pl.DataFrame:
    """Return a suite as a Polars frame: the columns that any item uses, and one for each tag."""
    frame = suite_frame(suite).drop(READER_TAGS, strict=False)
    frame = frame.select(c for c in frame.columns if frame[c].null_count() < frame.height)
    return with_tag_columns(frame, [item.tags for item in suite], suite.card.reader_tags)


def with_tag_columns(
    frame: pl.DataFrame, tags: Sequence[Mapping[str, str]], by_readers: Collection[str] = ()
) -> pl.DataFrame:
    """Return a frame with a column ``tag:NAME`` for each tag instead of JSON objects.

    Args:
        frame: The frame, with a column ``tags``.
        tags: The tags of each row.
        by_readers: The tags that later readers gave; their columns are ``reader-tag:NAME``.
    """
    import polars as pl

    names = dict.fromkeys(name for each in tags for name in each)
    columns = [
        pl.Series(
            f"{READER_TAG if name in by_readers else TAG}{name}",
            [each.get(name) for each in tags],
            dtype=pl.String,
        )
        for name in names
    ]
    return frame.drop("tags", strict=False).with_columns(columns)


def suite_of_frame(frame: Any, name: str, options: Mapping[str, Any]) -> Suite:
    """Read a frame of pandas or Polars by the rules of ``boxpen suite import``.

    Raises:
        SuiteError: If it is no such frame, has no such columns, or a row is not an item.
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or type(frame).__name__ != "DataFrame":
        found = f"{type(frame).__module__}.{type(frame).__name__}".removeprefix("builtins.")
        raise SuiteError(f"expected a data frame of pandas or Polars, found {found}")
    if not isinstance(name, str) or not name:
        raise SuiteError(f"the name of a suite is {name!r}, expected a text")
    header, columns = _of_pandas(frame) if library == "pandas" else _of_polars(frame)
    twice = [column for column, count in Counter(header).items() if count > 1]
    if twice:
        raise SuiteError(f"{_WHERE} has the column {excerpt(twice[0])} twice, expected each once")
    if not columns or not columns[0]:
        raise SuiteError(f"{_WHERE} has no rows, expected at least one")
    rows, card = read_rows(header, zip(*columns, strict=True), options, _WHERE, _WAY, _COUNT)
    for where, item in rows:
        check_whole_characters(item_to_dict(item), where)
    return Table(path=Path(), name=printable(name), card=card, rows=rows).suite(validate=True)


def _of_polars(frame: Any) -> tuple[list[str], list[list[Any]]]:
    return list(frame.columns), [_plain(frame[name].to_list(), _nan) for name in frame.columns]


def _of_pandas(frame: Any) -> tuple[list[str], list[list[Any]]]:
    import pandas as pd

    def missing(value: Any) -> bool:
        return pd.api.types.is_scalar(value) and bool(pd.isna(value))

    # An index with a name is data, such as an id; one without only counts.
    named = [level for level in frame.index.names if level is not None]
    header = [*map(str, named), *map(str, frame.columns)]
    columns = [frame.index.get_level_values(level).tolist() for level in named]
    columns += [frame.iloc[:, place].tolist() for place in range(frame.shape[1])]
    return header, [_plain(column, missing) for column in columns]


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(values: Sequence[Any], missing: Callable[[Any], bool]) -> list[Any]:
    """Return the cells of a column as plain values, None where there is none."""
    found: list[Any] = []
    for value in values:
        plain = _without_arrays(value)
        if plain is None or missing(plain):
            found.append(None)
        elif isinstance(plain, float) and plain.is_integer():
            found.append(int(plain))  # whole numbers, some missing, are floats to pandas
        else:
            found.append(list(plain) if isinstance(plain, tuple) else plain)
    return found


def _without_arrays(value: Any) -> Any:
    """Return a cell with lists in place of arrays: pandas has them inside structs, too."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, dict):
        return {key: _without_arrays(inner) for key, inner in plain.items()}
    return [_without_arrays(inner) for inner in plain] if isinstance(plain, list) else plain
