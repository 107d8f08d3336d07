"""Labels of other people's tables: the number or the letter of the right candidate.

Whether numbers count from 0 or from 1 is decided from all labels of a file, never from one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from boxpen.errors import SuiteError
from boxpen.printable import excerpt

__all__ = ["Label", "right_candidates"]

_NUMBER = re.compile(r"\s*(-?[0-9]{1,9})(?:\.0)?\s*")  # 1.0: a column with gaps, written by pandas
_LETTER = re.compile(r"\s*([A-Za-z])\s*")


class Label(NamedTuple):
    """The label of one row.

    Attributes:
        where: The row.
        cell: What it says.
        options: How many candidates the row has.
        names: The candidates' own labels (``A`` to ``D``, or ``1`` to ``4``), if they have any.
    """

    where: str
    cell: str
    options: int
    names: tuple[str, ...] = ()


def right_candidates(
    labels: Sequence[Label], column: str, start: int | None, way_out: str
) -> list[int]:
    """Return the index of the right candidate of every row.

    Args:
        labels: The labels of a whole file.
        column: The column they are from.
        start: The number of the first candidate; None to find it out, 0 rules out letters.
        way_out: How to say what the labels count from, for messages.

    Raises:
        SuiteError: If a label is none, or the file leaves open what its labels count from.
    """
    numbers: dict[int, int] = {}  # by row
    letters: dict[int, int] = {}
    out: dict[int, int] = {}
    for row, label in enumerate(labels):
        cell = label.cell.strip()
        if label.names.count(cell) == 1:
            out[row] = label.names.index(cell)
        elif label.names:
            known = ", ".join(label.names)
            raise _wrong(label, column, f"expected one of the row's own labels, {known}")
        elif match := _NUMBER.fullmatch(label.cell):
            numbers[row] = int(match[1])
            if numbers[row] < 0:
                raise _wrong(label, column, "expected 0 or more (tests hide their answers so)")
        elif start != 0 and (match := _LETTER.fullmatch(label.cell)):
            letters[row] = ord(match[1].upper()) - ord("A")
        else:
            first = "" if start is None else f", {start} for the first"
            hidden = "; tests whose answers are not published cannot be scored"
            expected = f"expected the number of a candidate{first}{'' if cell else hidden}"
            raise _wrong(label, column, expected)
    if numbers and letters:
        number, letter = labels[min(numbers)], labels[min(letters)]
        raise SuiteError(
            f"{number.where}: column '{column}' is {excerpt(number.cell)}, and "
            f"{excerpt(letter.cell)} in {letter.where}, expected numbers or letters only"
        )
    if numbers and start is None:
        start = _start(labels, numbers, column, way_out)
    for row, value in numbers.items():
        last = labels[row].options - 1 + (start or 0)
        if start and not start <= value <= last:  # an item would count from 0 in its message
            hint = f"; if it counts from 0: {way_out}" if value == 0 else ""
            raise _wrong(labels[row], column, f"expected {start} to {last}{hint}")
    out |= letters | {row: number - (start or 0) for row, number in numbers.items()}
    return [out[row] for row in range(len(labels))]


def _start(labels: Sequence[Label], numbers: dict[int, int], column: str, way_out: str) -> int:
    zeros = [row for row, number in numbers.items() if number == 0]
    tops = [row for row, number in numbers.items() if number == labels[row].options]
    if zeros and tops:
        zero, top = labels[zeros[0]], labels[tops[0]]
        raise SuiteError(
            f"{top.where}: column '{column}' is {excerpt(top.cell)} with {top.options} candidates, "
            f"so it counts from 1, but it is {excerpt(zero.cell)} in {zero.where}"
        )
    if zeros or tops:
        return 0 if zeros else 1
    if any(number > labels[row].options for row, number in numbers.items()):
        return 0  # wrong either way, and refused with the item
    raise SuiteError(
        f"{labels[0].where}: column '{column}' is never 0 and never the number of candidates, so "
        f"its labels may count from 0 or from 1; say which with: {way_out}"
    )


def _wrong(label: Label, column: str, expected: str) -> SuiteError:
    found = excerpt(label.cell) if label.cell.strip() else "empty"
    return SuiteError(f"{label.where}: column '{column}' is {found}, {expected}")
