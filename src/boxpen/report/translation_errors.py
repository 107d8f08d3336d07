"""Types of translation errors as tables: Table 7 of He et al. (2020), by set and with intervals.

Under it stands, for every system, how errors of common sense go with its choice between the right
and the wrong candidate, and how far judges agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from boxpen.analysis.error_shares import Crossed, ErrorShares, crossed, error_shares
from boxpen.analysis.translation_errors import ERROR_TYPES, Output
from boxpen.metrics.intervals import Estimate
from boxpen.report.formats.markdown import escaped
from boxpen.report.plain_table import markdown_line, plain_table
from boxpen.review import LabelPair, Review, label_pairs

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "PAPER",
    "ErrorTable",
    "error_table",
    "errors_markdown",
    "errors_object",
    "errors_terminal",
]

PAPER = dict(zip(ERROR_TYPES, (0.716, 0.227, 0.057), strict=True))
"""Shares among the errors of the paper's Transformer, over all of CommonMT."""

_HEADS = ("set", "judged", "right", "errors", *ERROR_TYPES)


@dataclass(frozen=True)
class ErrorTable:
    """What is known about the errors of some systems.

    Attributes:
        shares: By system and set.
        crossed: By system.
        pairs: Agreement of every two judges in labels of errors.
        paper: Whether the numbers of the paper are of the same suite.
        notes: Notes for the reader.
    """

    shares: Sequence[ErrorShares]
    crossed: Sequence[Crossed]
    pairs: Sequence[LabelPair]
    paper: bool
    notes: Sequence[str]


def error_table(outputs: Sequence[Output], review: Review, *, paper: bool) -> ErrorTable:
    """Collect the contents of the tables.

    Args:
        outputs: What was translated.
        review: What judges said about it.
        paper: Whether the suite is CommonMT.
    """
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


def errors_terminal(table: ErrorTable) -> Iterator[Table | Text]:
    """Yield a table of types and a table of choices for every system, and then the notes."""
    from rich.text import Text

    for row in table.crossed:
        made = _grid(row.system, "types among all errors, % [95 %]")
        for head in _HEADS:
            made.add_column(head, justify="left" if head == "set" else "right")
        for cells in _share_lines(table, row.system):
            # The interval has a line of its own: a terminal is not as wide as a page.
            made.add_row(*(Text(cell.replace(" [", "\n[")) for cell in cells))
        yield made
        made = _grid(row.system, "choice of candidate and error of translation")
        for n, head in enumerate(_cross_heads(row)):
            made.add_column(head, justify="right" if n else "left")
        for cells in _cross_lines(row):
            made.add_row(*map(Text, cells))
        yield Text()
        yield made
        yield Text()
    for line in _remarks(table):
        yield Text(f"• {line}")


def errors_markdown(table: ErrorTable) -> str:
    """Return the same as Markdown."""
    lines: list[str] = []
    for row in table.crossed:
        lines += [f"### {escaped(row.system)}: types among all errors, % [95 %]", ""]
        lines += [markdown_line(_HEADS), "|---|" + "---:|" * (len(_HEADS) - 1)]
        lines += [
            markdown_line([escaped(c) for c in cells]) for cells in _share_lines(table, row.system)
        ]
        heads = _cross_heads(row)
        lines += ["", markdown_line(heads), "|---|" + "---:|" * (len(heads) - 1)]
        lines += [markdown_line(cells) for cells in _cross_lines(row)]
        lines.append("")
    lines += [f"- {escaped(line)}" for line in _remarks(table)]
    return "\n".join(lines).rstrip() + "\n"


def errors_object(table: ErrorTable) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "shares": [_plain(row) for row in table.shares],
        "choices": [_plain(row) for row in table.crossed],
        "agreement": [asdict(pair) | {"share": pair.share} for pair in table.pairs],
        "paper": PAPER if table.paper else None,
        "notes": list(table.notes),
    }


def _plain(row: ErrorShares | Crossed) -> dict[str, Any]:
    """Return a row as an object, its estimates too."""

    def named(value: Any) -> Any:
        if isinstance(value, Estimate):
            return value._asdict()
        if isinstance(value, Mapping):
            return {key: named(inner) for key, inner in value.items()}
        return value

    return {name: named(getattr(row, name)) for name in row.__dataclass_fields__}


def _share_lines(table: ErrorTable, system: str) -> Iterator[list[str]]:
    for row in table.shares:
        if row.system == system:
            shares = (_shown(row.shares[kind]) for kind in ERROR_TYPES)
            yield [row.part, f"{row.judged:,}", _shown(row.right), f"{row.errors:,}", *shares]
    if table.paper:
        yield ["paper", "", "", "", *(f"{100 * PAPER[kind]:.1f}" for kind in ERROR_TYPES)]


def _cross_heads(row: Crossed) -> list[str]:
    return ["chosen", f"{row.type} error", "none", "% with [95 %]"]


def _cross_lines(row: Crossed) -> Iterator[list[str]]:
    names = ("wrong candidate", "right candidate")
    for name, counts, found in zip(names, row.table, (row.wrong, row.right), strict=True):
        yield [name, *(f"{count:,}" for count in counts), _shown(found)]
    yield ["difference", "", "", _shown(row.difference, "+")]


def _remarks(table: ErrorTable) -> Iterator[str]:
    yield from table.notes
    for pair in table.pairs:
        share = f"{100 * pair.share:.1f} %" if pair.labels else "none"
        beside = ", in the paper 92 %" if table.paper else ""
        yield (
            f"{pair.first} and {pair.second}: {share} of {pair.labels:,} labels of errors are "
            f"given alike, on {pair.items:,} translations{beside}"
        )


def _grid(system: str, title: str) -> Table:
    from rich.text import Text

    return plain_table(Text.assemble((system, "bold"), f": {title}"))


def _shown(found: Estimate, sign: str = "") -> str:
    value, low, high, _ = found
    if value != value:  # NaN: a share of nothing
        return "–"
    return f"{100 * value:{sign}.1f} [{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"
