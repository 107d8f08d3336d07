"""MuCoW (Raganato et al. 2019): translations of ambiguous words, one of them in a wrong sense."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_files
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item

__all__ = ["MUCOW"]

_FILES = {
    "et-en.mucow.scoring.json": "8e314c40dc65f358a019a606dbb49d8632a9367aa60819e25d0b8bd523fbafce",
    "lt-en.mucow.scoring.json": "792e189773738079fc79682bc1cd86cee0c8b4b2c11ba8397def9ae2318c36bc",
    "lv-en.mucow.scoring.json": "2cf9255edf57465d0a7bf1510c0c48e823beb87210bee0670a80b7d1bf1da98a",
}
_PAIRS = ("et-en", "lt-en", "lv-en")


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    for file in _FILES:
        pair = file.partition(".")[0]
        rows = json.loads(files[f"mucow/{file}"].read_text("utf-8"))
        for row in rows:
            row["wrong"] = [error["contrastive"] for error in row["errors"]]
        yield from published_items(
            files[f"mucow/{file}"], f"{pair}-{{number:04}}", rows=rows, source="source",
            reference="reference", wrong="wrong", source_language=pair[:2],
            tags={"set": pair, "word": "{ambig word}", "sense": "{sense}", "origin": "{origin}"},
        )  # fmt: skip


MUCOW = Entry(
    name="mucow",
    topic="translation",
    items=1_589,
    chance=0.454,
    card=Card(
        title="MuCoW: word senses in translation, scoring suite (et-en, lt-en, lv-en)",
        language="en",
        licence="CC BY 4.0",
        citation=(
            "Alessandro Raganato, Yves Scherrer and Jörg Tiedemann. 2019. The MuCoW Test Suite at "
            "WMT 2019. Fourth Conference on Machine Translation."
        ),
        url="https://github.com/Helsinki-NLP/MuCoW",
        notes="The reference is candidate 0; each other has one word of another sense.",
    ),
    languages=_PAIRS,
    importer=_items,
    files=github_files(
        "Helsinki-NLP/MuCoW", "master", _FILES, path="mucow", under="scoring test suite/json/"
    ),
    part_tag="set",
    parts=_PAIRS,
)
