"""The triple table: what every stage of the graph pipeline reads and writes.

A table is a Polars frame, or a Parquet file of one, with the columns of ``COLUMNS``; stages add
columns of their own behind them. Relations have one spelling, that of the paper: ``capableof``,
``xAttr``. People in events are ``PersonX``, ``PersonY`` and ``PersonZ``; what an event leaves open
is ``___``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.tables import parquet_errors, scan_columns, write_table
from boxpen.errors import BuildError
from boxpen.relations import ATOMIC, CONCEPTNET

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ATOMIC",
    "COLUMNS",
    "CONCEPTNET",
    "canonical_relation",
    "read_table",
    "scan_table",
    "schema",
    "triple_id",
    "write_table",
]

COLUMNS = {
    "id": "str",  # of relation, head and tail: the same wherever the triple stands
    "head": "str",
    "relation": "str",
    "tail": "str",
    "weight": "float",  # null where the graph has none
    "origin": "str",  # name of the graph
    "surface": "str",  # the sentence that the graph has for it; null where it has none
    "language": "str",  # of head and tail, two letters; 'en-fr' if they differ; null if unknown
    "line": "int",  # in the file it was read from, from 1
}

_ADDED = {  # by later stages
    **dict.fromkeys(("head_text", "tail_text", "form", "sentence", "step", "reason"), "str"),
    **dict.fromkeys(("wrong", "wrong_text"), "texts"),
}
_NEVER_NULL = ("id", "head", "relation", "tail")
_ATOMIC_ALL = (
    *ATOMIC,
    *("xReact", "oEffect", "oReact", "oWant"),
    *("isAfter", "isBefore", "isFilledBy", "HinderedBy", "xReason"),
)
_SPELLED = {name.lower(): name for name in _ATOMIC_ALL}


def canonical_relation(name: str) -> str:
    """Return the one spelling of a relation: ``/r/CapableOf`` and ``capable_of`` are one."""
    bare = name.strip().removeprefix("/r/").replace("_", "").replace(" ", "")
    return _SPELLED.get(bare.lower(), bare.lower())


def triple_id(relation: str, head: str, tail: str) -> str:
    """Return the id of a triple: equal for equal triples, in whatever graph they stand."""
    digest = hashlib.sha256("\t".join((relation, head, tail)).encode()).hexdigest()
    return f"{relation}-{digest[:10]}"


def schema() -> dict[str, Any]:
    """Return the columns of the table with their Polars types."""
    import polars as pl

    types = {"str": pl.String, "float": pl.Float64, "int": pl.Int64}
    return {name: types[kind] for name, kind in COLUMNS.items()}


def read_table(path: Path, *more: str, only: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a stage's Parquet file.

    Args:
        path: The file.
        *more: Columns that must be there besides those of every triple table.
        only: Columns to read; all if None.

    Raises:
        BuildError: If it is not there, damaged, lacks a column, or has one of another type.
    """
    lazy = scan_table(path, *more)
    with parquet_errors(path):
        table = (lazy if only is None else lazy.select(only)).collect()
    for name in _NEVER_NULL:
        if name in table.columns and table[name].null_count():
            row = table[name].to_list().index(None) + 1
            raise BuildError(f"{path}, row {row} has no {name}")
    return table


def scan_table(path: Path, *more: str) -> pl.LazyFrame:
    """Return a stage's Parquet file, of which nothing but the names of columns was read yet.

    Raises:
        BuildError: If it is not there, damaged, lacks a column, or has one of another type.
    """
    wanted = {**COLUMNS, **{name: _ADDED.get(name) for name in more}}
    lazy = scan_columns(path, wanted)
    found = lazy.collect_schema()
    for name, kind in wanted.items():
        if not _is(found[name], kind):
            raise BuildError(
                f"{path} has a column '{name}' of {found[name]}, expected {_KINDS[kind or '']}"
            )
    return lazy


_KINDS = {"str": "texts", "float": "numbers", "int": "whole numbers", "texts": "lists of texts"}


def _is(found: pl.DataType, kind: str | None) -> bool:
    """Say whether a column may be of a type; one that is null throughout may be of any."""
    import polars as pl

    if kind is None or found == pl.Null:
        return True
    if kind == "str":
        return found == pl.String
    if kind == "texts":
        return found in (pl.List(pl.String), pl.List(pl.Null))
    return found.is_numeric() if kind == "float" else found.is_integer()
