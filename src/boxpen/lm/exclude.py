"""Find, remove and count training sentences that occur in a test suite.

A sentence is removed if it is a text of an item (a candidate, a context, a source, a premise), or
contains one: a line of a corpus may be two sentences. As in ``boxpen.text.overlap``, case and
punctuation do not count, and very short texts reveal nothing about a test. A text within a longer
line must be longer to count: 'I do not know' occurs in many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from boxpen.items import Suite
from boxpen.text.normal import base_language, key
from boxpen.text.overlap import Overlap, overlap_of
from boxpen.text.sentences import Sentence

__all__ = ["Excluded", "exclude"]

WITHIN_WORDS = 5
"""Fewest words of a text that is looked for within a line."""


class Excluded(NamedTuple):
    """The sentences that stay, and how many were removed for each suite, by its label."""

    kept: list[Sentence]
    counts: dict[str, int]


def exclude(sentences: Sequence[Sentence], suites: Mapping[str, Suite], language: str) -> Excluded:
    """Remove the sentences in which a text of a suite occurs.

    Args:
        sentences: The training sentences.
        suites: The test suites, by labels: two suites may have the same name.
        language: Language of the sentences; suite texts in other languages do not matter.
    """
    counts = dict.fromkeys(suites, 0)
    if not suites:
        return Excluded(list(sentences), counts)
    labelled = [replace(suite, name=label) for label, suite in suites.items()]
    index = _Index(overlap_of(labelled, language, language), base_language(language))
    kept = []
    for sentence in sentences:
        found = index.find(key(sentence.text, language))
        if found is None:
            kept.append(sentence)
        else:
            counts[found] += 1
    return Excluded(kept, counts)


class _Index:
    """The texts of suites: whole, and by their first words for those within a line."""

    def __init__(self, overlap: Overlap, language: str) -> None:
        self.overlap = overlap
        self.inside: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        if language == "zh":  # which has no words in its keys
            return
        for text, suite in overlap.source.items():
            words = tuple(text.split())
            if len(words) >= WITHIN_WORDS:
                self.inside.setdefault(words[:WITHIN_WORDS], {})[words] = suite

    def find(self, text: str) -> str | None:
        """Return the label of the first suite with a text that occurs here."""
        if (whole := self.overlap.find(text, "")) is not None:
            return whole.suite
        if not self.inside:
            return None
        words = tuple(text.split())
        for start in range(len(words) - WITHIN_WORDS + 1):
            for other, suite in self.inside.get(words[start : start + WITHIN_WORDS], {}).items():
                if words[start : start + len(other)] == other:
                    return suite
        return None
