"""Rows as CSV: one line per number, for spreadsheets, R and pandas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import astuple, fields

from boxpen.printable import neutral
from boxpen.runs.run import Row

__all__ = ["rows_csv"]


def rows_csv(rows: Sequence[Row]) -> str:
    """Return a header and one record per row (RFC 4180); missing numbers are empty.

    A text that a spreadsheet program would take for a formula gets an apostrophe before it.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows([_plain(value) for value in astuple(row)] for row in rows)
    return stream.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return neutral(value) if isinstance(value, str) else value
