"""Duals as a suite of blocks: every dual with the pair that it was made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from boxpen.build.duals.rows import Row
from boxpen.errors import BuildError
from boxpen.items import Choice, Suite

__all__ = ["dual_suite"]


def dual_suite(
    source: Suite, rows: Iterable[Row], name: str, *, judges: Collection[int] = ()
) -> Suite:
    """Return a suite with a block of two items for every dual, the original first.

    Args:
        source: The suite of the originals, whose tags stay.
        rows: Duals; a pair with several duals is in several blocks.
        name: Of the new suite.
        judges: How many judged each of them; none if they were not judged.

    Raises:
        BuildError: If a dual is of an item that the source has not, or of other sentences.
        SuiteError: If there are none.
    """
    originals = {item.id: item for item in source}
    items: list[Choice] = []
    for row in rows:
        original = originals.get(row["item"])
        old = (row["original_first"], row["original_second"])
        if not isinstance(original, Choice) or original.candidates != old:
            raise BuildError(
                f"dual '{row['id']}' is of item '{row['item']}', which suite '{source.name}' does "
                "not have with these sentences; run 'boxpen build run' again"
            )
        shared = {
            **original.tags,
            "operation": row["operation"],
            "edit": row["kind"],
            "expected": row["expected"],
            "item": row["item"],
        }
        first = replace(
            original, id=f"{row['id']}-a", block=row["id"], tags={**shared, "side": "original"}
        )
        second = replace(
            first,
            id=f"{row['id']}-b",
            candidates=(row["first"], row["second"]),
            gold=row["gold"],
            tags={**shared, "side": "dual"},
        )
        items += [first, second]
    notes = "duals made by boxpen build run"
    if judges:
        fewest, most = min(judges), max(judges)
        number = str(most) if fewest == most else f"{fewest} to {most}"
        notes += f"; accepted by judges, each dual judged by {number}"
    if source.card.notes:
        notes += f"; of the originals: {source.card.notes}"
    title = f"Duals of {source.card.title or source.name}"
    return Suite(name, tuple(items), replace(source.card, title=title, notes=notes)).validate()
