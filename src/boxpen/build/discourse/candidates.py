"""What a snippet may test, by the rules for its languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.discourse.phenomena.snippets import Snippet

__all__ = ["Candidate", "candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A snippet that may become an item: a finding with its wrong translations, perhaps none."""

    snippet: Snippet
    phenomenon: str
    cls: str
    word: str
    score: float
    reason: str
    contrast: tuple[str, ...]


def candidates(snippet: Snippet, phenomena: Iterable[Phenomenon]) -> list[Candidate]:
    """Return what a snippet may test, usually nothing."""
    made = []
    for rule in phenomena:
        found = rule.find(snippet)
        if found is None:
            continue
        cls, word, score, reason = found
        wrong = rule.contrasts(cls, word, snippet.source, snippet.target, snippet.context_target)
        if not wrong:
            reason += "; no contrast: no exchange leaves a wrong but good sentence"
        made.append(Candidate(snippet, rule.name, cls, word, min(score, 1.0), reason, wrong))
    return made
