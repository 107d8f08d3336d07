"""Reports of the stages of a build, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from boxpen.build.runner import Done

__all__ = ["stage_lines", "stage_tables"]


def stage_lines(done: Done) -> Iterator[str]:
    """Yield what a stage reports, and its notes."""
    yield f"{done.stage}{'' if done.fresh else ' (up to date)'}: {done.report['says']}"
    for line in done.report.get("notes", ()):
        yield f"  {line}"


def stage_tables(done: Done) -> Iterator[Table]:
    """Yield the tables of a stage's report."""
    for rows in filter(None, (done.report.get("steps"), done.report.get("table"))):
        numbers = [isinstance(value, int) for value in rows[0].values()]
        table = plain_table()
        for place, (name, number) in enumerate(zip(rows[0], numbers, strict=True)):
            table.add_column(name if place else f"  {name}", justify="right" if number else "left")
        for row in rows:
            first, *others = (f"{v:,}" if isinstance(v, int) else str(v) for v in row.values())
            table.add_row(f"  {first}", *others)
        yield table
