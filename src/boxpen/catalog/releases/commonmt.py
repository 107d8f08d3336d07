"""CommonMT (He et al. 2020): Chinese sentences that only common sense translates rightly.

Three sets of triples: lexical ambiguity (LA), contextless and contextual syntactic ambiguity
(CL-SA, CT-SA). Rows 2k and 2k+1 of a file use the same ambiguous words with opposite readings and
form a block: ``LA-001a`` and ``LA-001b`` are the first two rows of the lexical set.

The release has no labels. ``data/commonmt.csv`` has those of two language-model readers
(docs/results/commonmt.md): the kind of knowledge, whether the English alone decides, and the
ambiguous word or structure. Where they disagree, the item does not have the tag.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.catalog.labels import read_labels
from boxpen.items import Card, Choice
from boxpen.scoring.recipe import Recipe
from boxpen.text.lines import opened

__all__ = ["COMMONMT", "readings"]

_SETS = {
    "LA": "lexical ambiguity.csv",
    "CL-SA": "contextless syntactic ambiguity.csv",
    "CT-SA": "contextual syntactic ambiguity.csv",
}
_SHA256 = {
    "LA": "07c2e89e63d9eebab8298d627e089de2047428c847231a22d97bdab4c2a5fb8b",
    "CL-SA": "ef5f8c74af3e0d21d56a9e02f277fc934f40a65f8da219a3dbb64826cef40591",
    "CT-SA": "52f3803a3f22a48030fd3dbe1fd269f822572154829e939960d13f3c600e4f72",
}


_READ = ("knowledge", "decidable", "ambiguity")


def readings() -> dict[str, dict[str, tuple[str, str]]]:
    """Return the labels that each of the two readers gave, by item and tag."""
    return read_labels("commonmt.csv", _READ)


def _agreed(name: str, labels: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    tags = {tag: one for tag, (one, other) in labels.items() if one == other}
    if name != "LA":
        return tags
    # What is ambiguous in the lexical set is a word, which has a tag of its own.
    word = {"word": tags["ambiguity"]} if "ambiguity" in tags else {}
    return tags | {"ambiguity": "word"} | word


def _items(files: Mapping[str, Path]) -> Iterator[Choice]:
    labels = readings()
    for name, file in _SETS.items():
        with opened(files[f"commonmt/{file}"], newline="") as stream:
            for row, cells in enumerate(csv.DictReader(stream)):
                block = f"{name}-{row // 2 + 1:03}"
                key = f"{block}{'ab'[row % 2]}"
                yield Choice(
                    id=key,
                    source=cells["chinese_source"],
                    candidates=(cells["english_target_correct"], cells["english_target_wrong"]),
                    gold=0,
                    block=block,
                    tags={"set": name, **_agreed(name, labels.get(key, {}))},
                )


_PAPER = Recipe(
    name="paper",
    tidy=False,
    policy={"bos": "never", "norm": "token", "pll": "original", "ties": "strict"},
    why=(
        "language models: the score of Wang et al. (2019) and Zhou et al. (2020), the mean "
        "log-probability without BOS; translation models: Eq. 1, the mean over target tokens; "
        "texts as published, with their stray white space; a tie is not a right answer"
    ),
)

COMMONMT = Entry(
    name="commonmt",
    topic="translation",
    items=1_200,
    chance=0.5,
    card=Card(
        title="CommonMT: commonsense reasoning in Chinese-English translation",
        language="en",
        source_language="zh",
        licence="CC BY-SA 4.0",
        citation=(
            "Jie He, Tao Wang, Deyi Xiong and Qun Liu. 2020. The Box is in the Pen: Evaluating "
            "Commonsense Reasoning in Neural Machine Translation. Findings of EMNLP 2020."
        ),
        url="https://github.com/tjunlp-lab/CommonMT",
        notes=(
            "The right translation is candidate 0 throughout. Five pairs are identical and two "
            "differ in punctuation only, so no model can score 100 % by merit. The list of 1,124 "
            "items that Table 3 of the paper uses was never published. Two language-model readers "
            "gave all tags but set; see docs/results/commonmt.md."
        ),
        reader_tags=(*_READ, "word"),
    ),
    importer=_items,
    files=tuple(
        github_file(
            "tjunlp-lab/CommonMT",
            "3bd58f1ff585356656821930fae93a07ff320f9e",
            f"commonMT test suite/{file}",
            sha256=_SHA256[name],
            path=f"commonmt/{file}",
        )
        for name, file in _SETS.items()
    ),
    recipes={"paper": _PAPER},
    part_tag="set",
    parts=tuple(_SETS),
)
