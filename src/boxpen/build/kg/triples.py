"""The triple table: what every stage of the graph pipeline reads and writes.

A table is a Polars frame, or a Parquet file of one, with the columns of ``COLUMNS``; stages add
columns of their own behind them. Relations have one spelling, that of the paper: ``capableof``,
``xAttr``. People in events are ``PersonX``, ``PersonY`` and ``PersonZ``; what an event leaves open
is ``___``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.atomic import replaced
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


def read_table(path: Path, *more: str) -> pl.DataFrame:
    """Read a stage's Parquet file.

    Args:
        path: The file.
        *more: Columns that must be there besides those of every triple table.

    Raises:
        BuildError: If it is not there, damaged, or lacks a column.
    """
    import polars as pl

    if not path.is_file():
        raise BuildError(f"there is no {path}; run the stage that writes it first")
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines()[0]
        raise BuildError(f"{path} is not a Parquet file ({reason})") from None
    missing = [name for name in (*COLUMNS, *more) if name not in table.columns]
    if missing:
        raise BuildError(f"{path} has no column '{missing[0]}', it has {', '.join(table.columns)}")
    return table


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    with replaced(path, BuildError) as stream:
        table.write_parquet(stream)
