"""Discourse tables: Tables 2 and 3 of Cai and Xiong (2020), for any systems and with intervals.

Rows are sets or classes, columns are systems, followed by the systems of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from boxpen.analysis.discourse.accuracy import COLUMNS, Accuracy, Paper, accuracies
from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.renderings import Rendering, named_by_context, renderings_of
from boxpen.metrics.intervals import Estimate
from boxpen.report.formats.markdown import escaped
from boxpen.report.plain_table import markdown_line, plain_table
from boxpen.report.tables import systems as grouped
from boxpen.runs.run import Row, Run

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "By",
    "DiscourseTable",
    "discourse_markdown",
    "discourse_object",
    "discourse_systems",
    "discourse_table",
    "discourse_terminal",
]

By = Literal["judge", "readers"]
_TITLES = {
    "bleu": "BLEU [95 %]",
    "judge": "right by the class judge, % [95 %]",
    "readers": "right by readers, % [95 %]",
}
_BESIDE = 3  # systems that find room in a terminal


@dataclass(frozen=True)
class DiscourseTable:
    """What is known about some systems.

    Attributes:
        systems: Their names, in order.
        by: Who judged the translations.
        bleu: By system and set; empty if it is not shown.
        accuracy: By system and column.
        paper: The figures of the paper, if they are shown too.
        notes: Notes for the reader.
    """

    systems: Sequence[str]
    by: By
    bleu: Mapping[tuple[str, str], Row]
    accuracy: Mapping[tuple[str, str], Accuracy]
    paper: Paper | None
    notes: Sequence[str]


def discourse_table(
    systems: Sequence[tuple[str, Sequence[Run]]],
    renderings: Sequence[Rendering],
    outcomes: Mapping[Rendering, str | None],
    *,
    by: By,
    same_items: bool = False,
    bleu: bool = True,
    paper: Paper | None = None,
) -> DiscourseTable:
    """Collect the contents of the tables.

    Args:
        systems: Names, and the runs of each.
        renderings: Their translations.
        outcomes: The judgement of each translation; None if undecided.
        by: Who judged.
        same_items: Outcomes are open where they are not known for every system.
        bleu: Show BLEU by set too.
        paper: The figures of the paper, to show beside the others.
    """
    notes = []
    open_ = sum(outcomes.get(one) is None for one in renderings)
    if open_:
        what = "not decided for every system" if same_items else "not decided yet"
        notes.append(f"{what}, and left out: {open_:,} of {len(renderings):,}")
    notes.append("'cannot tell' does not count as right; its share follows the question mark")
    scores = _bleu(systems) if bleu else {}
    if same_items and scores:
        notes.append("BLEU is of all items")
    shares = {(row.system, row.column): row for row in accuracies(renderings, outcomes)}
    if paper is not None:
        notes += ["the systems of the paper were judged by people", paper.note]
        notes += _fewer("BLEU", {key: row.n for key, row in scores.items()}, paper)
        notes += _fewer("accuracy", {key: row.right.n for key, row in shares.items()}, paper)
    return DiscourseTable(
        systems=[name for name, _ in systems],
        by=by,
        bleu=scores,
        accuracy=shares,
        paper=paper,
        notes=notes,
    )


def discourse_terminal(table: DiscourseTable) -> Iterator[Table | Text]:
    """Yield the tables, a few systems beside each other, and then the notes."""
    from rich.text import Text

    for title, lines, systems, cell in _grids(table):
        own = len(table.systems)
        for part in (*_parts(systems[:own]), *_parts(systems[own:])):
            made = plain_table(title)
            made.add_column("")
            for system in part:
                made.add_column(Text(system), justify="right", overflow="fold")
            for line in lines:
                made.add_row(line, *(Text(cell(system, line)) for system in part))
            yield made
            yield Text()
    for note in table.notes:
        yield Text(f"• {note}")


def discourse_markdown(table: DiscourseTable) -> str:
    """Return the same as Markdown."""
    out: list[str] = []
    for title, lines, systems, cell in _grids(table):
        out += [f"### {title}", "", markdown_line(["", *map(escaped, systems)])]
        out.append("|---|" + "---:|" * len(systems))
        out += [
            markdown_line([line, *(cell(system, line) for system in systems)]) for line in lines
        ]
        out.append("")
    out += [f"- {escaped(note)}" for note in table.notes]
    return "\n".join(out).rstrip() + "\n"


def discourse_object(table: DiscourseTable) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "by": table.by,
        "bleu": [
            {
                "system": system,
                "set": name,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "n": row.n,
                "signature": row.signature,
            }
            for (system, name), row in table.bleu.items()
        ],
        "accuracy": [
            {
                "system": row.system,
                "class": row.column,
                "translations": row.translations,
                "right": row.right._asdict(),
                "cannot_tell": row.cannot_tell._asdict(),
            }
            for row in table.accuracy.values()
        ],
        "paper": None
        if table.paper is None
        else {
            "bleu": dict(table.paper.bleu),
            "accuracy_percent": dict(table.paper.accuracy),
            "items": dict(table.paper.items),
        },
        "notes": list(table.notes),
    }


Cell = Callable[[str, str], str]
"""Returns the cell in the column of a system and the row of a class."""


def _grids(table: DiscourseTable) -> Iterator[tuple[str, list[str], list[str], Cell]]:
    """Yield title, lines, systems and cells of every table."""
    paper = table.paper
    others = [] if paper is None else [f"{name} (paper)" for name in paper.accuracy]
    systems = [*table.systems, *others]

    def bleu(system: str, line: str) -> str:
        if paper is not None and system in others:
            return f"{paper.bleu[system.removesuffix(' (paper)')][line]:.1f}"
        row = table.bleu.get((system, line))
        return "" if row is None else f"{row.value:.1f} [{row.low:.1f}, {row.high:.1f}]"

    def accuracy(system: str, line: str) -> str:
        if paper is not None and system in others:
            return f"{paper.accuracy[system.removesuffix(' (paper)')][line]:g}"
        row = table.accuracy.get((system, line))
        return "" if row is None else _shown(row)

    if table.bleu:
        sets = [name for name in PHENOMENA if any(name == of for _, of in table.bleu)]
        yield _TITLES["bleu"], sets, systems, bleu
    classes = [name for name in COLUMNS if any(name == of for _, of in table.accuracy)]
    yield _TITLES[table.by], classes, systems, accuracy


def discourse_systems(
    runs: Sequence[Run],
) -> tuple[list[tuple[str, list[Run]]], list[Rendering]]:
    """Return the systems of runs, told apart by the context they read, and their translations."""
    named = named_by_context(runs)
    own = {id(run): before for run, before in zip(named, runs, strict=True)}
    found = [(name, [own[id(run)] for run in group]) for name, group in grouped(named)]
    return found, renderings_of(found)


def _bleu(systems: Sequence[tuple[str, Sequence[Run]]]) -> dict[tuple[str, str], Row]:
    """Return BLEU by system and set, of the first run that has it."""
    found: dict[tuple[str, str], Row] = {}
    for system, runs in systems:
        for run in runs:
            for row in run.summary():
                tag, _, name = row.slice.partition("=")
                if row.metric == "bleu" and tag == "set" and name in PHENOMENA:
                    found.setdefault((system, name), row)
    return found


def _fewer(what: str, counts: Mapping[tuple[str, str], int], paper: Paper) -> Iterator[str]:
    """Yield notes where numbers are based on fewer items than those of the paper."""
    found: dict[str, list[int]] = {}
    for (_, line), n in counts.items():
        found.setdefault(line, []).append(n)
    told = [
        f"{line} {_span(ns)} of {paper.items[line]:,}"
        for line, ns in found.items()
        if min(ns) < paper.items[line]
    ]
    if told:
        yield f"{what} is of fewer items than the paper's: {', '.join(told)}"


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _parts(systems: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield groups of systems that fit side by side."""
    for start in range(0, len(systems), _BESIDE):
        yield systems[start : start + _BESIDE]


def _shown(row: Accuracy) -> str:
    found: Estimate = row.right
    if not found.n:
        return "–"
    numbers = f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    return f"{numbers} ?{100 * row.cannot_tell.value:.1f}"
