"""Tables of the tests made from a knowledge graph: their number, and an example of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from boxpen.analysis.behaviour import Example, RelationCount
from boxpen.report.plain_table import escaped, markdown_line, plain_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["tests_markdown", "tests_object", "tests_tables"]


def tests_object(counts: Sequence[RelationCount], examples: Sequence[Example]) -> dict[str, Any]:
    """Return counts and examples as data."""
    rows = [
        {"graph": c.graph, "relation": c.relation, "triples": c.triples, "task": task,
         "templates": templates, "tests": tests}
        for c in counts
        for task, (templates, tests) in c.tasks.items()
    ]  # fmt: skip
    return {"counts": rows, "examples": [asdict(e) for e in examples]}


def tests_tables(
    counts: Sequence[RelationCount], examples: Sequence[Example]
) -> Iterator[Table | Text]:
    """Yield the counts by relation, then an example of every task and graph."""
    from rich.text import Text

    heads, rows = _cells(counts)
    table = plain_table()
    for n, head in enumerate(heads):
        table.add_column(head, justify="right" if n else "left")
    for graph, cells in rows:
        if graph is None:
            table.add_row(*(Text(cell) for cell in cells), style="bold")
        elif len(cells) == 1:
            table.add_row(Text(graph), style="bold")
        else:
            table.add_row(Text(f" {cells[0]}"), *cells[1:])
    yield table
    for example in examples:
        yield Text(f"\n{example.task}, {example.graph}, {example.relation} ({example.id})")
        for part, text in example.texts.items():
            yield Text(f"  {part:8} {text}")


def tests_markdown(counts: Sequence[RelationCount], examples: Sequence[Example]) -> str:
    """Return the same as two tables of Markdown."""
    heads, rows = _cells(counts)
    lines = [markdown_line(heads), "|---|" + "---:|" * (len(heads) - 1)]
    for graph, cells in rows:
        if graph is not None and len(cells) == 1:
            lines.append(markdown_line([f"**{escaped(graph)}**", *[""] * (len(heads) - 1)]))
        else:
            lines.append(markdown_line([escaped(cell) for cell in cells]))
    lines += ["", "| task | graph | relation | example |", "|---|---|---|---|"]
    for e in examples:
        shown = "<br>".join(f"{part}: {escaped(text)}" for part, text in e.texts.items())
        lines.append(markdown_line([*map(escaped, (e.task, e.graph, e.relation)), shown]))
    return "\n".join(lines) + "\n"


def _cells(
    counts: Sequence[RelationCount],
) -> tuple[list[str], list[tuple[str | None, list[str]]]]:
    """Return the heads of the columns, and lines: a graph alone, a relation of it, the total."""
    tasks = sorted({task for count in counts for task in count.tasks})
    heads = ["relation", "triples"]
    heads += [f"{task} {what}" for task in tasks for what in ("templates", "tests")]
    rows: list[tuple[str | None, list[str]]] = []
    for graph, members in groupby(counts, key=lambda count: count.graph):
        rows.append((graph, [graph]))
        for count in members:
            cells = [count.relation, f"{count.triples:,}"]
            for task in tasks:
                cells += [f"{n:,}" for n in count.tasks[task]] if task in count.tasks else ["", ""]
            rows.append((graph, cells))
    total = ["total", f"{sum(count.triples for count in counts):,}"]
    for task in tasks:
        tests = sum(count.tasks[task][1] for count in counts if task in count.tasks)
        total += ["", f"{tests:,}"]
    rows.append((None, total))
    return heads, rows
