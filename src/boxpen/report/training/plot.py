"""Training curves as a plain SVG: loss, BLEU, accuracy, learning rate or speed by step."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.errors import NmtError, nearest
from boxpen.report.html.axes import apart, axes_around, begin, name_of, style_of, ticks

__all__ = ["METRICS", "named_folders", "read_log", "training_svg"]

METRICS = {
    "loss": "loss",
    "valid_loss": "validation loss",
    "bleu": "validation BLEU",
    "accuracy": "validation accuracy",
    "learning_rate": "learning rate",
    "tokens_per_second": "tokens per second",
    "items_per_second": "items per second",
}
"""What can be drawn, and what it is called in the drawing."""
_DOTTED = 40  # with more points, dots would hide the line


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Read the log of a training; a last line that was cut off when it was killed is left out.

    Raises:
        NmtError: If there is none, or another line is damaged.
    """
    path = folder / "log.jsonl"
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise NmtError(
            f"{folder} has no log.jsonl, expected the folder of a training that has begun"
        ) from None
    except OSError as error:
        raise NmtError(f"{path} cannot be read: {error.strerror}") from None
    while lines and not lines[-1].strip():
        lines.pop()
    out = []
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is not None:
            out.append(entry)
        elif number < len(lines):
            raise NmtError(f"{path} line {number} is damaged, expected a JSON object with a 'step'")
    return out


def named_folders(folders: Sequence[Path]) -> dict[str, Path]:
    """Name folders by the shortest path suffix that distinguishes them."""
    found = list(dict.fromkeys(folder.resolve() for folder in folders))
    for count in range(1, 1 + max(len(folder.parts) for folder in found)):
        names = {str(Path(*folder.parts[-count:])): folder for folder in found}
        if len(names) == len(found):
            break
    return names


def training_svg(logs: Mapping[str, Sequence[Mapping[str, Any]]], metric: str) -> str:
    """Draw one metric of one or several trainings over their steps.

    Raises:
        NmtError: If there is no such metric, or a training has not logged it.
    """
    if metric not in METRICS:
        raise NmtError(f"no metric '{metric}', {nearest(metric, list(METRICS))}")
    if not logs:
        raise NmtError("no training is given, expected one or more")
    lines = {name: _points(name, log, metric) for name, log in logs.items()}
    steps = [step for some in lines.values() for step, _ in some]
    values = [value for some in lines.values() for _, value in some]
    last = max(steps)
    axes = axes_around([0, last], values)
    out = begin(
        axes,
        title=f"{METRICS[metric]} over steps: {', '.join(lines)}",
        across="steps",
        up=METRICS[metric],
        marks=[mark for mark in ticks(0, last) if mark == int(mark)] if last else [0],
    )
    heights = apart([axes.y(some[-1][1]) for some in lines.values()])
    for number, (name, some) in enumerate(lines.items()):
        kind = style_of(number)
        places = [(axes.x(step), axes.y(value)) for step, value in some]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline class="{kind}" points="{points}"/>')
        if len(places) <= _DOTTED:
            out += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places]
        out.append(name_of(number, name, heights[number]))
    return "\n".join([*out, "</svg>", ""])


def _points(name: str, log: Sequence[Mapping[str, Any]], metric: str) -> list[tuple[int, float]]:
    """Return steps with values, in order; lines of another kind do not have the metric."""
    found = {
        entry["step"]: float(entry[metric])
        for entry in log
        if isinstance(entry.get(metric), int | float) and math.isfinite(entry[metric])
    }
    if not found:
        known = [m for m in METRICS if any(entry.get(m) is not None for entry in log)]
        has = f"it has {', '.join(known)}" if known else "it is empty"
        raise NmtError(f"the log of '{name}' has no '{metric}' yet; {has}")
    return sorted(found.items())


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, or None if it is not one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(found.get("step"), int):
        return found
    return None
