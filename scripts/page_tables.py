"""The tables of pages of docs/results, as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dots import Cell
from results import shown

NUMBER = re.compile(r"([-+]?[\d.,]+)(?: \[([-+]?[\d.]+), ([-+]?[\d.]+)\])?")
Cells = dict[str, str]


def tables(topic: str, key: str) -> list[dict[str, Cells]]:
    """Return the tables of a block: rows by their first cell, or their first two if it recurs."""
    out: list[dict[str, Cells]] = []
    for rows in rows_of(topic, key):
        named: dict[str, Cells] = {}
        for row in rows:
            first, second, *_ = row.values()
            named[first.strip("*") if first not in named else f"{first}, {second}"] = row
        out.append(named)
    return out


def rows_of(topic: str, key: str) -> list[list[Cells]]:
    """Return the tables of a block: for each row its cells by column."""
    out: list[list[Cells]] = []
    heads: list[str] | None = None
    for line in shown(topic, key).splitlines():
        if not line.startswith("|"):
            heads = None
            continue
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        if heads is None:
            heads = cells
            out.append([])
        elif not set(line) <= set("|-: "):
            out[-1].append(dict(zip(heads, cells, strict=True)))
    return out


def number(cell: str) -> Cell:
    """Return a number of a table with its interval, if it has one."""
    found = NUMBER.match(cell)
    if found is None:
        raise SystemExit(f"expected a number in a table, found '{cell}'")
    value = float(found[1].replace(",", ""))
    return (value, float(found[2] or value), float(found[3] or value))


def columns(row: Mapping[str, str], names: Sequence[str]) -> dict[str, Cell]:
    """Return some cells of a row as numbers."""
    return {name: number(row[name]) for name in names}
