"""The size of any suite, in the columns of Table 1 of the CommonMT paper (He et al. 2020).

Chinese is divided into words by jieba (without its guesses at new words), other languages by a
regular expression; punctuation is not counted, and unique tokens are counted in lower case.

On CommonMT this gives the paper's average for every side of every set but two of CT-SA: its source
(11.0 here, 11.1 there) and its wrong translations (13.4, 13.5). The paper's totals are these
rounded averages times the number of sentences (2,920 = 7.3 x 400; 2,921 here). Its unique tokens of
Chinese are within four of those here; of English it counts fewer, 1,139 for LA where there are
1,301 forms: it seems to count lemmas (docs/results/commonmt/tables.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from boxpen.analysis.parts import parts
from boxpen.analysis.suites.words import words
from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.notebook import Listed

__all__ = ["TOTAL", "SetStats", "SideStats", "stats"]

TOTAL = "TOTAL"
_LETTER = (
    r"[^\W\u2e80-\u9fff]"  # of a word; no Chinese character, which may have a mark on either side
)
_MARK = re.compile(rf"(?<!{_LETTER})[^\w\s]|[^\w\s](?!{_LETTER})")
"""A mark that is not inside a word, as the apostrophe of don't is."""


@dataclass(frozen=True, slots=True)
class SideStats:
    """The sentences of one side: their number, their tokens, and their marks of punctuation."""

    sentences: int
    tokens: int
    unique: int
    marks: int

    @property
    def average(self) -> float:
        """Tokens per sentence."""
        return self.tokens / self.sentences if self.sentences else 0.0

    def __add__(self, other: SideStats) -> SideStats:
        """Return the sentences of both; tokens that both have are counted as unique twice."""
        return SideStats(
            self.sentences + other.sentences,
            self.tokens + other.tokens,
            self.unique + other.unique,
            self.marks + other.marks,
        )


@dataclass(frozen=True, slots=True)
class SetStats:
    """One row of the table; a side that no item has is None.

    Attributes:
        name: The value of the tag, or ``TOTAL``.
        source: Sources, or premises.
        right: Right candidates, references, or hypotheses.
        wrong: All other candidates, or contrasting translations.
        context: Sentences before the source.
        right_context: Their right translations.
    """

    name: str
    items: int
    source: SideStats | None
    right: SideStats | None
    wrong: SideStats | None
    context: SideStats | None = None
    right_context: SideStats | None = None

    def __repr__(self) -> str:
        sides = [f"{name} {cell}" for name, cell in self.cells().items() if cell][2:]
        return f"{self.name}: {self.items:,} items; sentences / tokens: {', '.join(sides)}"

    def cells(self) -> dict[str, str]:
        """Return the columns that a notebook shows: sentences and tokens of every side."""
        sides = {
            "source": self.source,
            "right": self.right,
            "wrong": self.wrong,
            "context": self.context,
            "right context": self.right_context,
        }
        shown = {k: f"{s.sentences:,} / {s.tokens:,}" if s else "" for k, s in sides.items()}
        return {"set": self.name, "items": f"{self.items:,}", **shown}

    @property
    def with_context(self) -> tuple[SideStats, SideStats] | None:
        """Sources and references with the sentences before them, as Cai and Xiong count a suite."""
        if not (self.context and self.right_context and self.source and self.right):
            return None
        return self.context + self.source, self.right_context + self.right


def stats(suite: Suite, tag: str | None = None) -> Listed[SetStats]:
    """Count a suite, for every value of a tag and in total. Contexts are sides of their own.

    Raises:
        SuiteError: If no item has the tag that was asked for.
    """
    if tag is None:
        values = suite.tag_values()
        tag = next((name for name in ("set", "part") if name in values), None)
    rows = []
    if tag is not None:
        rows = [_row(part, value, part.items) for value, part in parts(suite, tag).items()]
    return Listed([*rows, _row(suite, TOTAL, suite.items)])


def _row(suite: Suite, name: str, items: Iterable[Item]) -> SetStats:
    sides = tuple(_Side() for _ in range(5))
    count = 0
    for item in items:
        count += 1
        language, source_language = suite.languages_of(item)
        first = language if isinstance(item, Entail) else source_language
        languages = (first, language, language, first, language)
        found = (*_sides(item), *_contexts(item))
        for side, sentences, code in zip(sides, found, languages, strict=True):
            for sentence in sentences:
                side.add(sentence, code)
    return SetStats(name, count, *(side.stats() for side in sides))


def _sides(item: Item) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    if isinstance(item, Entail):
        return (item.premise,), (item.hypothesis,), ()
    source = () if item.source is None else (item.source,)
    if isinstance(item, Choice):
        right = item.candidates[item.gold : item.gold + 1] if item.gold >= 0 else ()
        wrong = tuple(c for index, c in enumerate(item.candidates) if index != item.gold)
        return source, right, wrong
    return source, (item.reference,), item.contrast


def _contexts(item: Item) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sentence before and its translation, of sentences to translate."""
    if not isinstance(item, Translate):
        return (), ()
    before, translated = item.context, item.reference_context
    return (before,) if before else (), (translated,) if translated else ()


class _Side:
    def __init__(self) -> None:
        self.sentences = 0
        self.tokens = 0
        self.marks = 0
        self.unique: set[str] = set()

    def add(self, sentence: str, language: str | None) -> None:
        found = words(sentence, language)
        self.sentences += 1
        self.tokens += len(found)
        self.marks += len(_MARK.findall(sentence))
        self.unique.update(found)

    def stats(self) -> SideStats | None:
        if not self.sentences:
            return None
        return SideStats(self.sentences, self.tokens, len(self.unique), self.marks)
