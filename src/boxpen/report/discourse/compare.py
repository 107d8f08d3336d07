"""Tables that compare systems on discourse: one per phenomenon, one row per pair of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from boxpen.analysis.discourse.compare import Comparison
from boxpen.report.numbers import p_value, percent
from boxpen.report.plain_table import Grid, Page

__all__ = ["comparison_object", "comparison_page"]

_WHO = {"judge": "the class judge", "readers": "readers"}
_RIGHT = ("n", "A>B", "B>A", "right, points [95 %]", "Holm")
_BLEU = ("BLEU A", "BLEU B", "Holm")


def comparison_page(found: Sequence[Comparison], by: str, *, wide: bool) -> Page:
    """Return two tables of every phenomenon, or one that has room for all."""
    if wide:
        lines = [[pair.part, pair.a, pair.b, *_right(pair), *_bleu(pair)] for pair in found]
        heads = ("", "A", "B", *_RIGHT, *_BLEU)
        return Page(
            [Grid(title="", heads=heads, lines=lines, left=3, untitled=True)], _notes(found, by)
        )
    grids = [
        Grid(
            title=part,
            heads=("A", "B", *columns),
            lines=[[pair.a, pair.b, *cells(pair)] for pair in found if pair.part == part],
            left=2,
            fold=False,
        )
        for part in dict.fromkeys(pair.part for pair in found)
        for columns, cells in ((_RIGHT, _right), (_BLEU, _bleu))
    ]
    return Page(grids, _notes(found, by))


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


def _right(pair: Comparison) -> list[str]:
    if not pair.n:
        return ["0", "0", "0", "–", "–"]
    points = percent(pair.difference, "+")
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
