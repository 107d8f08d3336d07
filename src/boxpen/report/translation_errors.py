"""Types of translation errors as tables: Table 7 of He et al. (2020), by set and with intervals.

Under it stands, for every system, how errors of common sense go with its choice between the right
and the wrong candidate, and how far judges agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from boxpen.analysis.error_shares import Crossed, ErrorShares, crossed, error_shares
from boxpen.analysis.translation_errors import ERROR_TYPES, Output
from boxpen.report.numbers import percent, plain
from boxpen.report.plain_table import Grid, Page
from boxpen.review import LabelPair, Review, label_pairs

__all__ = [
    "PAPER",
    "ErrorTable",
    "error_table",
    "errors_object",
    "errors_page",
]

PAPER = dict(zip(ERROR_TYPES, (0.716, 0.227, 0.057), strict=True))
"""Shares among the errors of the paper's Transformer, over all of CommonMT."""

_HEADS = ("set", "judged", "right", "errors", *ERROR_TYPES)


@dataclass(frozen=True)
class ErrorTable:
    """What is known about the errors of some systems.

    Attributes:
        pairs: Agreement of every two judges in labels of errors.
    """

    shares: Sequence[ErrorShares]
    crossed: Sequence[Crossed]
    pairs: Sequence[LabelPair]
    paper: bool
    notes: Sequence[str]


def error_table(outputs: Sequence[Output], review: Review, *, paper: bool) -> ErrorTable:
    """Collect the contents of the tables."""
    questions, decisions = review.questions, review.decisions
    judged = [d for q in questions if (d := decisions.get(q.item)) is not None and d.votes]
    unread = len(questions) - len(judged)
    waiting = sum(decision.verdict is None for decision in judged)
    notes = []
    if unread:
        notes.append(f"not judged yet: {unread:,} of {len(questions):,} translations")
    if waiting:
        notes.append(f"judged, not decided (too few judges, or divided): {waiting:,}")
    choices = crossed(outputs, decisions)
    notes += [
        f"{row.system}, judged translations of items without a choice, or tied: {row.left_out:,}"
        for row in choices
        if row.left_out
    ]
    return ErrorTable(
        shares=error_shares(outputs, decisions),
        crossed=choices,
        pairs=label_pairs(review.given, ERROR_TYPES),
        paper=paper,
        notes=notes,
    )


def errors_page(table: ErrorTable) -> Page:
    """Return a table of types and a table of choices for every system."""
    grids = []
    for row in table.crossed:
        grids += [
            Grid(
                name=row.system,
                title="types among all errors, % [95 %]",
                heads=_HEADS,
                lines=list(_share_lines(table, row.system)),
                gap=2,
            ),
            Grid(
                name=row.system,
                title="choice of candidate and error of translation",
                heads=["chosen", f"{row.type} error", "none", "% with [95 %]"],
                lines=list(_cross_lines(row)),
                gap=2,
                fold=False,
                untitled=True,
            ),
        ]
    return Page(grids, list(_remarks(table)))


def errors_object(table: ErrorTable) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "shares": [plain(row) for row in table.shares],
        "choices": [plain(row) for row in table.crossed],
        "agreement": [asdict(pair) | {"share": pair.share} for pair in table.pairs],
        "paper": PAPER if table.paper else None,
        "notes": list(table.notes),
    }


def _share_lines(table: ErrorTable, system: str) -> Iterator[list[str]]:
    for row in table.shares:
        if row.system == system:
            shares = (percent(row.shares[kind]) for kind in ERROR_TYPES)
            yield [row.part, f"{row.judged:,}", percent(row.right), f"{row.errors:,}", *shares]
    if table.paper:
        yield ["paper", "", "", "", *(f"{100 * PAPER[kind]:.1f}" for kind in ERROR_TYPES)]


def _cross_lines(row: Crossed) -> Iterator[list[str]]:
    names = ("wrong candidate", "right candidate")
    for name, counts, found in zip(names, row.table, (row.wrong, row.right), strict=True):
        yield [name, *(f"{count:,}" for count in counts), percent(found)]
    yield ["difference", "", "", percent(row.difference, "+")]


def _remarks(table: ErrorTable) -> Iterator[str]:
    yield from table.notes
    for pair in table.pairs:
        share = f"{100 * pair.share:.1f} %" if pair.labels else "none"
        beside = ", in the paper 92 %" if table.paper else ""
        yield (
            f"{pair.first} and {pair.second}: {share} of {pair.labels:,} labels of errors are "
            f"given alike, on {pair.items:,} translations{beside}"
        )
