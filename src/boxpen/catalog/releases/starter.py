"""The starter suites: written for boxpen, a little of every kind, and nothing to download.

The parts of ``starter`` are JSON Lines files in the package, written item by item.
``starter-graph`` is ``graph.jsonl``, which the templates of the builder ``kg`` make of
``triples.jsonl``, a graph with five wrong tails for every triple (``scripts/starter_graph.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from boxpen.catalog.entry import Entry
from boxpen.catalog.jsonl import read_jsonl
from boxpen.catalog.releases.senmaking import EXPLAIN
from boxpen.items import Card, Entail, Item
from boxpen.scoring.recipe import ENTAILMENT, Recipe

__all__ = ["STARTER", "STARTER_GRAPH", "starter_triples"]

_SOUND = Recipe(
    name="sound",
    prefixes={"set=explanation": EXPLAIN.prefix},
    why=f"in the set explanation, {EXPLAIN.why}",
)
_PARTS = ("mt", "sense", "dual", "discourse")


def starter_triples() -> list[dict[str, Any]]:
    """Return the triples behind ``starter-graph``: id, head, relation, tail, wrong, form."""
    lines = _file("triples").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    del files  # part of the package
    for part in _PARTS:
        for item in _read(part):
            yield replace(item, tags={"part": part, **item.tags})


def _graph_items(files: Mapping[str, Path]) -> Iterator[Item]:
    del files  # part of the package
    yield from _read("graph")


def _read(part: str) -> Iterator[Item]:
    with resources.as_file(_file(part)) as path:
        table = read_jsonl(path)
    for _, item in table.rows:
        yield _with_languages(item, table.card)


def _file(part: str) -> Any:
    return resources.files("boxpen.catalog").joinpath("data", "starter", f"{part}.jsonl")


def _with_languages(item: Item, card: Card) -> Item:
    # The parts differ in language, so what their cards say goes to the items.
    language = item.language or card.language
    if isinstance(item, Entail) or item.source is None:
        return replace(item, language=language)
    source_language = item.source_language or card.source_language
    return replace(item, language=language, source_language=source_language)


_NOTES = "written and read by language models; see docs/explanation/starter.md"


STARTER = Entry(
    name="starter",
    topic="common sense",
    items=860,
    chance=0.469,
    card=Card(
        title="The starter suite of boxpen",
        licence="Apache-2.0",
        citation="The boxpen developers. The starter suite of boxpen.",
        notes=_NOTES,
    ),
    languages=("en", "en-zh", "zh-en"),
    importer=_items,
    recipes={"sound": _SOUND},
    part_tag="part",
    parts=_PARTS,
)

STARTER_GRAPH = Entry(
    name="starter-graph",
    topic="inference",
    items=4_320,
    chance=0.516,
    card=Card(
        title="Tests from the starter graph: inference, questions, pairs",
        language="en",
        licence="Apache-2.0",
        citation="The boxpen developers. The starter graph of boxpen.",
        notes=_NOTES,
    ),
    importer=_graph_items,
    recipes={"paper": ENTAILMENT},
)
