"""Discourse phenomena (Cai & Xiong 2020): English-Chinese pairs that need the sentence before.

A line is ``context _eos current`` in both languages; one space on either side of ``_eos`` belongs
to the mark. One line, number 52 of ``pron.zh``, has two sentences and no mark: such a line is
divided after its first full stop, as its English side is. Classes were published by position only,
in equal runs of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from boxpen.catalog.entry import Entry, github_file
from boxpen.items import Card, Translate
from boxpen.text.lines import read_lines

__all__ = ["DISCOURSE"]

_FOLDER = "discourse"
_FILES = {"pronoun": "pron", "connective": "conj", "ellipsis": "ellip"}
_CLASSES = {
    "pronoun": ("你们", "你", "它们", "她们", "他们"),
    "connective": (
        "while-而", "while-当", "as-因为", "as-当", "since-因为", "since-既然", "though-虽然",
        "though-但是", "or-否则", "or-或者",
    ),
}  # fmt: skip
_SHA256 = {
    "pron.en": "c0986445c3dee45a082d48d344fa15242286d7d744799f1f87320a161b69bc82",
    "pron.zh": "de23e5a2d2190993ec009814555da6602c81076c3e5bdc1b223100b64ee6d68f",
    "conj.en": "5b99e0cc854ef6f7c478a3ef4a6b1fed1646ce36b63bd12bdbcd0aebc41f09f5",
    "conj.zh": "71dbf716bd6b3ca1ad0559f496c0e33d0786953f6edf42e8c97fb24c0c6575d4",
    "ellip.en": "ecf3d2b0822419f3d1214e7de7b84e2554d0586e2f792f4173e4297104c5fc8c",
    "ellip.zh": "da516980388ae6482df3e9a8bfc868ddf630bcc59d6c359c32f913e98a735a3b",
}
_MARK = re.compile(" ?_eos ?")
_FULL_STOP = re.compile("(?<=。)")


def _items(files: Mapping[str, Path]) -> Iterator[Translate]:
    for name, file in _FILES.items():
        english = list(read_lines(files[f"{_FOLDER}/{file}.en"]))
        chinese = list(read_lines(files[f"{_FOLDER}/{file}.zh"]))
        for index, (en, zh) in enumerate(zip(english, chinese, strict=True)):
            context, source = _halves(en)
            reference_context, reference = _halves(zh)
            yield Translate(
                id=f"{name}-{index + 1:03}",
                source=source,
                reference=reference,
                context=context,
                reference_context=reference_context,
                tags={"set": name} | _class(name, index, len(english)),
            )


def _halves(line: str) -> list[str]:
    return (_MARK if _MARK.search(line) else _FULL_STOP).split(line, maxsplit=1)


def _class(name: str, index: int, lines: int) -> dict[str, str]:
    classes = _CLASSES.get(name)
    if classes is None:
        return {}
    value = classes[index * len(classes) // lines]
    return {"class": value, "word": value.rpartition("-")[2]}


DISCOURSE = Entry(
    name="discourse",
    topic="discourse",
    items=1_200,
    card=Card(
        title="Discourse phenomena in document-level translation",
        language="zh",
        source_language="en",
        licence="CC BY 4.0",
        citation=(
            "Xinyi Cai and Deyi Xiong. 2020. A Test Suite for Evaluating Discourse Phenomena in "
            "Document-level Neural Machine Translation. Proceedings of the Second International "
            "Workshop of Discourse Processing."
        ),
        url=(
            "https://github.com/tjunlp-lab/"
            "Discourse-Phenomena-in-Document-level-Neural-Machine-Translation"
        ),
        notes=(
            "The tag word is the Chinese word that the class asks for; not every reference has it. "
            "A full stop of ellipsis-087 stands on the wrong side of its mark."
        ),
    ),
    importer=_items,
    files=tuple(
        github_file(
            "tjunlp-lab/Discourse-Phenomena-in-Document-level-Neural-Machine-Translation",
            "32f8edc44694e4a0b61d4b017911b0bd2a182ef6",
            f"discourse_test_dataset/{file}",
            sha256=sha256,
            path=f"{_FOLDER}/{file}",
        )
        for file, sha256 in _SHA256.items()
    ),
    part_tag="set",
    parts=tuple(_FILES),
)
