"""What a judge of translations finds: an outcome and its evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["CANNOT_TELL", "OUTCOMES", "RIGHT", "WRONG", "Hit", "Outcome", "Ruling", "rule"]

Outcome = Literal["right", "wrong", "cannot tell"]
RIGHT: Outcome = "right"
WRONG: Outcome = "wrong"
CANNOT_TELL: Outcome = "cannot tell"
OUTCOMES: tuple[Outcome, ...] = (RIGHT, WRONG, CANNOT_TELL)


@dataclass(frozen=True, slots=True)
class Hit:
    """Words of a translation, and the character that they begin at, counted from 1."""

    words: str
    place: int

    def __str__(self) -> str:
        return f"{self.words} at {self.place}"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether one point of a translation is right.

    Attributes:
        outcome: What is ruled.
        evidence: A sentence with the words, their place, and what was expected.
        found: The words that decided, in their order.
        instead: What a translation that is not right says in place of what was asked for; empty if
            it says nothing.
        strict: Of an ellipsis, whether the verb itself is there; None for all else.
    """

    outcome: Outcome
    evidence: str
    found: str
    instead: str = ""
    strict: Outcome | None = None


def rule(
    outcome: Outcome, because: str, hits: Iterable[Hit] = (), *, instead: str | None = None
) -> Ruling:
    """Make a ruling of a reason and the words that it rests on.

    Args:
        outcome: What is ruled.
        because: The reason.
        hits: The words.
        instead: What is said instead, if these words are not it.
    """
    some = sorted(set(hits), key=lambda hit: (hit.place, hit.words))
    shown = f"{', '.join(map(str, some))}: " if some else ""
    words = [hit.words for hit in some]
    if instead is None:
        instead = "" if outcome == RIGHT else " ".join(dict.fromkeys(words))
    return Ruling(outcome, shown + because, " ".join(words), instead)
