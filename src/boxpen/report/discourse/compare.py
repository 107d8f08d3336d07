"""Tables that compare systems on discourse: one per phenomenon, one row per pair of systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from boxpen.analysis.discourse.compare import Comparison
from boxpen.report.formats.markdown import escaped
from boxpen.report.numbers import p_value
from boxpen.report.plain_table import markdown_line, plain_table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["comparison_markdown", "comparison_object", "comparison_terminal"]

_WHO = {"judge": "the class judge", "readers": "readers"}
_RIGHT = ("n", "A>B", "B>A", "right, points [95 %]", "Holm")
_BLEU = ("BLEU A", "BLEU B", "Holm")


def comparison_terminal(found: Sequence[Comparison], by: str) -> Iterator[Table | Text]:
    """Yield two tables of every phenomenon, and then the notes."""
    from rich.text import Text

    for part, pairs in _parts(found).items():
        for columns, cells in ((_RIGHT, _right), (_BLEU, _bleu)):
            made = plain_table(part, gap=1)
            for column in ("A", "B"):
                made.add_column(column, overflow="fold")
            for column in columns:
                made.add_column(column, justify="right", no_wrap=True)
            for pair in pairs:
                made.add_row(Text(pair.a), Text(pair.b), *map(Text, cells(pair)))
            yield made
            yield Text()
    for note in _notes(found, by):
        yield Text(f"• {note}")


def comparison_markdown(found: Sequence[Comparison], by: str) -> str:
    """Return the same as Markdown, in one table."""
    columns = ["", "A", "B", *_RIGHT, *_BLEU]
    out = [markdown_line(columns), "|---|---|---|" + "---:|" * (len(columns) - 3)]
    for part, pairs in _parts(found).items():
        for pair in pairs:
            cells = [part, escaped(pair.a), escaped(pair.b), *_right(pair), *_bleu(pair)]
            out.append(markdown_line(cells))
    out += ["", *(f"- {escaped(note)}" for note in _notes(found, by))]
    return "\n".join(out) + "\n"


def comparison_object(found: Sequence[Comparison], by: str) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "by": by,
        "pairs": [
            asdict(pair)
            | {"p": _or_none(pair.p), "adjusted": _or_none(pair.adjusted)}
            | {"difference": {k: _or_none(v) for k, v in pair.difference._asdict().items()}}
            | {"bleu": pair.bleu._asdict()}
            for pair in found
        ],
    }


def _parts(found: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    parts: dict[str, list[Comparison]] = {}
    for pair in found:
        parts.setdefault(pair.part, []).append(pair)
    return parts


def _right(pair: Comparison) -> list[str]:
    if not pair.n:
        return ["0", "0", "0", "–", "–"]
    d = pair.difference
    points = f"{100 * d.value:+.1f} [{100 * d.low:+.1f}, {100 * d.high:+.1f}]"
    return [f"{pair.n:,}", str(pair.only_a), str(pair.only_b), points, p_value(pair.adjusted)]


def _bleu(pair: Comparison) -> list[str]:
    return [f"{pair.bleu.a:.1f}", f"{pair.bleu.b:.1f}", p_value(pair.bleu_adjusted)]


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _notes(found: Sequence[Comparison], by: str) -> list[str]:
    return [
        f"right: by {_WHO[by]}, of A less that of B; A>B: sentences that only A has right; "
        "'cannot tell' is not right",
        "tests: of what is right the exact McNemar test, of BLEU approximate randomisation; "
        "Holm: corrected for the pairs of systems that could be tested in the same table or part, "
        "not for the number of phenomena",
        f"BLEU: {found[0].bleu.signature}",
    ]
