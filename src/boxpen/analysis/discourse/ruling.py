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

    ``evidence`` is a sentence with the words, their place, and what was expected; ``found`` has the
    words that decided, in their order.
    """

    outcome: Outcome
    evidence: str
    found: str


def rule(outcome: Outcome, because: str, hits: Iterable[Hit] = ()) -> Ruling:
    """Make a ruling of a reason and the words that it rests on."""
    some = sorted(set(hits), key=lambda hit: (hit.place, hit.words))
    shown = f"{', '.join(map(str, some))}: " if some else ""
    return Ruling(outcome, shown + because, " ".join(hit.words for hit in some))
