"""PIQA (Bisk et al. 2020): which of two solutions reaches a physical goal? The validation set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.items import Card, Choice
from boxpen.scoring.recipe import Recipe
from boxpen.text.lines import read_lines

__all__ = ["PIQA", "QUESTION"]

_COMMIT = "21edab439af693b961be2f069e8690a88d3b4e37"
_DATA = "piqa/valid.jsonl"
_LABELS = "piqa/valid-labels.lst"
QUESTION = Recipe(
    name="sound",
    prefix="Question: {context}\nAnswer:",
    unconditional="Answer:",
    why="what comes before reads as a question, a candidate as its answer",
)


def _items(files: Mapping[str, Path]) -> Iterator[Choice]:
    # Published as two files that belong together by line; strict finds a line too many.
    lines = zip(read_lines(files[_DATA]), read_lines(files[_LABELS]), strict=True)
    for number, (line, label) in enumerate(lines, start=1):
        data = json.loads(line)
        yield Choice(
            id=f"piqa-{number:04}",
            context=data["goal"],
            candidates=(data["sol1"], data["sol2"]),
            gold=int(label),
        )


PIQA = Entry(
    name="piqa",
    topic="common sense",
    items=1_838,
    chance=0.5,
    card=Card(
        title="PIQA: physical commonsense reasoning (validation set)",
        language="en",
        licence="AFL 3.0",
        citation=(
            "Yonatan Bisk, Rowan Zellers, Ronan Le Bras, Jianfeng Gao and Yejin Choi. 2020. PIQA: "
            "Reasoning about Physical Commonsense in Natural Language. AAAI 2020."
        ),
        url="https://yonatanbisk.com/piqa",
    ),
    importer=_items,
    files=(
        github_file(
            "ybisk/ybisk.github.io",
            _COMMIT,
            "piqa/data/valid.jsonl",
            sha256="93503cc97c679e459b065c3d13e848282e44b2a25213985bed3e5d458abef72d",
            path=_DATA,
        ),
        github_file(
            "ybisk/ybisk.github.io",
            _COMMIT,
            "piqa/data/valid-labels.lst",
            sha256="b4192dc3a2a0363d9d60ccf79800cbbe2f32ebb17726efdde6970e0b8131bceb",
            path=_LABELS,
        ),
    ),
    recipes={"sound": QUESTION},
)
