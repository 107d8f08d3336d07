"""The triple table, which every stage of the graph pipeline reads and writes.

A table is a Polars frame, or a Parquet file of one, with the columns of ``schema``; stages append
columns of their own. Relations have one spelling, that of the paper: ``capableof``, ``xAttr``.
People in events are ``PersonX``, ``PersonY`` and ``PersonZ``; a blank in an event is ``___``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from boxpen.analysis.relations import ATOMIC, CONCEPTNET
from boxpen.build.tables import parquet_errors, scan_columns, write_table
from boxpen.errors import BuildError

__all__ = [
    "ATOMIC", "ATOMIC_ALL", "CONCEPTNET", "CONCEPTNET_ALL", "canonical_relation", "read_table",
    "scan_table", "schema", "triple_id", "write_table",
]  # fmt: skip

ATOMIC_ALL = (
    *ATOMIC,
    *("xReact", "oEffect", "oReact", "oWant"),
    *("isAfter", "isBefore", "isFilledBy", "HinderedBy", "xReason"),
)
"""Relations of events, in ATOMIC and ATOMIC-2020."""
_OF_THINGS = (
    "antonym atlocation capableof causes causesdesire createdby definedas derivedfrom "
    "desireof desires distinctfrom entails etymologicallyderivedfrom etymologicallyrelatedto "
    "formof hasa hascontext hasfirstsubevent haslastsubevent haspaincharacter "
    "haspainintensity hasprerequisite hasproperty hassubevent inheritsfrom instanceof isa "
    "locatednear locationofaction madeof mannerof motivatedbygoal notcapableof notcauses "
    "notdesires nothasa nothasproperty notisa notmadeof notusedfor obstructedby partof "
    "receivesaction relatedto similarto symbolof synonym usedfor"
)
CONCEPTNET_ALL = tuple(_OF_THINGS.split())
"""Relations of ConceptNet."""

_TYPES = {
    "id": pl.String,  # hash of relation, head and tail: the same in every graph
    "head": pl.String,
    "relation": pl.String,
    "tail": pl.String,
    "weight": pl.Float64,  # null if the graph has none
    "origin": pl.String,  # name of the graph
    "surface": pl.String,  # the graph's own sentence; null if it has none
    "language": pl.String,  # of head and tail, two letters; 'en-fr' if they differ; null if unknown
    "line": pl.Int64,  # in the file it was read from, from 1
}
_ADDED = {  # by later stages
    **dict.fromkeys(("head_text", "tail_text", "form", "sentence", "step", "reason"), pl.String),
    **dict.fromkeys(("wrong", "wrong_text"), pl.List(pl.String)),
}
_SPELLED = {name.lower(): name for name in ATOMIC_ALL}


def canonical_relation(name: str) -> str:
    """Return the one spelling of a relation: ``/r/CapableOf`` and ``capable_of`` are one."""
    bare = name.strip().removeprefix("/r/").replace("_", "").replace(" ", "")
    return _SPELLED.get(bare.lower(), bare.lower())


def triple_id(relation: str, head: str, tail: str) -> str:
    """Return the id of a triple: equal for equal triples, whatever their graph."""
    digest = hashlib.sha256("\t".join((relation, head, tail)).encode()).hexdigest()
    return f"{relation}-{digest[:10]}"


def schema() -> dict[str, Any]:
    """Return the columns of the table with their Polars types."""
    return dict(_TYPES)


def read_table(path: Path, *more: str, only: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a stage's Parquet file.

    Args:
        path: The file.
        *more: Required columns besides those of every triple table.
        only: Columns to read; all if None.

    Raises:
        BuildError: If it is missing or damaged, lacks a column, or has one of another type.
    """
    lazy = scan_table(path, *more)
    with parquet_errors(path):
        table = (lazy if only is None else lazy.select(only)).collect()
    for name in ("id", "head", "relation", "tail"):
        if name in table.columns and table[name].null_count():
            row = table[name].to_list().index(None) + 1
            raise BuildError(f"{path}, row {row} has no {name}")
    return table


def scan_table(path: Path, *more: str) -> pl.LazyFrame:
    """Return a stage's Parquet file without reading its rows.

    Raises:
        BuildError: If it is missing or damaged, lacks a column, or has one of another type.
    """
    wanted = {**_TYPES, **{name: _ADDED.get(name) for name in more}}
    lazy = scan_columns(path, wanted)
    found = lazy.collect_schema()
    for name, kind in wanted.items():
        if not _fits(found[name], kind):
            expected = _KINDS[str(kind)]
            raise BuildError(f"{path} has a column '{name}' of {found[name]}, expected {expected}")
    return lazy


_KINDS = {
    "String": "texts",
    "Float64": "numbers",
    "Int64": "whole numbers",
    "List(String)": "lists of texts",
}


def _fits(found: pl.DataType, kind: Any) -> bool:
    """Check the type of a column; one that is null throughout may have any."""
    if kind is None or found == pl.Null:
        return True
    if kind == pl.Float64:
        return found.is_numeric()
    if kind == pl.Int64:
        return found.is_integer()
    return found in (kind, pl.List(pl.Null)) if kind == pl.List(pl.String) else found == kind
