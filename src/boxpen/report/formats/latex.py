r"""The matrix of results as a LaTeX table: needs ``\usepackage{booktabs}`` and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from boxpen.printable import printable
from boxpen.report.numbers import digits, too_few_blocks
from boxpen.report.tables import Line, Matrix
from boxpen.runs.run import Row
from boxpen.version import __version__

__all__ = ["comment", "escape", "matrix_latex"]


def matrix_latex(found: Matrix, signatures: Sequence[str] = ()) -> str:
    """Return a ``tabular``; intervals are small and in brackets, signatures are comments."""
    lines = [f"% boxpen {__version__}: {comment(found.metric)}, with 95 % intervals"]
    lines += [f"% {comment(text)}" for text in (*found.notes, *signatures)]
    lines += [rf"\begin{{tabular}}{{l{'r' * len(found.columns)}}}", r"\toprule"]
    lines.append(_row(["model", *(escape(column.title) for column in found.columns)]))
    lines.append(r"\midrule")
    for index, line in enumerate(found.lines):
        # Models, chance and people stand apart.
        if index and line.kind != "model" and found.lines[index - 1].kind == "model":
            lines.append(r"\midrule")
        lines.append(_row([escape(line.name), *_cells(line)]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Escape a text for LaTeX."""
    plain = printable(re.sub(r"[\x00-\x1f\x7f\s]+", " ", text))
    escaped = "".join(_SPECIAL.get(character, character) for character in plain)
    return re.sub(r"([-',])(?=\1)", r"\1{}", escaped)  # else two of them become one dash or quote


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # After \\ or \midrule a bracket would begin an option.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def _cells(line: Line) -> list[str]:
    return [_cell(row, interval=line.kind != "chance") for row in line.cells]


def _cell(row: Row | None, *, interval: bool) -> str:
    if row is None or not math.isfinite(row.value) or too_few_blocks(row.metric, row.n):
        return "--"
    places = digits(row.metric)
    value = _number(row.value, places)
    if not interval or not (math.isfinite(row.low) and math.isfinite(row.high)):
        return value
    return rf"{value} {{\scriptsize [{_number(row.low, places)}, {_number(row.high, places)}]}}"


def _number(value: float, places: int) -> str:
    shown = f"{value:.{places}f}"
    return f"$-${shown[1:]}" if shown.startswith("-") else shown


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def comment(text: str) -> str:
    """Return a text as part of a comment."""
    return printable(" ".join(text.split()))
