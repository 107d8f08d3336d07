"""ComVE (Wang et al. 2020): SemEval-2020 task 4, the larger successor of Sen-Making.

Subtask A: two sentences; the published answer names the one that is *against* common sense, so the
other is gold. Subtask B: three reasons why a sentence is against common sense.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from boxpen.catalog.entry import Entry, RemoteFile, github_file
from boxpen.catalog.releases.senmaking import EXPLAIN, reasons
from boxpen.errors import SuiteError
from boxpen.items import Card, Choice
from boxpen.text.lines import opened

__all__ = ["COMVE", "COMVE_TRAIN"]

_REPOSITORY = "wangcunxiang/SemEval2020-Task4-Commonsense-Validation-and-Explanation"
_COMMIT = "c55b1a9e6cb66997675f85073e17a9522cf38c2c"

# path in a mirror: (path in the repository, sha256); data and answers of A, then of B
_DEV = {
    "comve/dev/subtaskA_dev_data.csv": (
        "ALL data/Dev Data/subtaskA_dev_data.csv",
        "60f32177d667016e4ca2513fe75113f4e30b8336e3d3c5b8de4bcedfa53571bc",
    ),
    "comve/dev/subtaskA_gold_answers.csv": (
        "ALL data/Dev Data/subtaskA_gold_answers.csv",
        "405e8a28b1d79c19deb7855d44c46e9ac2e5d0d09dd2280476b21341fa492a95",
    ),
    "comve/dev/subtaskB_dev_data.csv": (
        "ALL data/Dev Data/subtaskB_dev_data.csv",
        "a0b011dc2850c14da249312734ebbc2e09b599fc039778eda11b71934bfe20ea",
    ),
    "comve/dev/subtaskB_gold_answers.csv": (
        "ALL data/Dev Data/subtaskB_gold_answers.csv",
        "6df991c552e2ec20cb4b7e359901d9b9f187a3cbd22b28fc680f1414c041433e",
    ),
}
_TRAIN = {  # the folder's name has two spaces
    "comve/subtaskA_data_all.csv": (
        "ALL data/Training  Data/subtaskA_data_all.csv",
        "e0f0dca581e92d6f97a819f44a3157058741e1c9dc92fd036f91bf3adf382215",
    ),
    "comve/subtaskA_answers_all.csv": (
        "ALL data/Training  Data/subtaskA_answers_all.csv",
        "8a30a09dcfcdc536d03201bea976708dff3813691667a3c1a346af15bfabbc69",
    ),
    "comve/subtaskB_data_all.csv": (
        "ALL data/Training  Data/subtaskB_data_all.csv",
        "12b1434468e6b1accb585d0da8b7f03c00b49540acbae387ceab43715307a998",
    ),
    "comve/subtaskB_answers_all.csv": (
        "ALL data/Training  Data/subtaskB_answers_all.csv",
        "ad35e57f7a696e16f577771a54951e1ad6c4b529ceba156264b2a936b30354f3",
    ),
}


def _items(files: Mapping[str, Path], *, split: Mapping[str, object]) -> Iterator[Choice]:
    a_data, a_answers, b_data, b_answers = (files[path] for path in split)
    for row, answer in _answered(a_data, a_answers):
        yield Choice(
            id=f"A-{row['id']}",
            candidates=(row["sent0"], row["sent1"]),
            gold=1 - int(answer),
            tags={"set": "A"},
        )
    for row, answer in _answered(b_data, b_answers):
        yield Choice(
            id=f"B-{row['id']}",
            context=row["FalseSent"],
            candidates=reasons(row["OptionA"], row["OptionB"], row["OptionC"]),
            gold="ABC".index(answer),
            tags={"set": "B"},
        )


def _answered(data: Path, answers: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Yield every row with its answer: joined by id, never by line."""
    with opened(answers, newline="") as stream:
        by_id = dict(csv.reader(stream))
    with opened(data, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["id"] not in by_id:
                raise SuiteError(f"{answers} has no answer for id '{row['id']}' of {data}")
            yield row, by_id.pop(row["id"])
    if by_id:
        raise SuiteError(f"{answers} answers id '{min(by_id)}', which {data} does not have")


def _files(split: Mapping[str, tuple[str, str]]) -> tuple[RemoteFile, ...]:
    return tuple(
        github_file(_REPOSITORY, _COMMIT, file, sha256=sha256, path=path)
        for path, (file, sha256) in split.items()
    )


def _card(title: str, notes: str = "") -> Card:
    return Card(
        title=title,
        language="en",
        licence="CC BY-SA 4.0",
        citation=(
            "Cunxiang Wang, Shuailong Liang, Yili Jin, Yilong Wang, Xiaodan Zhu and Yue Zhang. "
            "2020. SemEval-2020 Task 4: Commonsense Validation and Explanation. SemEval 2020."
        ),
        url=f"https://github.com/{_REPOSITORY}",
        notes=notes,
    )


COMVE = Entry(
    name="comve",
    topic="common sense",
    items=1_994,
    chance=0.417,
    card=_card("ComVE: commonsense validation and explanation (development set)"),
    importer=partial(_items, split=_DEV),
    files=_files(_DEV),
    recipes={"sound": EXPLAIN},
    part_tag="set",
    parts=("A", "B"),
)

COMVE_TRAIN = Entry(
    name="comve-train",
    topic="common sense",
    items=20_000,
    chance=0.417,
    card=_card(
        "ComVE: commonsense validation and explanation (training set)",
        notes=(
            "B-5618, B-7238 and B-9941 were published with an empty option C and have two "
            "candidates."
        ),
    ),
    importer=partial(_items, split=_TRAIN),
    files=_files(_TRAIN),
    recipes={"sound": EXPLAIN},
    part_tag="set",
    parts=("A", "B"),
)
