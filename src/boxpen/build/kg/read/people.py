"""People and blanks in the events of ATOMIC.

Releases write the people of an event as ``PersonX``, as ``person x`` or as names (John, Tom), and
some have lost the blank ``___``. Here they are always ``PersonX`` … and ``___``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NAMES", "blanks", "people"]

NAMES = {"John": "PersonX", "Tom": "PersonY"}
"""The names that a well-known release of ATOMIC has in place of people."""


def people(text: pl.Expr, names: Mapping[str, str]) -> pl.Expr:
    """Return a text with its people as ``PersonX``, ``PersonY`` and ``PersonZ``.

    Args:
        text: Heads or tails of events.
        names: Names -> the people that they stand for; in small letters too, as some rows have
            them.
    """
    for name, person in names.items():
        text = text.str.replace_all(rf"(?i)\b{re.escape(name)}\b", person)
    for letter in "XYZ":
        text = text.str.replace_all(rf"(?i)\bperson[ _-]?{letter}\b", f"Person{letter}")
    return text


def blanks(text: pl.Expr) -> pl.Expr:
    """Return heads with ``___`` where its deletion has left two spaces, or one at an edge."""
    for _ in range(2):  # three spaces are two blanks, and matches do not overlap
        text = text.str.replace_all("  ", " ___ ", literal=True)
    return text.str.replace(r"^ ", "___ ").str.replace(r" $", " ___")
