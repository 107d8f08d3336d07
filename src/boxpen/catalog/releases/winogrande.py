"""WinoGrande (Sakaguchi et al. 2020): which of two names fills the gap? The development set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, RemoteFile
from boxpen.catalog.published import json_objects, published_items
from boxpen.items import Card, Item
from boxpen.scoring.recipe import Recipe

__all__ = ["WINOGRANDE"]

_FILE = "winogrande/dev.jsonl"
_PARTIAL = "only the words after the gap are scored, given those before it (Trinh & Le 2018)"


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    rows = json_objects(files[_FILE])
    pairs = Counter(row["qID"].rpartition("-")[0] for row in rows)  # twins: <name>-1, <name>-2
    for row in rows:
        row["twins"] = name if pairs[name := row["qID"].rpartition("-")[0]] == 2 else ""
    yield from published_items(files[_FILE], "{qID}", rows=rows, block="twins")


WINOGRANDE = Entry(
    name="winogrande",
    topic="common sense",
    items=1_267,
    chance=0.5,
    card=Card(
        title="WinoGrande: Winograd schemas at scale (development set)",
        language="en",
        licence="CC BY",
        citation=(
            "Keisuke Sakaguchi, Ronan Le Bras, Chandra Bhagavatula and Yejin Choi. 2020. "
            "WinoGrande: An Adversarial Winograd Schema Challenge at Scale. AAAI 2020."
        ),
        url="https://github.com/allenai/winogrande",
        notes="A sentence and its twin, where both are in the set, form a block.",
    ),
    importer=_items,
    files=(
        RemoteFile(
            "https://storage.googleapis.com/ai2-mosaic/public/winogrande/winogrande_1.1.zip",
            "1aeac79cf46a3dcbe59a71ca7e5372a1490cde2b4ae2387dc56f00378104d2e8",
            _FILE,
            member="winogrande_1.1/dev.jsonl",
        ),
    ),
    recipes={
        "full": Recipe(name="full", why="the whole sentence is scored, the name in the gap too"),
        "partial": Recipe(name="partial", ending=True, why=_PARTIAL),
    },
)
