"""What a snippet may test: a pronoun, a connective or an ellipsis that needs its context."""

from __future__ import annotations

from dataclasses import dataclass

from boxpen.build.discourse.contrast import contrasts
from boxpen.build.discourse.phenomena.connectives import connective
from boxpen.build.discourse.phenomena.ellipsis import ellipsis
from boxpen.build.discourse.phenomena.pronouns import pronoun
from boxpen.build.discourse.snippets import Snippet

__all__ = ["Candidate", "candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A snippet that may become an item.

    Attributes:
        snippet: The two sentences.
        phenomenon: "pronoun", "connective" or "ellipsis".
        cls: The class, such as "她们" or "while-而"; "ellipsis" for an ellipsis.
        word: The Chinese words that show the class in the current sentence.
        score: How likely it is good, from 0 to 1.
        reason: Why it was chosen, in words, and what speaks against it.
        contrast: Wrong translations of the current sentence, perhaps none.
    """

    snippet: Snippet
    phenomenon: str
    cls: str
    word: str
    score: float
    reason: str
    contrast: tuple[str, ...]


def candidates(snippet: Snippet) -> list[Candidate]:
    """Return what a snippet may test, usually nothing."""
    found = []
    if seen := pronoun(snippet):
        found.append(_candidate(snippet, "pronoun", seen.cls, seen.cls, seen.score, seen.reason))
    if link := connective(snippet):
        found.append(
            _candidate(snippet, "connective", link.cls, link.word, link.score, link.reason)
        )
    if gap := ellipsis(snippet):
        found.append(_candidate(snippet, "ellipsis", "ellipsis", gap.word, gap.score, gap.reason))
    return found


def _candidate(
    snippet: Snippet, phenomenon: str, cls: str, word: str, score: float, reason: str
) -> Candidate:
    wrong = contrasts(phenomenon, cls, word, snippet.source, snippet.target)
    if not wrong:
        reason += "; no contrast: no exchange leaves a wrong but good sentence"
    return Candidate(snippet, phenomenon, cls, word, min(score, 1.0), reason, wrong)
