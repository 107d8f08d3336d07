"""Slices of runs as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from boxpen.report.numbers import DASH, FEWEST_BLOCKS, too_few_blocks
from boxpen.report.plain_table import table_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["slices_terminal"]

_COLUMNS = ("n", "of all", "accuracy [95 %]", "chance", "consist.", "both", "blocks")


def slices_terminal(rows: Sequence[dict[str, Any]]) -> Iterator[Table | str]:
    """Yield one table per run and cut, of what ``slice_rows`` returns."""
    tables: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault((row["suite"], row["model"], row["cut"]), []).append(row)
    for (suite, model, cut), some in tables.items():
        title = Text.assemble((suite, "bold"), " × ", (model, "bold"), f" by {cut}")
        cells = [
            (
                row["value"], row["n"], f"{row['share']:.0%}", _shown(row, "accuracy"),
                _shown(row, "chance"), _shown(row, "consistency"), _shown(row, "both_right"),
                row["consistency"]["n"] if "consistency" in row else "",
            )
            for row in some
        ]  # fmt: skip
        yield table_of((cut, *_COLUMNS), cells, title=title, gap=1)
        if any(DASH in row for row in cells):
            yield f"{DASH}: fewer than {FEWEST_BLOCKS} complete blocks in this slice"
        yield ""


def _shown(row: dict[str, Any], metric: str) -> str:
    estimate = row.get(metric)
    if estimate is None or not estimate["n"]:
        return ""
    if too_few_blocks(metric, estimate["n"]):
        return DASH
    value = f"{estimate['value']:.3f}"
    if metric != "accuracy":
        return value
    return f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
