"""Data-size curves: a metric of several runs against how much each model was trained on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from boxpen.analysis.slices import cut
from boxpen.errors import RunError
from boxpen.metrics.intervals import Estimate
from boxpen.metrics.summary import estimates
from boxpen.runs.run import Run

__all__ = ["Point", "curves", "parse_size"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


class Point(NamedTuple):
    """One point of a curve."""

    size: float
    estimate: Estimate


def parse_size(text: str) -> float:
    """Read a size: ``500000``, ``500k``, ``0.5M``, ``1/16``.

    Raises:
        RunError: If it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)([kKmMgGbB]?)|(\d+)/(\d+)", text.strip())
    size = 0.0
    if match and match[4]:
        size = int(match[3]) / int(match[4]) if int(match[4]) else 0.0
    elif match:
        size = float(match[1]) * _UNITS[match[2].lower()]
    if size <= 0:
        raise RunError(f"'{text}' is not a size; expected something like 500000, 0.5M or 1/16")
    return size


def curves(
    runs: Sequence[tuple[float, Run]], metric: str = "accuracy", by: str | None = None
) -> dict[str, list[Point]]:
    """Return one curve for every suite, or for every slice of it, sorted by size.

    Raises:
        RunError: If a run has no such metric, or a size appears twice in a curve.
    """
    out: dict[str, list[Point]] = {}
    several = len({run.info.suite.name for _, run in runs}) > 1
    for size, run in runs:
        suite = run.info.suite.name
        parts = {suite: list(run.verdicts)} if by is None else cut(run, by)
        for part, verdicts in parts.items():
            name = f"{suite}: {part}" if several and by is not None else part
            found = dict(estimates(verdicts))
            if metric not in found:
                known = ", ".join(found)
                raise RunError(f"the run of {suite} has no metric '{metric}'; it has {known}")
            if any(point.size == size for point in out.get(name, ())):
                raise RunError(f"two runs of {suite} have the same size {size:,g}")
            out.setdefault(name, []).append(Point(size, found[metric]))
    return {name: sorted(points) for name, points in out.items()}
