"""The starter suite: written for boxpen, a little of every kind, and nothing to download.

Its parts are JSON Lines files in the package. Four hold items; ``graph.jsonl`` holds triples of a
knowledge graph with five wrong tails each, which are put into plain sentences here, so that a
language model can choose among the six.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from boxpen.catalog.entry import Entry
from boxpen.catalog.jsonl import read_jsonl
from boxpen.catalog.senmaking import EXPLAIN
from boxpen.items import Card, Choice, Entail, Item
from boxpen.scoring.recipe import TRANSLATE

__all__ = ["STARTER", "starter_triples"]

_PARTS = ("mt", "sense", "dual", "discourse", "graph")

# {head} begins a sentence; an event ({head} of the x-relations) is one.
_SENTENCES = {
    "capableof": "{head} can {tail}.",
    "desires": "{head} wants {tail}.",
    "createdby": "{head} is made by {tail}.",
    "usedfor": "{head} is used for {tail}.",
    "isa": "{head} is {tail}.",
    "madeof": "{head} is made of {tail}.",
    "hasa": "{head} has {tail}.",
    "xAttr": "{head}. PersonX is {tail}.",
    "xNeed": "{head}. Before that, PersonX needed to {tail}.",
    "xIntent": "{head}. PersonX does this to {tail}.",
    "xEffect": "{head}. As a result, PersonX {tail}.",
    "xWant": "{head}. Afterwards, PersonX wants to {tail}.",
}
_NAMES = {"PersonX": "Alex", "PersonY": "Robin"}


def starter_triples() -> list[dict[str, Any]]:
    """Return the triples of the part ``graph``: id, head, relation, tail, wrong, form."""
    lines = _file("graph").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    del files  # part of the package
    for part in _PARTS:
        if part == "graph":
            yield from map(_verbalised, starter_triples())
            continue
        with resources.as_file(_file(part)) as path:
            table = read_jsonl(path)
        for _, item in table.rows:
            yield _labelled(item, part, table.card)


def _file(part: str) -> Any:
    return resources.files("boxpen.catalog").joinpath("data", "starter", f"{part}.jsonl")


def _labelled(item: Item, part: str, card: Card) -> Item:
    # The parts differ in language, so what their cards say goes to the items.
    tags = {"part": part, **item.tags}
    language = item.language or card.language
    if isinstance(item, Entail) or item.source is None:
        return replace(item, tags=tags, language=language)
    source_language = item.source_language or card.source_language
    return replace(item, tags=tags, language=language, source_language=source_language)


def _verbalised(triple: Mapping[str, Any]) -> Choice:
    """Put a triple and its wrong tails into sentences, the right one where its id says."""
    tails = list(triple["wrong"])
    gold = zlib.crc32(triple["id"].encode()) % (len(tails) + 1)
    tails.insert(gold, triple["tail"])
    return Choice(
        id=triple["id"],
        candidates=tuple(_sentence(triple, tail) for tail in tails),
        gold=gold,
        tags={"part": "graph", "relation": triple["relation"]},
        language="en",
    )


def _sentence(triple: Mapping[str, Any], tail: str) -> str:
    if triple["relation"] == "desires" and triple["form"] == "vp":
        tail = f"to {tail}"
    head = triple["head"][0].upper() + triple["head"][1:]
    sentence = _SENTENCES[triple["relation"]].format(head=head, tail=tail)
    for person, name in _NAMES.items():
        sentence = sentence.replace(person, name)
    return sentence


STARTER = Entry(
    name="starter",
    card=Card(
        title="The starter suite of boxpen",
        licence="Apache-2.0",
        citation="The boxpen developers. The starter suite of boxpen.",
        notes="docs/starter.md says how it was written and who read it",
    ),
    importer=_items,
    recipes={"sound": EXPLAIN, "translate": TRANSLATE},
    part_tag="part",
    parts=_PARTS,
)
