"""MuCoW (Raganato et al. 2019): translations of ambiguous words, one of them in a wrong sense."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item
from boxpen.text.lines import opened

__all__ = ["MUCOW"]

_SHA256 = {
    "et": "8e314c40dc65f358a019a606dbb49d8632a9367aa60819e25d0b8bd523fbafce",
    "lt": "792e189773738079fc79682bc1cd86cee0c8b4b2c11ba8397def9ae2318c36bc",
    "lv": "2cf9255edf57465d0a7bf1510c0c48e823beb87210bee0670a80b7d1bf1da98a",
}
_WRONG = ("wrong0", "wrong1", "wrong2", "wrong3")
_TAGS = {"word": "{ambig word}", "sense": "{sense}", "origin": "{origin}"}


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    for code in _SHA256:
        with opened(files[f"mucow/{code}-en.mucow.scoring.json"]) as stream:
            rows = json.load(stream)
        for row in rows:
            wrong = [error["contrastive"] for error in row["errors"]]
            row |= dict(zip(_WRONG, [*wrong, "", "", ""], strict=False))
        yield from published_items(
            rows, f"{code}-en", f"{code}-en-{{number:04}}", source="source", reference="reference",
            wrong=_WRONG, source_language=code, tags={"set": f"{code}-en", **_TAGS},
        )  # fmt: skip


MUCOW = Entry(
    name="mucow",
    topic="translation",
    items=1_589,
    chance=0.0,
    card=Card(
        title="MuCoW: word senses in translation, scoring suite (et-en, lt-en, lv-en)",
        language="en",
        licence="CC BY 4.0",
        citation=(
            "Alessandro Raganato, Yves Scherrer and Jörg Tiedemann. 2019. The MuCoW Test Suite at "
            "WMT 2019: Automatically Harvested Multilingual Contrastive Word Sense Disambiguation "
            "Test Sets for Machine Translation. WMT 2019."
        ),
        url="https://github.com/Helsinki-NLP/MuCoW",
        notes="The reference is candidate 0; the others have a word of another sense in it.",
    ),
    importer=_items,
    files=tuple(
        github_file(
            "Helsinki-NLP/MuCoW",
            "master",
            f"scoring test suite/json/{code}-en.mucow.scoring.json",
            path=f"mucow/{code}-en.mucow.scoring.json",
            sha256=sha256,
        )
        for code, sha256 in _SHA256.items()
    ),  # fmt: skip
    part_tag="set",
    parts=tuple(f"{code}-en" for code in _SHA256),
)
