"""The starter suite: written for boxpen, a little of every kind, and nothing to download."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

from boxpen.catalog.entry import Entry
from boxpen.catalog.jsonl import read_jsonl
from boxpen.catalog.senmaking import EXPLAIN
from boxpen.items import Card, Entail, Item
from boxpen.scoring.recipe import TRANSLATE

__all__ = ["STARTER"]

_PARTS = ("mt", "sense", "dual", "discourse")


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    del files  # part of the package
    for part in _PARTS:
        data = resources.files("boxpen.catalog").joinpath("data", "starter", f"{part}.jsonl")
        with resources.as_file(data) as path:
            table = read_jsonl(path)
        for _, item in table.rows:
            yield _labelled(item, part, table.card)


def _labelled(item: Item, part: str, card: Card) -> Item:
    # The parts differ in language, so what their cards say goes to the items.
    tags = {"part": part, **item.tags}
    language = item.language or card.language
    if isinstance(item, Entail) or item.source is None:
        return replace(item, tags=tags, language=language)
    source_language = item.source_language or card.source_language
    return replace(item, tags=tags, language=language, source_language=source_language)


STARTER = Entry(
    name="starter",
    card=Card(
        title="The starter suite of boxpen",
        licence="Apache-2.0",
        citation="The boxpen developers. The starter suite of boxpen.",
    ),
    importer=_items,
    recipes={"sound": EXPLAIN, "translate": TRANSLATE},
    part_tag="part",
    parts=_PARTS,
)
