"""Reports of the stages of a build, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.report.plain_table import plain_table, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from boxpen.build.runner import Done

__all__ = ["forms_table", "stage_lines", "stage_tables"]


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


def forms_table(counts: Mapping[tuple[str, str], int]) -> Table:
    """Return the number of surface forms: one row per relation, one column per task."""
    tasks: Sequence[str] = list(dict.fromkeys(task for task, _ in counts))
    relations = dict.fromkeys(relation for _, relation in counts)
    rows: list[list[Any]] = [
        [relation, *(counts.get((task, relation), "") for task in tasks)] for relation in relations
    ]
    return table_of(("relation", *tasks), rows)
