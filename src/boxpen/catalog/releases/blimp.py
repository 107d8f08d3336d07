"""BLiMP (Warstadt et al. 2020): 67 paradigms of 1,000 grammatical and ungrammatical sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import Path as ZipPath

from boxpen.catalog.entry import Entry, github_files
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item

__all__ = ["BLIMP"]

_FILE = "blimp/BLiMP.zip"
_TAGS = {"set": "{UID}", "phenomenon": "{linguistics_term}", "field": "{field}"}
_PHENOMENA = (
    "anaphor_agreement", "argument_structure", "binding", "control_raising",
    "determiner_noun_agreement", "ellipsis", "filler_gap_dependency", "irregular_forms",
    "island_effects", "npi_licensing", "quantifiers", "s-selection", "subject_verb_agreement",
)  # fmt: skip


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    for file in sorted(ZipPath(files[_FILE], "data/").iterdir(), key=str):
        if file.name.endswith(".jsonl"):
            yield from published_items(file, "{UID}-{pairID:0>3}", tags=_TAGS)


BLIMP = Entry(
    name="blimp",
    topic="grammar",
    items=67_000,
    chance=0.5,
    card=Card(
        title="BLiMP: the benchmark of linguistic minimal pairs",
        language="en",
        licence="CC BY 4.0",
        citation=(
            "Alex Warstadt, Alicia Parrish, Haokun Liu, Anhad Mohananey, Wei Peng, Sheng-Fu Wang "
            "and Samuel R. Bowman. 2020. BLiMP: The Benchmark of Linguistic Minimal Pairs for "
            "English. TACL 8."
        ),
        url="https://github.com/alexwarstadt/blimp",
        notes="The grammatical sentence is candidate 0. The tag set is one of 67 paradigms.",
    ),
    importer=_items,
    files=github_files(
        "alexwarstadt/blimp",
        "f5949a22b36a0e3a90b9932d4abe35ca77c5e8c8",
        {"BLiMP.zip": "172a1a714d72e72a89e8384dd531483f3d0f8a9aee3d33dccaf7992d8cecbb73"},
        path="blimp",
    ),
    part_tag="phenomenon",
    parts=_PHENOMENA,
)
