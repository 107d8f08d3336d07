"""The tables of a build: duals that are shown to people, and what was left unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.duals.propose import Unchanged
from boxpen.build.duals.rank import Ranked
from boxpen.errors import BuildError
from boxpen.failures import reason, refusals

if TYPE_CHECKING:
    import polars as pl

    from boxpen.items import Choice

__all__ = ["Row", "dual_rows", "read_rows", "read_unchanged", "write_rows", "write_unchanged"]

Row = Mapping[str, Any]
_COLUMNS = ("id", "item", "operation", "kind", "expected", "reason", "first", "second")
_UNCHANGED = ("item", "operation", "reason")


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

    from boxpen.build.kg.triples import write_table

    write_table(pl.DataFrame(list(rows), schema=_schema()), path)


def write_unchanged(unchanged: Iterable[Unchanged], path: Path) -> None:
    """Write a table of what was left as it is, and why."""
    import polars as pl

    from boxpen.build.kg.triples import write_table

    found = [(one.item, one.operation, one.reason) for one in unchanged]
    write_table(
        pl.DataFrame(found, schema=dict.fromkeys(_UNCHANGED, pl.String), orient="row"), path
    )


def read_rows(path: Path) -> list[Row]:
    """Read a table of duals.

    Raises:
        BuildError: If it is not there, damaged, or of other columns.
    """
    return list(_frame(path, list(_schema())).iter_rows(named=True))


def read_unchanged(path: Path) -> list[Unchanged]:
    """Read a table of what was left as it is.

    Raises:
        BuildError: If it is not there, damaged, or of other columns.
    """
    return [Unchanged(*row) for row in _frame(path, _UNCHANGED).select(_UNCHANGED).iter_rows()]


def _frame(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    if not path.is_file():
        raise BuildError(f"there is no {path}; 'boxpen build duals propose' writes it")
    try:
        frame = pl.read_parquet(path, glob=False)
    except refusals() as error:
        raise BuildError(f"{path} cannot be read: {reason(error)}") from None
    for name in columns:
        if name not in frame.columns:
            raise BuildError(
                f"{path} has no column '{name}', it has {', '.join(frame.columns)}; "
                "run 'boxpen build duals propose' again"
            )
    return frame


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
