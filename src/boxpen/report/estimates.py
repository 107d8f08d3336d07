"""How much work a matrix is, for readers: one table per model, and the total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boxpen.matrix.estimate import CellEstimate, ModelEstimate
from boxpen.report.numbers import DASH
from boxpen.report.plain_table import Grid, Page

__all__ = ["duration", "estimates_object", "estimates_page"]

_HEADS = ("suite", "recipe", "items", "texts", "cached", "tokens", "computed", "time")
_MADE = ("translate", "answer")  # measured in characters, not in tokens


def estimates_page(models: Sequence[ModelEstimate], left: Sequence[tuple[str, str]]) -> Page:
    """Return the tables.

    Args:
        models: The estimates.
        left: What is not run, each with the reason.
    """
    notes = [f"{one.model}: {text}" for one in models for text in one.notes]
    notes += [f"left out {name}: {reason}" for name, reason in left]
    notes.append(
        "computed: tokens without beginnings and copies that texts share; time: on this device, "
        "one model after the other"
    )
    total = _total(models)
    return Page([*map(_grid, models), *([total] if total else [])], notes)


def estimates_object(
    models: Sequence[ModelEstimate], left: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "models": [one.to_json() for one in models],
        "seconds": _seconds(models),
        "left_out": [{"name": name, "reason": reason} for name, reason in left],
    }


def duration(seconds: float | None) -> str:
    """Return a time with two digits or so: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds is None:
        return DASH
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 or seconds == 0 else f"{seconds:.1f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h" if seconds < 100 * 3600 else f"{seconds / 3600:,.0f} h"


def _grid(model: ModelEstimate) -> Grid:
    facts = [f"on {model.device}"] if model.device else []
    if model.speeds:
        facts.append(f"loads in {duration(model.load_seconds)}")
        facts += [_speed(task, speed) for task, speed in model.speeds.items()]
    return Grid(
        title=", ".join([model.model, *facts]),
        heads=_HEADS,
        lines=[_line(cell.suite, cell.recipe, [cell]) for cell in model.cells],
        left=2,
    )


def _total(models: Sequence[ModelEstimate]) -> Grid | None:
    """Return the sums; None if there is only one line."""
    cells = [cell for model in models for cell in model.cells]
    if len(cells) < 2:
        return None
    runs = f"{len(models)} model{'' if len(models) == 1 else 's'}"
    line = list(_line("all", runs, cells))
    line[-1] = duration(_seconds(models))
    return Grid(title="Total, with loading", heads=_HEADS, lines=[line], left=2)


def _line(first: str, second: str, cells: Sequence[CellEstimate]) -> tuple[str, ...]:
    sums = [
        sum(getattr(cell, name) for cell in cells)
        for name in ("items", "requests", "cached", "tokens", "nodes")
    ]
    known = [cell.seconds for cell in cells if cell.seconds is not None]
    seconds = sum(known) if len(known) == len(cells) else None
    return (first, second, *(f"{number:,}" for number in sums), duration(seconds))


def _seconds(models: Sequence[ModelEstimate]) -> float | None:
    known = [one.seconds for one in models if one.seconds is not None]
    return sum(known) if len(known) == len(models) else None


def _speed(task: str, speed: float) -> str:
    what = "characters" if task in _MADE else "tokens"
    return f"{speed:,.0f} {what}/s"
