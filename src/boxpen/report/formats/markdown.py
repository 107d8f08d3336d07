"""Runs as Markdown tables, for documents and pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.report.plain_table import code_span, escaped, inert, markdown_line
from boxpen.report.terminal import by_slice, notes
from boxpen.runs.run import Row, Run

__all__ = ["cell", "run_markdown"]

_METRICS = ("accuracy", "consistency", "both_right", "bleu")


def run_markdown(run: Run) -> str:
    """Return one run: its table, its notes, its signature."""
    lines = [f"### {inert(f'{run.suite_title} × {run.info.model.name}')}", ""]
    lines += _table(run.summary())
    lines += ["", code_span(run.signature), ""]
    lines += [f"- {inert(note)}" for note in notes(run)]
    return "\n".join(lines).rstrip() + "\n"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table with one row per slice and one column per metric."""
    metrics = [m for m in _METRICS if any(r.metric == m for r in rows)]
    blocks = ["blocks"] if "consistency" in metrics else []
    heads = ["slice", "n", *metrics, "chance", *blocks, "ties"]
    yield markdown_line(heads)
    yield "|" + "---|" * len(heads)
    for name, members in by_slice(rows).items():
        found = {r.metric: r for r in members}
        cells = [cell(found[m]) if m in found else "" for m in metrics]
        cells.append(f"{found['chance'].value:.3f}" if "chance" in found else "")
        if blocks:
            cells.append(str(found["consistency"].n) if "consistency" in found else "")
        yield markdown_line([escaped(name), str(members[0].n), *cells, str(members[0].ties)])


def cell(row: Row) -> str:
    """Return a number with its interval; a dash for a share of few blocks."""
    return str(row)
