"""Sen-Making and Explanation (Wang et al. 2019): which sentence makes sense, and why not the other.

Every instance gives two items. ``sen-making``: two sentences, of which the published field
``false`` names the one that is nonsense. ``explanation``: the nonsense sentence is the context, and
the candidates are three reasons why it is nonsense.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.items import Card, Choice
from boxpen.scoring.recipe import Recipe
from boxpen.text.lines import read_lines

__all__ = ["EXPLAIN", "SENMAKING", "reasons"]

_AGAINST = '"{context}" is against common sense because'
EXPLAIN = Recipe(
    name="sound",
    prefix=_AGAINST,
    why="a reason is scored as the end of a sentence that says what it is a reason for",
)
_PAPER = Recipe(
    name="paper",
    prefix=_AGAINST,
    whole=True,
    tidy=False,
    policy={"bos": "never", "norm": "token", "pll": "unmasked", "ties": "first"},
    why=(
        "the paper's perplexity (prod p)^(-1/n) of sentence and reason together; in the released "
        "BERT script the line that masks is commented out, so BERT sees the token it is asked for"
    ),
)


def _items(files: Mapping[str, Path]) -> Iterator[Choice]:
    instances = [json.loads(line) for line in read_lines(files["senmaking/dataset.jsonl"])]
    for data in instances:
        yield Choice(
            id=f"sen-making-{data['id']}",
            candidates=(data["sentence0"], data["sentence1"]),
            gold=1 - data["false"],
            tags={"set": "sen-making"},
        )
    for data in instances:
        yield Choice(
            id=f"explanation-{data['id']}",
            context=data[f"sentence{data['false']}"],
            candidates=reasons(data["A"], data["B"], data["C"]),
            gold="ABC".index(data["reason"]),
            tags={"set": "explanation"},
        )


def reasons(*options: str) -> tuple[str, ...]:
    """Return the options of an explanation, without a last one that was published empty.

    It is never the answer, and an empty text has no score.
    """
    return options if options[-1] else options[:-1]


SENMAKING = Entry(
    name="senmaking",
    topic="common sense",
    items=4_042,
    chance=0.417,
    card=Card(
        title="Sen-Making and Explanation",
        language="en",
        licence="none stated",
        citation=(
            "Cunxiang Wang, Shuailong Liang, Yue Zhang, Xiaonan Li and Tian Gao. 2019. Does It "
            "Make Sense? And Why? A Pilot Study for Sense Making and Explanation. ACL 2019."
        ),
        url="https://github.com/wangcunxiang/Sen-Making-and-Explanation",
        notes=(
            "Two pairs of sentences are identical; explanation-1998 was published with an empty "
            "third option and has two candidates."
        ),
    ),
    importer=_items,
    files=(
        github_file(
            "wangcunxiang/Sen-Making-and-Explanation",
            "186a8b2ccaed913da1e1f7519d1061668a50396a",
            "dataset.jsonl",
            sha256="f4d6b8997edc154bc2c65db1789ed116c69d3900cecc0de16678f5fe8289434a",
            path="senmaking/dataset.jsonl",
        ),
    ),
    recipes={"sound": EXPLAIN, "paper": _PAPER},
    part_tag="set",
    parts=("sen-making", "explanation"),
)
