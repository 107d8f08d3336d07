"""Runs as Markdown tables, for documents and pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.report.terminal import by_slice, notes
from boxpen.runs import Row, Run

__all__ = ["escaped", "markdown_table", "run_markdown"]

_METRICS = ("accuracy", "consistency", "both_right", "bleu")


def run_markdown(run: Run) -> str:
    """Return one run: its table, its notes, its signature."""
    about = run.about
    lines = [f"### {about['suite']['name']} × {about['model']['name']}", ""]
    lines += markdown_table(run.summary())
    lines += ["", f"`{run.signature}`", ""]
    lines += [f"- {note}" for note in notes(run)]
    return "\n".join(lines).rstrip() + "\n"


def markdown_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table with one line a slice and one column a metric."""
    metrics = [m for m in _METRICS if any(r.metric == m for r in rows)]
    yield "| " + " | ".join(["slice", "n", *metrics, "ties"]) + " |"
    yield "|" + "---|" * (len(metrics) + 3)
    for name, members in by_slice(rows).items():
        found = {r.metric: r for r in members}
        cells = [cell(found[m]) if m in found else "" for m in metrics]
        yield (
            "| "
            + " | ".join([escaped(name), str(members[0].n), *cells, str(members[0].ties)])
            + " |"
        )


def escaped(text: str) -> str:
    """Return a text that is no markup in a cell of a table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def cell(row: Row) -> str:
    """Return a number with its interval."""
    digits = 1 if row.metric == "bleu" else 3
    return f"{row.value:.{digits}f} [{row.low:.{digits}f}, {row.high:.{digits}f}]"
