"""The tables of a build: duals that are shown to people, and what was left unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.duals.propose import Unchanged
from boxpen.build.duals.rank import Ranked
from boxpen.build.tables import parquet_errors, scan_columns, write_table

if TYPE_CHECKING:
    from boxpen.items import Choice

__all__ = ["Row", "dual_rows", "read_rows", "write_dropped", "write_rows", "write_unchanged"]

Row = Mapping[str, Any]
_COLUMNS = ("id", "item", "operation", "kind", "expected", "reason", "first", "second")


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
    import polars as pl

    write_table(pl.DataFrame(list(rows), schema=_schema()), path)


def write_unchanged(pairs: Iterable[Unchanged], others: Iterable[Unchanged], path: Path) -> None:
    """Write what was left as it is, and why; the step is the operation, or ``pair`` for no pair."""
    import polars as pl

    rows = [(one.operation or "all", one.reason, one.item) for one in pairs]
    rows += [("pair", one.reason, one.item) for one in others]
    schema = dict.fromkeys(("step", "reason", "item"), pl.String)
    write_table(pl.DataFrame(rows, schema=schema, orient="row"), path)


def write_dropped(
    dropped: Sequence[Ranked],
    items: Mapping[str, Choice],
    top: int,
    least: float | None,
    path: Path,
) -> None:
    """Write the duals that were not among the best, and why."""
    import polars as pl

    rows = []
    for one, row in zip(dropped, dual_rows(dropped, items), strict=True):
        low = one.fluency is not None and least is not None and one.fluency < least
        reason = f"fluency {one.fluency} is below {least}" if low else f"not among the best {top}"
        rows.append({**row, "step": "fluency" if low else "top", "why": reason})
    schema = {**_schema(), "step": pl.String, "why": pl.String}
    # A dual has a reason of its own, for which its label is expected.
    names = {"reason": "expected_because", "why": "reason"}
    write_table(pl.DataFrame(rows, schema=schema).rename(names), path)


def read_rows(path: Path) -> list[Row]:
    """Read a table of duals.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    lazy = scan_columns(path, _schema())
    with parquet_errors(path):
        return list(lazy.collect().iter_rows(named=True))


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        **dict.fromkeys(_COLUMNS, pl.String),
        "gold": pl.Int64,
        "original_first": pl.String,
        "original_second": pl.String,
        "original_gold": pl.Int64,
        "fluency": pl.Float64,
    }
