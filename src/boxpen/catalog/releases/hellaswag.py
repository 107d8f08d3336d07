"""HellaSwag (Zellers et al. 2019): which ending follows? The validation set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_files
from boxpen.catalog.published import json_objects, published_items
from boxpen.items import Card, Item

__all__ = ["HELLASWAG"]

_FILE = "hellaswag/hellaswag_val.jsonl"


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    rows = json_objects(files[_FILE])
    for row in rows:  # activitynet~v_-IMXSEIabMM, wikihow~21016
        row["set"] = row["source_id"].partition("~")[0]
    yield from published_items(
        files[_FILE], "hellaswag-{number:05}", rows=rows, context="ctx", candidates="endings",
        gold="label", gold_start=0,
        tags={"set": "{set}", "split": "{split_type}", "topic": "{activity_label}"},
    )  # fmt: skip


HELLASWAG = Entry(
    name="hellaswag",
    topic="common sense",
    items=10_042,
    chance=0.25,
    card=Card(
        title="HellaSwag: which ending follows? (validation set)",
        language="en",
        licence="MIT (the repository)",
        citation=(
            "Rowan Zellers, Ari Holtzman, Yonatan Bisk, Ali Farhadi and Yejin Choi. 2019. "
            "HellaSwag: Can a Machine Really Finish Your Sentence? ACL 2019."
        ),
        url="https://rowanzellers.com/hellaswag",
        notes=(
            "Texts from WikiHow have marks such as [title], which lm-evaluation-harness removes "
            "and boxpen keeps."
        ),
    ),
    importer=_items,
    files=github_files(  # the checksum that TensorFlow Datasets records
        "rowanz/hellaswag",
        "a29ff8e9a04bba4bd6588223785ce105328adc57",
        {"hellaswag_val.jsonl": "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588"},
        path="hellaswag",
        under="data/",
    ),
    part_tag="set",
    parts=("activitynet", "wikihow"),
)
