"""What a snippet may test: a pronoun, a connective or an ellipsis that needs its context."""

from __future__ import annotations

from dataclasses import dataclass

from boxpen.build.discourse.contrast import contrasts
from boxpen.build.discourse.phenomena.connectives import connective
from boxpen.build.discourse.phenomena.ellipsis import ellipsis
from boxpen.build.discourse.phenomena.pronouns import pronoun
from boxpen.build.discourse.phenomena.snippets import Snippet

__all__ = ["Candidate", "candidates"]

_FINDERS = {"pronoun": pronoun, "connective": connective, "ellipsis": ellipsis}


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


def candidates(snippet: Snippet) -> list[Candidate]:
    """Return what a snippet may test, usually nothing."""
    made = []
    for phenomenon, find in _FINDERS.items():
        found = find(snippet)
        if found is None:
            continue
        cls, word, score, reason = found
        wrong = contrasts(
            phenomenon, cls, word, snippet.source, snippet.target, snippet.context_target
        )
        if not wrong:
            reason += "; no contrast: no exchange leaves a wrong but good sentence"
        made.append(Candidate(snippet, phenomenon, cls, word, min(score, 1.0), reason, wrong))
    return made
