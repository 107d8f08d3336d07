"""What speaks against a snippet, whatever it tests: a part of a sentence, a free translation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from boxpen.build.discourse.phenomena.wordlists import tokens
from boxpen.build.discourse.snippets import Snippet

__all__ = ["Objection", "fit", "misfits"]

# By what the score is multiplied, and why.
Objection = tuple[float, str]


def misfits(snippet: Snippet) -> Iterator[Objection]:
    """Yield what makes a snippet less fit for a test."""
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
        yield 0.75, "the sentence goes on with that before"
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
