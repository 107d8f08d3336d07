"""How often each class is translated right: Table 3 of Cai and Xiong (2020), with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from boxpen.analysis.discourse.chinese import data
from boxpen.analysis.discourse.pronoun_judge import PRONOUNS
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT
from boxpen.metrics.intervals import Estimate, share

__all__ = ["COLUMNS", "LINES", "STRICT", "Accuracy", "Paper", "accuracies", "paper"]

COLUMNS = (
    *PRONOUNS.values(), "while", "as", "since", "though", "or",
    "pronoun", "connective", "ellipsis",
)  # fmt: skip
"""The columns of the table, in the order of the paper."""
STRICT = "ellipsis, verb said"
"""The column of ellipsis by the strict criterion: the elided verb must be there."""
LINES = (*COLUMNS[:10], "if", *COLUMNS[10:], STRICT)
"""The columns, with those that the paper does not have."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often one system is right in one column.

    ``right`` and ``cannot_tell`` are shares of the translations with an outcome.
    """

    system: str
    column: str
    translations: int
    right: Estimate
    cannot_tell: Estimate


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper reports of its systems, in per cent and BLEU points, and of how many items."""

    bleu: Mapping[str, Mapping[str, float]]
    accuracy: Mapping[str, Mapping[str, float]]
    items: Mapping[str, int]
    note: str


def accuracies(
    renderings: Sequence[Rendering],
    outcomes: Mapping[Rendering, str | None],
    strict: Mapping[Rendering, str | None] | None = None,
) -> list[Accuracy]:
    """Return the accuracy of every system in every column that it has translations of.

    Without an outcome a translation is open.

    Args:
        renderings: The translations.
        outcomes: What was ruled of each.
        strict: The same of ellipses, by the strict criterion, if known.
    """
    rows = []
    for system in dict.fromkeys(one.system for one in renderings):
        for column in LINES:
            ruled, of = (strict or {}, "ellipsis") if column == STRICT else (outcomes, column)
            mine = [one for one in renderings if one.system == system and of in _columns(one)]
            if column == STRICT and strict is None:
                continue
            found = [outcome for one in mine if (outcome := ruled.get(one)) is not None]
            if mine:
                right = share([float(outcome == RIGHT) for outcome in found])
                open_ = share([float(outcome == CANNOT_TELL) for outcome in found])
                rows.append(Accuracy(system, column, len(mine), right, open_))
    return rows


@cache
def paper() -> Paper:
    """Return the figures of Tables 2 and 3."""
    table = data("paper")
    systems, columns = table["systems"], table["columns"]
    return Paper(
        bleu={s: dict(zip(table["sets"], table["bleu"][s], strict=True)) for s in systems},
        accuracy={s: dict(zip(columns, table["accuracy"][s], strict=True)) for s in systems},
        items=dict(zip(columns, table["items"], strict=True)),
        note=table["note"],
    )


def _columns(one: Rendering) -> tuple[str, ...]:
    """Return the columns that a translation counts in."""
    if one.phenomenon == "pronoun":
        return PRONOUNS[one.cls], one.phenomenon
    if one.phenomenon == "connective":
        return one.cls.partition("-")[0], one.phenomenon
    return (one.phenomenon,)
