"""Blind sheets of `starter.discourse` for two readers, and what they said without the context.

    starter_context.py draw FOLDER SEED    sheets of all items, without and with the context
    starter_context.py table               how many they settle without it, into starter.md

The answers of all rounds are in docs/data/starter-context.csv, those with the context in
docs/data/starter-readings.csv.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from context_sheets import READERS, Asked, lines, write_sheet
from results import write

import boxpen

ANSWERS = Path(__file__).parents[1] / "docs" / "data" / "starter-context.csv"
SETS = {"pron": "pronoun", "you": "pronoun", "they": "pronoun", "ell": "ellipsis"}
SURE = "2"

Rows = Sequence[Mapping[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["draw", "table"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    given = parser.parse_args()
    if given.command == "table":
        write("../explanation/starter.md", "without context", table())
        return
    items = [i for i in boxpen.load_suite("starter.discourse") if isinstance(i, boxpen.Translate)]
    given.folder.mkdir(parents=True, exist_ok=True)
    blocks = {str(item.block): item for item in reversed(items)}
    alone = [_asked(item, context=False) for item in reversed(blocks.values())]
    whole = [_asked(item, context=True) for item in items]
    for reader in READERS:
        first, second = (lines(some, reader, given.seed) for some in (alone, whole))
        write_sheet(given.folder / f"sheet-{reader}.tsv", ["english", "first", "second"], first)
        heads = ["before", "english", "first", "second"]
        write_sheet(given.folder / f"context-{reader}.tsv", heads, second)


def answers() -> list[dict[str, str]]:
    """Return what readers said without the context, in all rounds."""
    with ANSWERS.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def settled(rows: Rows) -> set[str]:
    """Return what a reader settled: was sure of, and of an item with a label right too."""
    return {r["id"] for r in rows if r["sureness"] == SURE and r["right"] != "no"}


def table() -> str:
    """Return how many items, and then sentences of two items, readers settle without context."""
    rows = answers()
    last = {(r["id"], r["reader"]): r for r in rows}
    kept = {str(item.block) for item in boxpen.load_suite("starter.discourse")}
    rounds = sorted({int(r["round"]) for r in rows})
    parts = {f"round {n}": [r for r in rows if int(r["round"]) == n] for n in rounds}
    parts["the suite as it is"] = [r for (name, _), r in last.items() if name in kept]
    out = [
        "| | read | settled | pronoun | connective | ellipsis | both lean alike |",
        "|---" * 7 + "|",
    ]
    for name, some in parts.items():
        found, read = settled(some), {r["id"] for r in some}
        shares = [
            f"{sum(_set(i) == part for i in found)} of {sum(_set(i) == part for i in read)}"
            for part in ("pronoun", "connective", "ellipsis")
        ]
        leaning = _leaning(some) - found
        out.append(
            f"| {name} | {len(read)} | {len(found)} | {' | '.join(shares)} | {len(leaning)} |"
        )
    return "\n".join(out)


def _leaning(rows: Rows) -> set[str]:
    """Return what both readers would bet on, for the same translation."""
    bets: dict[str, list[str]] = {}
    for row in rows:
        if row["sureness"] != "0":
            bets.setdefault(row["id"], []).append(row["chosen"])
    return {name for name, some in bets.items() if len(some) == 2 and len(set(some)) == 1}


def _set(name: str) -> str:
    return SETS.get(name.split("-")[1], "connective")


def _asked(item: boxpen.Translate, *, context: bool) -> Asked:
    before = (item.context or "",) if context else ()
    return Asked(item.id, (*before, item.source), (item.reference, *item.contrast))


if __name__ == "__main__":
    main()
