"""Find training pairs that occur in an evaluation suite.

A model that was trained on a test remembers it instead of understanding it. So a pair goes if its
source or its target is a text of a suite, be it a source, a context, a candidate or a reference:
one side is enough, for a right translation that was seen is an answer that was seen.

Very short texts are the exception: *Yes.* or *真的?* occur in every corpus of speech and reveal
nothing about a test; leaving them out makes a model worse for no gain. They count only if both
sides of the pair occur in one item. (Removing pairs whose sides occur anywhere would take thousands
of pairs such as *Yes.* from a corpus of subtitles.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from boxpen.items import Choice, Item, Suite, Translate
from boxpen.text.corpus import Pair
from boxpen.text.normal import base_language, key

__all__ = ["Found", "Overlap", "overlap_of"]

# Fewer than so many: too short to tell of a test. A Chinese word has about two characters.
SHORT_CHARACTERS = 4
SHORT_WORDS = 3


class Found(NamedTuple):
    """The first suite in which a pair was found, and by which of its sides."""

    suite: str
    side: Literal["source", "target", "both"]


@dataclass(frozen=True)
class Overlap:
    """The texts of suites by their keys, for two languages.

    Attributes:
        source: The keys of texts in the source language, each with the first suite that has it.
        target: Those in the target language.
        together: The two keys of texts that occur in one item, with its suite.
        source_language: Determines what a short text is.
        target_language: Likewise.
    """

    source: Mapping[str, str]
    target: Mapping[str, str]
    together: Mapping[tuple[str, str], str]
    source_language: str
    target_language: str

    def find(self, source: str, target: str) -> Found | None:
        """Return where a pair stands, given the keys of its sides; None if in no suite."""
        if (whole := self.together.get((source, target))) is not None:
            return Found(whole, "both")
        by_source, by_target = self.source.get(source), self.target.get(target)
        if by_source is not None and not _short(source, self.source_language):
            both = by_target is not None and not _short(target, self.target_language)
            return Found(by_source, "both" if both else "source")
        if by_target is not None and not _short(target, self.target_language):
            return Found(by_target, "target")
        return None


def overlap_of(
    suites: Sequence[Suite],
    source_language: str,
    target_language: str,
    pairs: Iterable[Pair] = (),
) -> Overlap:
    """Gather the texts of suites that are in one of two languages, and pairs that are held out.

    A text whose language nobody tells counts in both. What role a text plays does not matter: the
    references of a suite that translates into Chinese are sources of a model that translates it.
    A pair that is held out counts where both of its sides are found, under the name of its corpus.
    """
    languages = base_language(source_language), base_language(target_language)
    source_keys: dict[str, str] = {}
    target_keys: dict[str, str] = {}
    together: dict[tuple[str, str], str] = {}
    for suite in suites:
        for item in suite:
            texts = list(_texts(suite, item))
            sources, targets = (_keys(texts, language) for language in languages)
            for keys, found in ((source_keys, sources), (target_keys, targets)):
                for one in found:
                    keys.setdefault(one, suite.name)
            for pair in product(sources, targets):
                together.setdefault(pair, suite.name)
    for held in pairs:
        sides = key(held.source, languages[0]), key(held.target, languages[1])
        if all(sides):
            together.setdefault(sides, held.corpus)
    return Overlap(source_keys, target_keys, together, *languages)


def _keys(texts: Sequence[tuple[str, str | None]], language: str) -> set[str]:
    """Return the keys of the texts in a language; texts of punctuation only have none."""
    return {
        key(text, language)
        for text, other in texts
        if other is None or base_language(other) == language
    } - {""}


def _texts(suite: Suite, item: Item) -> Iterator[tuple[str, str | None]]:
    """Yield every text of an item with its language."""
    language, source_language = suite.languages_of(item)
    if isinstance(item, Choice):
        own: tuple[str | None, ...] = item.candidates
        # Before the source if there is one, else before the candidates.
        other = (item.source, item.context) if item.source is not None else ()
        own += (item.context,) if item.source is None else ()
    elif isinstance(item, Translate):
        own = (item.reference, item.reference_context, *item.contrast)
        other = (item.source, item.context)
    else:
        own, other = (item.premise, item.hypothesis), ()
    yield from ((text, language) for text in own if text is not None)
    yield from ((text, source_language) for text in other if text is not None)


def _short(text: str, language: str) -> bool:
    if language == "zh":
        return len(text) < SHORT_CHARACTERS
    return len(text.split()) < SHORT_WORDS
