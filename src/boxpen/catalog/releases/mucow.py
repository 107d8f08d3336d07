"""MuCoW (Raganato et al. 2019): translations of ambiguous words, one of them in a wrong sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, RemoteFile, github_files
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item

__all__ = ["MUCOW"]

_NEW = "fa757bc3afeee61a08349459536ff07012b4cab5"
_COMMITS = {"et-en": _NEW, "lt-en": "f73aa2f36e824b2fcd65c9474fadb00f61080f6b", "lv-en": _NEW}
_SHA256 = {
    "et-en": "8e314c40dc65f358a019a606dbb49d8632a9367aa60819e25d0b8bd523fbafce",
    "lt-en": "792e189773738079fc79682bc1cd86cee0c8b4b2c11ba8397def9ae2318c36bc",
    "lv-en": "2cf9255edf57465d0a7bf1510c0c48e823beb87210bee0670a80b7d1bf1da98a",
}


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    for pair in _COMMITS:
        yield from published_items(
            files[f"mucow/{pair}.mucow.scoring.json"], f"{pair}-{{number:04}}", source="source",
            reference="reference", wrong="errors.contrastive", source_language=pair[:2],
            tags={"set": pair, "word": "{ambig word}", "sense": "{sense}", "origin": "{origin}"},
        )  # fmt: skip


def _files(pair: str, commit: str) -> tuple[RemoteFile, ...]:
    sha256, under = {f"{pair}.mucow.scoring.json": _SHA256[pair]}, "scoring test suite/json/"
    return github_files("Helsinki-NLP/MuCoW", commit, sha256, path="mucow", under=under)


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
    languages=tuple(_COMMITS),
    importer=_items,
    files=tuple(file for pair, commit in _COMMITS.items() for file in _files(pair, commit)),
    part_tag="set",
    parts=tuple(_COMMITS),
)
