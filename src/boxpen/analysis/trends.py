"""Trends of runs: does accuracy rise or fall with a tag that is a number, such as the steps?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from boxpen.analysis.slices import CROSS, cut
from boxpen.errors import RunError
from boxpen.metrics.choice import chance, clusters
from boxpen.metrics.trend import Trend, trend
from boxpen.printable import excerpt
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["RunTrend", "trends"]

_NUMBER = re.compile(r"[+-]?([0-9]+(?:\.[0-9]+)?)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LARGEST, _SMALLEST = 1e100, 1e-100  # beyond them a difference or a slope may be no number


@dataclass(frozen=True, slots=True)
class RunTrend:
    """The trend of one run, or of one part of it.

    Attributes:
        cut: What the run was divided by: ``steps``, or ``set x steps``.
        part: The part, such as ``explanation``; empty if it is the whole run.
        values: Every level as the tag has it, in their order; the first if it has several forms.
        chances: What guessing earns at every level, in their order.
        left_out: How many items of the run the cut does not divide.
    """

    cut: str
    part: str
    trend: Trend
    values: tuple[str, ...]
    chances: tuple[float, ...]
    left_out: int


def trends(run: Run, name: str) -> list[RunTrend]:
    """Test a run for a trend; crossed with another tag, each of its parts by itself.

    Args:
        run: The run.
        name: A tag whose values are numbers, or two tags of which the last is that one:
            ``set x steps``.

    Raises:
        RunError: If the run cannot be divided so, or not into two numbers or more.
    """
    none = f"the run of {run.info.suite.name} has no trend by '{name}'"
    parts: dict[str, dict[float, _Level]] = {}
    slices = cut(run, name)
    for label, verdicts in slices.items():
        part, _, value = label.rpartition(CROSS)
        fault = _fault(value)
        if fault is not None:
            raise RunError(f"{none}: its value {excerpt(value)} {fault}")
        level = parts.setdefault(part, {}).setdefault(float(value), _Level(value, []))
        if float(value) and Decimal(value) != Decimal(level.value):
            raise RunError(
                f"{none}: its values {excerpt(level.value)} and {excerpt(value)} are too close to "
                "be told apart, expected numbers that differ in their first 15 digits"
            )
        level.verdicts.extend(verdicts)
    left_out = len(run.verdicts) - sum(map(len, slices.values()))
    found = []
    for part, levels in parts.items():
        if len(levels) < 2:
            where = f" in {part}" if part else ""
            (level,) = levels.values()
            raise RunError(
                f"{none}: all items{where} have the value {level.value}, expected two values or "
                "more"
            )
        ordered = dict(sorted(levels.items()))
        values = tuple(level.value for level in ordered.values())
        chances = tuple(chance(level.verdicts).value for level in ordered.values())
        found.append(RunTrend(name, part, _trend(ordered), values, chances, left_out))
    return found


class _Level(NamedTuple):
    """A number as the tag has it, and its items."""

    value: str
    verdicts: list[Verdict]


def _fault(value: str) -> str | None:
    """Return why a value cannot be a level, and what is expected; None if it can."""
    match = _NUMBER.fullmatch(value)
    if match is None:
        return "is not a number; expected a tag of numbers"
    if abs(float(value)) > _LARGEST:
        return f"is too large, expected a number from -{_LARGEST:g} to {_LARGEST:g}"
    if match[1].strip("0.") and abs(float(value)) < _SMALLEST:
        return f"is too small, expected 0, or a number of {_SMALLEST:g} or more in size"
    return None


def _trend(levels: dict[float, _Level]) -> Trend:
    numbers = [number for number, level in levels.items() for _ in level.verdicts]
    verdicts: Sequence[Verdict] = [v for level in levels.values() for v in level.verdicts]
    return trend(numbers, [v.credit for v in verdicts], clusters(verdicts))
