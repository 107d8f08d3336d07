"""The table of duals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from boxpen.build import tables
from boxpen.build.duals.rank import Ranked
from boxpen.build.tables import Row, write_table
from boxpen.items import Choice

__all__ = ["SCHEMA", "Row", "dual_rows", "read_rows", "write_rows"]

_TEXTS = ("id", "item", "operation", "kind", "expected", "reason", "first", "second")
SCHEMA = {
    **dict.fromkeys(_TEXTS, pl.String),
    "gold": pl.Int64,
    "original_first": pl.String,
    "original_second": pl.String,
    "original_gold": pl.Int64,
    "fluency": pl.Float64,
}
"""The columns of the table; ``reason`` is why the label is expected."""


def dual_rows(ranked: Iterable[Ranked], items: Mapping[str, Choice]) -> list[Row]:
    """Return duals as rows; the id of a dual follows from its item and its texts alone."""
    rows: list[Row] = []
    for one in ranked:
        proposal, edit = one.proposal, one.proposal.edit
        item = items[proposal.item]
        digest = hashlib.sha256("\0".join((proposal.item, *edit.texts)).encode()).hexdigest()[:8]
        rows.append(
            {
                "id": f"{proposal.item}-{edit.operation}-{digest}",
                "item": proposal.item,
                "operation": edit.operation,
                "kind": edit.kind,
                "expected": proposal.expected,
                "reason": edit.reason,
                "first": edit.texts[0],
                "second": edit.texts[1],
                "gold": proposal.gold,
                "original_first": item.candidates[0],
                "original_second": item.candidates[1],
                "original_gold": item.gold,
                "fluency": one.fluency,
            }
        )
    return rows


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write a table of duals, whole or not at all."""
    write_table(pl.DataFrame(list(rows), schema=SCHEMA), path)


def read_rows(path: Path) -> list[Row]:
    """Read a table of duals.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    return tables.read_rows(path, SCHEMA)
