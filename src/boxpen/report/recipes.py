"""The same model under different recipes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boxpen.analysis.recipes import RecipePair, recipe_pairs
from boxpen.metrics.intervals import Estimate
from boxpen.report.numbers import DASH, interval, percent, plain
from boxpen.report.plain_table import Grid, Page
from boxpen.runs.run import Run

__all__ = ["recipes_grid", "recipes_object", "recipes_page"]

_HEADS = ("suite × model", "recipe", "n", "accuracy, %", "common", "on common, %", "agree, %", "κ")


def recipes_page(runs: Sequence[Run]) -> Page | None:
    """Return the table; None if no model was run on a suite under two recipes."""
    pairs = recipe_pairs(runs)
    if not pairs:
        return None
    notes = [
        "common: items that both recipes decided; agree: the same candidate on both; κ: Cohen's "
        "kappa of the choices"
    ]
    return Page([recipes_grid(pairs)], notes)


def recipes_grid(pairs: Sequence[RecipePair]) -> Grid:
    """Return two lines per pair; what both share is on the second."""
    lines = []
    for pair in pairs:
        for place in (0, 1):
            shared = (f"{pair.agree.n:,}", percent(pair.common[place]))
            both = (percent(pair.agree), _kappa(pair.kappa)) if place else ("", "")
            lines.append(
                (
                    "" if place else f"{pair.suite} × {pair.model}",
                    pair.recipes[place],
                    f"{pair.accuracies[place].n:,}",
                    percent(pair.accuracies[place]),
                    *shared,
                    *both,
                )
            )
    return Grid(title="The same model, different recipes", heads=_HEADS, lines=lines, left=2)


def recipes_object(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return [
        {
            **{name: value for name, value in plain(pair).items() if name in _PLAIN},
            "recipes": [
                {
                    "recipe": pair.recipes[place],
                    "accuracy": pair.accuracies[place]._asdict(),
                    "common": pair.common[place]._asdict(),
                    "signature": pair.signatures[place],
                }
                for place in (0, 1)
            ],
        }
        for pair in recipe_pairs(runs)
    ]


_PLAIN = ("suite", "model", "agree", "kappa")


def _kappa(kappa: Estimate) -> str:
    if kappa.value != kappa.value:
        return DASH
    return interval(kappa.value, kappa.low, kappa.high, 2)
