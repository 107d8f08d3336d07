"""Asking instead of scoring: lettered options in every order, and a strict reading of the answer.

A chat model that gives no log-probabilities is shown the candidates of an item as options A, B, …
and answers with a letter. Many models prefer a position, so an item is asked in all orders of two
or three candidates, and in rotations of more, which put every candidate in every position once. The
score of a candidate is the share of orders in which it was chosen.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_uppercase

from boxpen.items import LABELS, Choice, Entail
from boxpen.scoring.recipe import LANGUAGE_NAMES

__all__ = ["Outcome", "Question", "orders", "questions", "read_answer"]

MOST = len(ascii_uppercase)
_ALL_ORDERS = 3  # candidates; six orders


class Outcome(StrEnum):
    """What became of one question."""

    CHOSEN = "chosen"
    UNPARSED = "unparsed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Question:
    """One item in one order.

    Attributes:
        prompt: What the model is asked.
        order: The candidate behind each letter.
        options: Their texts, in this order.
    """

    prompt: str
    order: tuple[int, ...]
    options: tuple[str, ...]

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return ascii_uppercase[: len(self.order)]


def orders(count: int) -> list[tuple[int, ...]]:
    """Return the orders in which ``count`` candidates are shown.

    Every candidate is equally often in every position.
    """
    plain = tuple(range(count))
    if count <= _ALL_ORDERS:
        return list(itertools.permutations(plain))
    return [(*plain[start:], *plain[:start]) for start in plain]


def questions(
    item: Choice | Entail, *, language: str | None = None, source_language: str | None = None
) -> list[Question]:
    """Return the questions for an item, one for each order of its candidates or labels.

    Args:
        item: What to ask.
        language: Language of the candidates.
        source_language: Language of the source, if there is one.
    """
    candidates = LABELS if isinstance(item, Entail) else item.candidates
    if isinstance(item, Entail):
        before, after = _entailment(item), "Which label is right?"
    else:
        before, after = _before(item, language, source_language)
    found = []
    for order in orders(len(candidates)):
        options = tuple(candidates[place] for place in order)
        lines = [
            f"{letter}. {text}" for letter, text in zip(ascii_uppercase, options, strict=False)
        ]
        parts = [before, after, "\n".join(lines), _CLOSING]
        found.append(Question("\n\n".join(filter(None, parts)), order, options))
    return found


_CLOSING = "Answer with the letter of one option and nothing else."


def _entailment(item: Entail) -> str:
    return (
        f"Premise: {item.premise.strip()}\nHypothesis: {item.hypothesis.strip()}\n\n"
        "If the premise is true, the hypothesis is either true as well (entailment), or false "
        "(contradiction), or it may be true or false (neutral)."
    )


def _before(item: Choice, language: str | None, source_language: str | None) -> tuple[str, str]:
    """Return what is shown before the options, and the question."""
    context = (item.context or "").strip()
    if item.source is None:
        question = "Which option makes more sense" if len(item.candidates) == 2 else (
            "Which option makes the most sense"
        )  # fmt: skip
        return context, f"{question} after this text?" if context else f"{question}?"
    source, target = (
        LANGUAGE_NAMES.get(code or "", code or "") for code in (source_language, language)
    )
    shown = f"{source} sentence: {item.source.strip()}".strip()
    if context:
        shown = f"The sentence before it: {context}\n{shown}"
    return shown, f"Which option is the right {target} translation?".replace("  ", " ")


_REFUSAL = re.compile(
    r"\b(i(?:'m| am) sorry|i can(?:'t|not)|i(?:'m| am) (?:not able|unable)|as an ai\b|i won't)",
    re.I,
)
_LEAD = re.compile(
    r"(?:(?:my|the)\s+)?(?:(?:correct|right|best|final)\s+)?(?:answer|option|choice|label)"
    r"(?:\s+(?:is|would be))?\s*:?\s*(?:option\s+)?",
    re.I,
)
_MARKS = "*_`\"'“”‘’()[]{}<>"
_ENDS = ".:;,)-–—"


def read_answer(text: str, question: Question) -> tuple[Outcome, int | None]:
    """Return what a model's answer means, and the candidate that it chose.

    Only answers that can mean one thing count: a letter on its own ('B', '(b).', '**B**'), behind
    'the answer is', or before its option ('B. he put a turkey …'); or the exact text of one option.
    'A turkey' is not the letter A.
    """
    shown = text.strip()
    lines = shown.splitlines()
    first = lines[0] if lines else ""
    if (place := _place(first, question)) is None and len(lines) > 1:
        place = _place(lines[-1], question)  # a conclusion after some reasoning
    if place is not None:
        return Outcome.CHOSEN, question.order[place]
    if _REFUSAL.search(shown):
        return Outcome.REFUSED, None
    return Outcome.UNPARSED, None


def _place(line: str, question: Question) -> int | None:
    bare = _stripped(line)
    led = _LEAD.match(bare)
    said = _stripped(bare[led.end() :]) if led else bare
    same = [i for i, option in enumerate(question.options) if _same(said, option)]
    if len(same) == 1:
        return same[0]
    letter, rest = said[:1].upper(), said[1:]
    if not letter or letter not in question.letters or (said[:1].islower() and rest):
        return None
    place = question.letters.index(letter)
    rest = rest.lstrip(_MARKS)
    if not rest.strip(_MARKS + _ENDS + " "):
        return place
    if rest[0] in _ENDS or rest[0].isspace():
        explained = _stripped(rest.lstrip(_ENDS + " "))
        if _same(explained, question.options[place]):
            return place
    return None


def _stripped(text: str) -> str:
    return text.strip().strip(_MARKS).strip()


def _same(said: str, option: str) -> bool:
    """Whether an answer repeats an option, but for case, marks and the full stop."""
    plain = [" ".join(_stripped(t).rstrip(".").casefold().split()) for t in (said, option)]
    return bool(plain[0]) and plain[0] == plain[1]


def votes(chosen: Sequence[int | None], count: int) -> tuple[float, ...]:
    """Return the share of orders in which each candidate was chosen."""
    return tuple(sum(c == place for c in chosen) / len(chosen) for place in range(count))
