"""CODAH (Chen et al. 2019): completions written to mislead a model that had seen SWAG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_files
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item
from boxpen.text.lines import read_lines

__all__ = ["CODAH"]

_FILE = "codah/full_data.tsv"
_ENDINGS = ("ending0", "ending1", "ending2", "ending3")
_COLUMNS = ("category", "prompt", *_ENDINGS, "label")  # the file has no header
_CATEGORIES = ("other", "idiom", "negation", "reference", "polysemy", "quantity")


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    lines = read_lines(files[_FILE])
    rows = [dict(zip(_COLUMNS, line.split("\t"), strict=True)) for line in lines]
    for row in rows:
        row["category"] = {name[0]: name for name in _CATEGORIES}.get(row["category"].strip(), "")
    yield from published_items(
        files[_FILE], "codah-{number:04}", rows=rows, tags={"set": "{category}"},
        context="prompt", candidates=_ENDINGS, gold="label", gold_start=0,
    )  # fmt: skip


CODAH = Entry(
    name="codah",
    topic="common sense",
    items=2_776,
    chance=0.25,
    card=Card(
        title="CODAH: adversarially written completions",
        language="en",
        licence="ODC-BY",
        citation=(
            "Michael Chen, Mike D'Arcy, Alisa Liu, Jared Fernandez and Doug Downey. 2019. CODAH: "
            "An Adversarially-Authored Question Answering Dataset for Common Sense. RepEval 2019."
        ),
        url="https://github.com/Websail-NU/CODAH",
        notes="Ten items have no category, so they have no tag.",
    ),
    importer=_items,
    files=github_files(
        "Websail-NU/CODAH",
        "e1ce162d530caa059ca9c67235c909d04e0f4389",
        {"full_data.tsv": "96689f2abf2f09eb91af50e2d8f92bb553e157601908a1cee83fe68670b5c3ea"},
        path="codah",
        under="data/",
    ),
    part_tag="set",
    parts=_CATEGORIES,
)
