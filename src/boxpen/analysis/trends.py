"""Trends of runs: does accuracy rise or fall with a tag that is a number, such as the steps?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.analysis.slices import CROSS, cut
from boxpen.errors import RunError
from boxpen.metrics.choice import chance, clusters
from boxpen.metrics.trend import Trend, trend
from boxpen.runs import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["RunTrend", "trends"]

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunTrend:
    """The trend of one run, or of one part of it.

    Attributes:
        cut: What the run was divided by: ``steps``, or ``set x steps``.
        part: The part, such as ``explanation``; empty if it is the whole run.
        trend: What was found.
        chances: What guessing earns at every level, in their order.
        left_out: How many items of the run the cut does not divide.
    """

    cut: str
    part: str
    trend: Trend
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
    parts: dict[str, dict[float, list[Verdict]]] = {}
    slices = cut(run, name)
    for label, verdicts in slices.items():
        part, _, value = label.rpartition(CROSS)
        if _NUMBER.fullmatch(value) is None:
            raise RunError(
                f"the run of {run.about['suite']['name']} has no trend by '{name}': its value "
                f"'{value}' is no number, expected a tag of numbers"
            )
        parts.setdefault(part, {}).setdefault(float(value), []).extend(verdicts)
    left_out = len(run.verdicts) - sum(map(len, slices.values()))
    found = []
    for part, levels in parts.items():
        if len(levels) < 2:
            where = f" in {part}" if part else ""
            raise RunError(
                f"the run of {run.about['suite']['name']} has no trend by '{name}': all items"
                f"{where} have the value {next(iter(levels)):g}, expected two values or more"
            )
        ordered = dict(sorted(levels.items()))
        chances = tuple(chance(verdicts).value for verdicts in ordered.values())
        found.append(RunTrend(name, part, _trend(ordered), chances, left_out))
    return found


def _trend(levels: dict[float, list[Verdict]]) -> Trend:
    numbers = [number for number, verdicts in levels.items() for _ in verdicts]
    verdicts: Sequence[Verdict] = [v for some in levels.values() for v in some]
    return trend(numbers, [v.credit for v in verdicts], clusters(verdicts))
