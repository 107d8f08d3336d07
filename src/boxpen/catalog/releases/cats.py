r"""CATs (Zhou et al. 2020): eight commonsense ability tests, and dual tests of robustness.

A line of an ability file is a label and two to five sentences, divided by ``\x01``; its number,
from 1, is the number of the item: ``sm-0042``. A line of a dual file is two such tests, which form
a block: ``add-001a`` and ``add-001b``. A model that understands the change of words between the two
answers both rightly, or errs in both.

``data/cats.csv`` has what two language-model readers each said about items of ``sm`` and ``wsc``
(docs/results/steps.md): the number of inference steps, and how many mediators lie between what the
sentence names. An item has a tag where both agree, and both found the right sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.catalog.labels import Labels, read_labels
from boxpen.items import Card, Choice
from boxpen.scoring.recipe import Recipe
from boxpen.text.lines import read_lines

__all__ = ["CATS", "CATS_DUAL", "readings"]

_REPOSITORY = "XuhuiZhou/CATS"
_COMMIT = "4927f0e6b67ddf1fd20aafb31c2cfc59cd8df5b1"
_TOKEN_LEVEL = ("ca", "wsc", "sm")  # Table 1 of the paper; the others are sentence-level

_READ = {"steps": "side", "mediators": "mediators_side"}
"""What readers counted, and the column with the side that they took for the right one."""

# set: (file, sha256)
_ABILITY = {
    "ca": ("ca.txt", "b333ed301be55934d8d81a650093f47ccc7f7d20df0464ac0fb97226a09c3984"),
    "wsc": ("wsc.txt", "41f29141ad1e0acef0347b6522fc244218d56b939ac2ad9bac96c550e777944c"),
    "sm": ("sm.txt", "b5c251c26d3b4242394c23c04bb7b0b15ed5628972fe7cb0a143c8a9a7561433"),
    "smr": ("smr.txt", "45f5290030259b128265c222b3460b365be7511bbc8967d416878a4a8d74bc3f"),
    "swag": ("swag.txt", "1635c82463387e55d820d09f7b1243e7b1d4dae23ac3e3ebf88e699847d640a6"),
    "hellaswag": (
        "hella_swag.txt",
        "7eec6733716ac4d3f7917591f8fd8c93ea9e54aecd0d9222af9a00597acf8003",
    ),
    "arct1": ("arct_1.txt", "d2c42e9e90b1d80f17b6767b57c839c8af884403c35a0d4c64e414a078c42d3b"),
    "arct2": ("arct_2.txt", "1f171f24be34a5acfc6d8b862cb849ad5e231f33d6b0d0e91c8067e810d8a9dd"),
}
# set: (commit, sha256)
_DUAL = {
    "add": (_COMMIT, "16107dcf7f9672cd85980529bbe72fabd7bd4301a78a7d64d48e6cf60d43e64c"),
    "del": (
        "a1134e25d5f1b6e4390c13697942599012676aa0",
        "7513702773323e312194259a8e65b90b21fd1b6f7cb11ec798a857ff74a924c1",
    ),
    "sub": (
        "5b2a74fc9aa0ee2ddd8cb3775f9ce2a6ef2000d6",
        "ed966f5c277fa671a6c6573af621a8989d004593be85e402fdf685f9d6b5fad5",
    ),
    "swap": (_COMMIT, "5604c334016c7cd2b3a26fb7e43db0a669a4c52d8b92d1f5071ab16efa9045ec"),
}


def readings() -> Labels:
    """Return what the readers answered to each question, and which ``side`` they chose."""
    return read_labels("cats.csv", [name for pair in _READ.items() for name in pair])


def _agreed(labels: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {
        tag: labels[tag][0]
        for tag, side in _READ.items()
        if labels and labels[side] == ("right", "right") and len(set(labels[tag])) == 1
    }


def _ability_items(files: Mapping[str, Path]) -> Iterator[Choice]:
    read = readings()
    for name, (file, _) in _ABILITY.items():
        level = "token" if name in _TOKEN_LEVEL else "sentence"
        for number, line in enumerate(read_lines(files[f"cats/ability/{file}"]), start=1):
            label, *candidates = line.split("\x01")
            key = f"{name}-{number:04}"
            yield Choice(
                id=key,
                candidates=tuple(candidates),
                gold=int(label),
                tags={"set": name, "level": level, **_agreed(read.get(key, {}))},
            )


def _dual_items(files: Mapping[str, Path]) -> Iterator[Choice]:
    for name in _DUAL:
        for number, line in enumerate(read_lines(files[f"cats/robust/{name}.txt"]), start=1):
            cells = line.split("\x01")
            block = f"{name}-{number:03}"
            for half, (label, *candidates) in zip("ab", (cells[:3], cells[3:]), strict=True):
                yield Choice(
                    id=block + half,
                    candidates=tuple(candidates),
                    gold=int(label),
                    block=block,
                    tags={"set": name},
                )


_PAPER = Recipe(
    name="paper",
    tidy=False,
    policy={"bos": "never", "norm": "token", "pll": "original", "ties": "first"},
    why=(
        "the released script: no BOS for causal models, the mean over tokens, one token masked at "
        "a time, ties go to the first candidate, texts as published ([SEP] included)"
    ),
)
_CITATION = (
    "Xuhui Zhou, Yue Zhang, Leyang Cui and Dandan Huang. 2020. Evaluating Commonsense in "
    "Pre-trained Language Models. AAAI 2020."
)

CATS = Entry(
    name="cats",
    topic="common sense",
    items=7_697,
    chance=0.391,
    card=Card(
        title="CATs: commonsense ability tests",
        language="en",
        licence="GPL-3.0 (the repository)",
        citation=_CITATION,
        url=f"https://github.com/{_REPOSITORY}",
        notes=(
            "Two pairs of sm are identical; hellaswag has a literal [SEP]; arct2 contains arct1. "
            "Two language-model readers gave the tags steps and mediators; see "
            "docs/results/steps.md."
        ),
        reader_tags=tuple(_READ),
    ),
    importer=_ability_items,
    files=tuple(
        github_file(
            _REPOSITORY,
            _COMMIT,
            f"commonsense_ability_test/{file}",
            sha256=sha256,
            path=f"cats/ability/{file}",
        )
        for file, sha256 in _ABILITY.values()
    ),
    recipes={"paper": _PAPER},
    part_tag="set",
    parts=tuple(_ABILITY),
)

CATS_DUAL = Entry(
    name="cats-dual",
    topic="robustness",
    items=646,
    chance=0.5,
    card=Card(
        title="CATs robustness: dual tests",
        language="en",
        licence="GPL-3.0 (the repository)",
        citation=_CITATION,
        url=f"https://github.com/{_REPOSITORY}",
        notes="The label does not flip within one block of sub and six of swap.",
    ),
    importer=_dual_items,
    files=tuple(
        github_file(
            _REPOSITORY,
            commit,
            f"Robust_commonsense_test/{name}.txt",
            sha256=sha256,
            path=f"cats/robust/{name}.txt",
        )
        for name, (commit, sha256) in _DUAL.items()
    ),
    recipes={"paper": _PAPER},
    part_tag="set",
    parts=tuple(_DUAL),
)
