"""Rows as CSV: one line per number, for spreadsheets, R and pandas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import astuple, fields

from boxpen.runs.run import Row

__all__ = ["rows_csv"]


def rows_csv(rows: Sequence[Row]) -> str:
    """Return a header and one record per row (RFC 4180); missing numbers are empty."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows([_plain(value) for value in astuple(row)] for row in rows)
    return stream.getvalue()


def _plain(value: object) -> object:
    return "" if isinstance(value, float) and not math.isfinite(value) else value
