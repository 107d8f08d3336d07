"""Discourse tables: Tables 2 and 3 of Cai and Xiong (2020), for any systems and with intervals.

Rows are sets or classes, columns are systems, followed by the systems of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from boxpen.analysis.discourse.accuracy import LINES, STRICT, Accuracy, Paper, accuracies
from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.confusions import Confusion, confusions
from boxpen.analysis.discourse.renderings import Rendering, named_by_context, renderings_of
from boxpen.analysis.discourse.ruling import Ruling
from boxpen.report.discourse.confusions import confusion_grid, confusion_object
from boxpen.report.numbers import DASH, interval, percent, plain
from boxpen.report.plain_table import Grid, Page
from boxpen.report.tables import systems as grouped
from boxpen.runs.run import Row, Run

__all__ = [
    "By",
    "DiscourseTable",
    "discourse_object",
    "discourse_page",
    "discourse_systems",
    "discourse_table",
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
        bleu: By system and set; empty if it is not shown.
        accuracy: By system and column.
        confusions: What wrong translations say instead; empty if readers judged.
    """

    systems: Sequence[str]
    by: By
    bleu: Mapping[tuple[str, str], Row]
    accuracy: Mapping[tuple[str, str], Accuracy]
    paper: Paper | None
    notes: Sequence[str]
    confusions: Sequence[Confusion] = ()


def discourse_table(
    systems: Sequence[tuple[str, Sequence[Run]]],
    renderings: Sequence[Rendering],
    outcomes: Mapping[Rendering, str | None],
    *,
    by: By,
    same_items: bool = False,
    bleu: bool = True,
    paper: Paper | None = None,
    rulings: Mapping[Rendering, Ruling] | None = None,
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
        rulings: What the class judge says of each, for what it alone knows.
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
    strict = None
    if rulings is not None:
        strict = {one: ruling.strict for one, ruling in rulings.items()}
        if any(strict.values()):
            notes.append(f"'{STRICT}': an ending without the verb (我也是, 我会的) is not right")
    found = accuracies(renderings, outcomes, strict)
    shares = {(row.system, row.column): row for row in found}
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
        confusions=confusions(rulings) if rulings is not None else (),
    )


def discourse_page(table: DiscourseTable) -> Page:
    """Return the tables; a terminal shows a few systems side by side."""
    return Page(list(_grids(table)), table.notes)


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
                "right": plain(row.right),
                "cannot_tell": plain(row.cannot_tell),
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
        "confusions": confusion_object(table.confusions),
        "notes": list(table.notes),
    }


def _grids(table: DiscourseTable) -> Iterator[Grid]:
    def bleu(system: str, line: str) -> str:
        row = table.bleu.get((system, line))
        return "" if row is None else interval(row.value, row.low, row.high, 1)

    def accuracy(system: str, line: str) -> str:
        row = table.accuracy.get((system, line))
        return "" if row is None else _shown(row)

    paper = table.paper
    if table.bleu:
        theirs = paper.bleu if paper else {}
        yield _grid(table, _TITLES["bleu"], PHENOMENA, table.bleu, bleu, theirs, ".1f")
    theirs = paper.accuracy if paper else {}
    yield _grid(table, _TITLES[table.by], LINES, table.accuracy, accuracy, theirs, "g")
    if table.confusions:
        yield confusion_grid(table.confusions)


def _grid(
    table: DiscourseTable,
    title: str,
    names: Sequence[str],
    known: Mapping[tuple[str, str], object],
    cell: Callable[[str, str], str],
    paper: Mapping[str, Mapping[str, float]],
    form: str,
) -> Grid:
    own, last = len(table.systems) + 1, len(table.systems) + len(paper) + 1
    lines = [
        [
            name,
            *(cell(system, name) for system in table.systems),
            *(_of_paper(found, name, form) for found in paper.values()),
        ]
        for name in names
        if any(name == of for _, of in known)
    ]
    return Grid(
        title=title,
        heads=["", *table.systems, *(f"{system} (paper)" for system in paper)],
        lines=lines,
        gap=2,
        fold=False,
        beside=[
            range(start, min(start + _BESIDE, end))
            for begin, end in ((1, own), (own, last))
            for start in range(begin, end, _BESIDE)
        ],
    )


def _of_paper(found: Mapping[str, float], name: str, form: str) -> str:
    """Show a figure of the paper; what its readers asked of an ellipsis is not known."""
    value = found.get("ellipsis" if name == STRICT else name)
    return "" if value is None else f"{value:{form}}"


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
        if min(ns) < paper.items.get(line, 0)
    ]
    if told:
        yield f"{what} is of fewer items than the paper's: {', '.join(told)}"


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _shown(row: Accuracy) -> str:
    if not row.right.n:
        return DASH
    return f"{percent(row.right)} ?{100 * row.cannot_tell.value:.1f}"
