"""Failure tables for the terminal, Markdown, CSV, LaTeX and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.printable import neutral
from boxpen.report.failures import ALL, Failures, FailureTable
from boxpen.report.formats.latex import comment, escape
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
    """Split tables into parts of at most ``width``, each with some of the columns."""
    for one in _all([table]):
        yield from _terminal(one, width)


def _terminal(table: FailureTable, width: int) -> Iterator[Table]:
    from rich.text import Text

    relations = [r for names in table.rows.values() for r in names]
    first = max(len(name) for name in ("guessing", *table.rows, *relations)) + 1
    room = max(1, (width - first - 16) // (_CELL + 2))
    for start in range(0, len(table.columns), room):
        part = range(start, min(start + room, len(table.columns)))
        title = Text.assemble((f"{_task(table)}: {table.measure}, % ", "bold"), "[95 %]")
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
        guesses = (_guessed(table.guessing[n]).ljust(_CELL - 1) for n in part)
        made.add_row("guessing", "", "", *guesses, style="dim")
        yield made


def failures_markdown(tables: Sequence[FailureTable]) -> str:
    """Return tables with their notes."""
    lines: list[str] = []
    for table in _all(tables):
        titles = [" ".join(filter(None, column)) for column in table.columns]
        lines += [f"### {_task(table)}: {table.measure}, % [95 %]", ""]
        lines.append(markdown_line(["relation", "tests", "triples", *map(escaped, titles)]))
        lines.append("|---|" + "---:|" * (len(titles) + 2))
        for graph, names in table.rows.items():
            lines.append(markdown_line([f"**{escaped(graph)}**", *[""] * (len(titles) + 2)]))
            for relation in names:
                counts = (f"{count:,}" for count in table.counts(graph, relation))
                cells = map(_shown, table.row(graph, relation))
                lines.append(markdown_line([escaped(relation), *counts, *cells]))
        lines.append(markdown_line(["*guessing*", "", "", *map(_guessed, table.guessing)]))
        lines += ["", *(f"- {note}" for note in table.notes), *([""] if table.notes else [])]
    return "\n".join(lines).rstrip() + "\n"


def failures_latex(tables: Sequence[FailureTable], signatures: Sequence[str] = ()) -> str:
    r"""Return a ``tabular`` a task: needs ``\usepackage{booktabs}`` and nothing else."""
    lines = [f"% boxpen {__version__}: failure rates in per cent, with 95 % intervals"]
    lines += [f"% {comment(text)}" for text in signatures]
    for table in _all(tables):
        said = (f"{_task(table)}: {table.measure}", *table.notes)
        lines += [f"% {comment(text)}" for text in said]
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
    records = failure_records(tables)
    fields = list(dict.fromkeys((*_FIELDS, *(name for record in records for name in record))))
    writer = csv.DictWriter(stream, fields)
    writer.writeheader()
    writer.writerows(
        {k: neutral(v) if isinstance(v, str) else v for k, v in record.items()}
        for record in records
    )
    return stream.getvalue()


def failure_records(tables: Sequence[FailureTable]) -> list[dict[str, Any]]:
    """Return one object per number; the keys are public and stable. Rates are from 0 to 1.

    Tests with wrong tails add ``wrong_tail_failure_rate``, ``balanced_accuracy`` and
    ``paired_accuracy``, each with ``_low`` and ``_high``; a relation without one lacks its keys.
    """
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
            **_more(table, graph, relation, number),
        }
        for table in tables
        for graph, names in table.rows.items()
        for relation in names
        for number, (setting, model) in enumerate(table.columns)
        if (cell := table.cells.get((graph, relation, number))) is not None
    ]


def _more(table: FailureTable, graph: str, relation: str, number: int) -> dict[str, float]:
    """Return the other measures of a cell, under their names."""
    out: dict[str, float] = {}
    for other, name in zip(table.more, _MORE, strict=bool(table.more)):
        if (cell := other.cells.get((graph, relation, number))) is not None:
            value, low, high, _ = cell.rate
            out |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return out


_MORE = ("wrong_tail_failure_rate", "balanced_accuracy", "paired_accuracy")
_FIELDS = (
    *("task", "graph", "relation", "setting", "model"),
    *("failure_rate", "low", "high", "tests", "triples"),
)


def _all(tables: Sequence[FailureTable]) -> list[FailureTable]:
    """Return tables with those of other measures, except where no relation has the measure."""
    return [one for table in tables for one in (table, *table.more) if one is table or one.cells]


def _task(table: FailureTable) -> str:
    return _TASKS.get(table.task, table.task)


def _guessed(share: float) -> str:
    """Return what guessing gets; nothing for a column without such tests."""
    return "" if math.isnan(share) else f"{100 * share:.1f}"


def _shown(cell: Failures | None) -> str:
    if cell is None:
        return ""
    return percent(cell.rate)


def _set(cell: Failures | None) -> str:
    if cell is None:
        return "--"
    value, low, high, _ = cell.rate
    return rf"{100 * value:.1f} {{\scriptsize [{100 * low:.1f}, {100 * high:.1f}]}}"
