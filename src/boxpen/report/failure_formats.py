"""Failure tables for the terminal, Markdown, CSV, LaTeX and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.report.failures import ALL, Failures, FailureTable
from boxpen.report.formats.latex import escape
from boxpen.report.numbers import percent
from boxpen.report.plain_table import escaped, markdown_line, plain_table
from boxpen.version import __version__

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "failure_records",
    "failures_csv",
    "failures_latex",
    "failures_markdown",
    "failures_terminal",
]

_TASKS = {"nli": "NLI", "qa": "QA", "pairs": "sentence pairs"}
_CELL = len("100.0 [100.0, 100.0]")


def failures_terminal(table: FailureTable, width: int) -> Iterator[Table]:
    """Split a table into parts of at most ``width``, each with some of the columns."""
    from rich.text import Text

    relations = [r for names in table.rows.values() for r in names]
    first = max(len(name) for name in ("guessing", *table.rows, *relations)) + 1
    room = max(1, (width - first - 16) // (_CELL + 2))
    for start in range(0, len(table.columns), room):
        part = range(start, min(start + room, len(table.columns)))
        title = Text.assemble((f"{_task(table)}: failure rate, % ", "bold"), "[95 %]")
        made = plain_table(title)
        made.add_column("relation", width=first)
        for name in ("tests", "triples"):
            made.add_column(name, justify="right", no_wrap=True)
        for n in part:
            title = Text("\n".join(filter(None, table.columns[n])))
            made.add_column(title, justify="right", width=_CELL, overflow="fold")
        for graph, names in table.rows.items():
            made.add_row(Text(graph), style="bold")
            for relation in names:
                cells = table.row(graph, relation)
                counts = (f"{count:,}" for count in table.counts(graph, relation))
                shown = (Text(_shown(cells[n])) for n in part)
                style = "dim" if relation == ALL else ""
                made.add_row(Text(f" {relation}"), *counts, *shown, style=style)
        guesses = (f"{100 * table.guessing[n]:.1f}" + " " * (_CELL - 5) for n in part)
        made.add_row("guessing", "", "", *guesses, style="dim")
        yield made


def failures_markdown(tables: Sequence[FailureTable]) -> str:
    """Return tables with their notes."""
    lines: list[str] = []
    for table in tables:
        titles = [" ".join(filter(None, column)) for column in table.columns]
        lines += [f"### {_task(table)}: failure rate, % [95 %]", ""]
        lines.append(markdown_line(["relation", "tests", "triples", *map(escaped, titles)]))
        lines.append("|---|" + "---:|" * (len(titles) + 2))
        for graph, names in table.rows.items():
            lines.append(markdown_line([f"**{escaped(graph)}**", *[""] * (len(titles) + 2)]))
            for relation in names:
                counts = (f"{count:,}" for count in table.counts(graph, relation))
                cells = map(_shown, table.row(graph, relation))
                lines.append(markdown_line([escaped(relation), *counts, *cells]))
        lines.append(
            markdown_line(["*guessing*", "", "", *(f"{100 * g:.1f}" for g in table.guessing)])
        )
        lines += ["", *(f"- {note}" for note in table.notes), *([""] if table.notes else [])]
    return "\n".join(lines).rstrip() + "\n"


def failures_latex(tables: Sequence[FailureTable], signatures: Sequence[str] = ()) -> str:
    r"""Return a ``tabular`` a task: needs ``\usepackage{booktabs}`` and nothing else."""
    lines = [f"% boxpen {__version__}: failure rates in per cent, with 95 % intervals"]
    lines += [f"% {' '.join(text.split())}" for text in signatures]
    for table in tables:
        lines += [f"% {' '.join(text.split())}" for text in (_task(table), *table.notes)]
        lines += [rf"\begin{{tabular}}{{lrr{'r' * len(table.columns)}}}", r"\toprule"]
        if any(setting for setting, _ in table.columns):
            settings = (escape(setting) for setting, _ in table.columns)
            lines.append(" & ".join(["", "", "", *settings]) + r" \\")
        models = (escape(model) for _, model in table.columns)
        lines.append(" & ".join(["relation", "tests", "triples", *models]) + r" \\")
        for graph, names in table.rows.items():
            width = len(table.columns) + 3
            lines.append(r"\midrule")
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{escape(graph)}}}}} \\")
            for relation in names:
                counts = (f"{count:,}" for count in table.counts(graph, relation))
                cells = map(_set, table.row(graph, relation))
                lines.append(" & ".join([escape(relation), *counts, *cells]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def failures_csv(tables: Sequence[FailureTable]) -> str:
    """Return a header and one record per number (RFC 4180)."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    records = failure_records(tables)
    writer.writerow(_FIELDS)
    writer.writerows([record[name] for name in _FIELDS] for record in records)
    return stream.getvalue()


def failure_records(tables: Sequence[FailureTable]) -> list[dict[str, Any]]:
    """Return one object per number; the keys are public and stable. Rates are from 0 to 1."""
    return [
        {
            "task": table.task,
            "graph": graph,
            "relation": relation,
            "setting": setting,
            "model": model,
            "failure_rate": cell.rate.value,
            "low": cell.rate.low,
            "high": cell.rate.high,
            "tests": cell.tests,
            "triples": cell.triples,
        }
        for table in tables
        for graph, names in table.rows.items()
        for relation in names
        for (setting, model), cell in zip(table.columns, table.row(graph, relation), strict=True)
        if cell is not None
    ]


_FIELDS = (
    *("task", "graph", "relation", "setting", "model"),
    *("failure_rate", "low", "high", "tests", "triples"),
)


def _task(table: FailureTable) -> str:
    return _TASKS.get(table.task, table.task)


def _shown(cell: Failures | None) -> str:
    if cell is None:
        return ""
    return percent(cell.rate)


def _set(cell: Failures | None) -> str:
    if cell is None:
        return "--"
    value, low, high, _ = cell.rate
    return rf"{100 * value:.1f} {{\scriptsize [{100 * low:.1f}, {100 * high:.1f}]}}"
