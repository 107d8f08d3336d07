"""XCOPA (Ponti et al. 2020): the cause or effect of a premise, in 11 languages; the test sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_files
from boxpen.catalog.published import published_items
from boxpen.items import Card, Item

__all__ = ["XCOPA"]

_COMMIT = "e2e9d7f105a758ee869cd13e0fe251ef93a29840"
_FILES = {
    "data/et/test.et.jsonl": "f670f3f726342fa3ccd6f844b72d378ed5d0a9a71bd152e6b3607d402eaafa92",
    "data/ht/test.ht.jsonl": "ec4a5502e190a51fef4d9cb2080164726772b2d46f7a51c2b86f56748d303428",
    "data/id/test.id.jsonl": "b6fe1cfc10bcf02f724dddf876d01df370be0a049cdf1ebf7be8f34504ff66da",
    "data/it/test.it.jsonl": "33564a0dbefc9ff3a7dc868d9a9718d7aaaf7fb136879ae4d2ba022f311f8a88",
    "data/qu/test.qu.jsonl": "ac20d5cd67545c41e2fa2e187e88ba4d4c2d7ece1a6489041d44113a5553bd7f",
    "data/sw/test.sw.jsonl": "4ca583c40f9ac045a9b6114fc1f052b0f4ca7402e7a78f567c32a7d8246aa273",
    "data/ta/test.ta.jsonl": "ae282423e45f0aed4174cea7594d200214a66b9c721b60f74a21fb2d5adeaf45",
    "data/th/test.th.jsonl": "63030f192c4fd8b3c066a8954203d5cdd57d803e8e1069fcca97ff0e7b669423",
    "data/tr/test.tr.jsonl": "1f0152af30bb46acccd0db14ecfe29014c1770c09b0af9b377e15bb4837178ec",
    "data/vi/test.vi.jsonl": "24cb28827066abb00a2f4004d86c447c4a30a9edb17938b26b61fb2385f94170",
    "data/zh/test.zh.jsonl": "c9b42590399214b9f066adacac2465d7286f5e590181fe6bfd7f6139531b83d4",
}
_LANGUAGES = tuple(file.split(".")[1] for file in _FILES)


def _items(files: Mapping[str, Path]) -> Iterator[Item]:
    for code in _LANGUAGES:
        yield from published_items(
            files[f"xcopa/data/{code}/test.{code}.jsonl"], f"{code}-{{number:03}}", language=code,
            tags={"set": code, "relation": "{question}"},
        )  # fmt: skip


XCOPA = Entry(
    name="xcopa",
    topic="common sense",
    items=5_500,
    chance=0.5,
    card=Card(
        title="XCOPA: causes and effects in 11 languages (test sets)",
        licence="CC BY 4.0",
        citation=(
            "Edoardo Maria Ponti, Goran Glavaš, Olga Majewska, Qianchu Liu, Ivan Vulić and Anna "
            "Korhonen. 2020. XCOPA: A Multilingual Dataset for Causal Commonsense Reasoning. EMNLP."
        ),
        url="https://github.com/cambridgeltl/xcopa",
        notes="First letters after the connective are lower-cased, as lm-evaluation-harness does.",
    ),
    languages=_LANGUAGES,
    importer=_items,
    files=github_files("cambridgeltl/xcopa", _COMMIT, _FILES, path="xcopa"),
    part_tag="set",
    parts=_LANGUAGES,
)
