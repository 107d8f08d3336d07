"""Two neighbouring sentences of a document, in both languages, and what is found in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from boxpen.build.discourse.phenomena.wordlists import tokens

__all__ = ["Finding", "Objection", "Snippet", "fit", "misfits", "weighed"]

Objection = tuple[float, str]
"""A factor of the score, and the reason for it."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A sentence, the one before it, and the translations of both.

    Attributes:
        document: The film or episode that it comes from.
        line: The number of the current sentence in its document.
        context_source: The sentence before, in the source language.
        source: The current sentence, in the source language.
        context_target: The sentence before, in the target language.
        target: The current sentence, in the target language.
    """

    document: str
    line: int
    context_source: str
    source: str
    context_target: str
    target: str


class Finding(NamedTuple):
    """What a snippet may test.

    Attributes:
        cls: The class, such as "她们" or "while-而"; "ellipsis" for an ellipsis.
        word: The words of the target that show the class in the current sentence.
        score: How likely it is good, from 0 to 1.
        reason: Why it was chosen, in words, and any objections.
    """

    cls: str
    word: str
    score: float
    reason: str


def weighed(
    cls: str, word: str, score: float, reason: str, objections: Iterable[Objection]
) -> Finding:
    """Return a finding with its objections taken into account."""
    against = [reason]
    for factor, objection in objections:
        score *= factor
        against.append(objection)
    return Finding(cls, word, round(score, 3), "; but ".join(against))


def misfits(snippet: Snippet) -> Iterator[Objection]:
    """Yield what makes a snippet less fit for a test, whatever it tests."""
    length = len(tokens(snippet.source))
    if not 3 <= length <= 30:
        yield 0.8, f"the sentence has {length} words"
    if len(tokens(snippet.context_source)) < 3:
        yield 0.9, "the context is short"
    for name, source, target in (
        ("translation", snippet.source, snippet.target),
        ("translation of the context", snippet.context_source, snippet.context_target),
    ):
        share = fit(source, target)
        if share < 1:
            yield 0.4 + 0.6 * share, f"the {name} is of another length"
    cased = snippet.context_source != snippet.context_source.lower()
    if cased and snippet.source[:1].islower():
        yield 0.75, "the sentence continues the one before"
    if snippet.context_source.rstrip(" \"'").endswith((",", "-", "...", "…")):
        yield 0.9, "the context is broken off"
    if not snippet.source.rstrip(" \"'").endswith((".", "?", "!")):
        yield 0.85, "the sentence may go on"
    if {"♪", "♫", "#", "*"} & {*snippet.source, *snippet.context_source}:
        yield 0.3, "it is sung"


def fit(source: str, target: str) -> float:
    """Return how well the lengths of a sentence and its translation go together, from 0 to 1."""
    many, characters = len(tokens(source)), len(re.findall(r"[^\W_]", target))
    if not many or not characters:
        return 0.0
    ratio = characters / many
    return 1.0 if 0.8 <= ratio <= 3.0 else 0.7 if 0.55 <= ratio <= 4.0 else 0.3
