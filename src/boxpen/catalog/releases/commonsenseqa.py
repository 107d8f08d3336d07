"""CommonsenseQA (Talmor et al. 2019): questions with five answers; the development set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, RemoteFile
from boxpen.catalog.published import published_items
from boxpen.catalog.releases.piqa import QUESTION
from boxpen.items import Card, Item

__all__ = ["COMMONSENSEQA"]

_FILE = "commonsenseqa/dev_rand_split.jsonl"


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    yield from published_items(
        files[_FILE], "{id}", context="question.stem", candidates="question.choices",
        gold="answerKey", tags={"concept": "{question[question_concept]}"},
    )  # fmt: skip


COMMONSENSEQA = Entry(
    name="commonsenseqa",
    topic="common sense",
    items=1_221,
    chance=0.2,
    card=Card(
        title="CommonsenseQA: questions about concepts (development set, random split)",
        language="en",
        licence="none stated",
        citation=(
            "Alon Talmor, Jonathan Herzig, Nicholas Lourie and Jonathan Berant. 2019. "
            "CommonsenseQA: A Question Answering Challenge Targeting Commonsense Knowledge. NAACL."
        ),
        url="https://www.tau-nlp.sites.tau.ac.il/commonsenseqa",
    ),
    importer=_items,
    files=(
        RemoteFile(  # the checksum that ParlAI records
            "https://s3.amazonaws.com/commensenseqa/dev_rand_split.jsonl",
            "3210497fdaae614ac085d9eb873dd7f4d49b6f965a93adadc803e1229fd8a02a",
            _FILE,
        ),
    ),
    recipes={"sound": QUESTION},
)
