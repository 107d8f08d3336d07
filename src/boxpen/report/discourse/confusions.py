"""The table of what wrong translations say instead, in all formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from boxpen.analysis.discourse.confusions import Confusion
from boxpen.printable import neutral
from boxpen.report.plain_table import Grid

__all__ = ["confusion_csv", "confusion_grid", "confusion_object"]

_MOST = 5
"""Words that a line of the table names."""
_NOTHING = "(nothing)"


def confusion_grid(found: Sequence[Confusion]) -> Grid:
    """Return the table, one line for each system and class."""
    one = len({row.system for row in found}) == 1
    lines = [
        [
            *([] if one else [row.system]),
            _asked(row),
            _instead(row),
            f"{row.translations:,}",
            f"{row.right:,}",
            f"{sum(row.instead.values()):,}",
            f"{row.cannot_tell:,}",
        ]
        for row in found
    ]
    heads = [*([] if one else ["system"]), "asked for", "said instead", "n", "right", "wrong", "?"]
    title = "what wrong translations say instead"
    return Grid(title=title, heads=heads, lines=lines, left=2 if one else 3, fold=False)


def confusion_csv(found: Sequence[Confusion]) -> str:
    """Return one line for each system, class and word; the word is empty if nothing is said."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["system", "english", "class", "instead", "count", "translations"])
    for row in found:
        for said, count in row.instead.items():
            texts = map(neutral, (row.system, row.word, row.cls, said))
            rows.writerow([*texts, count, row.translations])
    return out.getvalue()


def confusion_object(found: Sequence[Confusion]) -> list[dict[str, Any]]:
    """Return the same as data; the keys are public and stable."""
    return [
        {
            "system": row.system,
            "english": row.word,
            "class": row.cls,
            "translations": row.translations,
            "right": row.right,
            "cannot_tell": row.cannot_tell,
            "instead": dict(row.instead),
        }
        for row in found
    ]


def _asked(row: Confusion) -> str:
    """Name a class with its English word: you → 你们, while → 而, do → the verb."""
    if row.cls == "ellipsis":
        return f"{row.word} → the verb"
    return f"{row.word} → {row.cls.rpartition('-')[2]}"


def _instead(row: Confusion) -> str:
    ranked = list(row.instead.items())
    shown = [f"{said or _NOTHING} {count:,}" for said, count in ranked[:_MOST]]
    rest = sum(count for _, count in ranked[_MOST:])
    return ", ".join([*shown, *([f"others {rest:,}"] if rest else [])])
