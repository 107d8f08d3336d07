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

import numpy as np

from boxpen.items import LABELS, Choice, Entail
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Verdict

__all__ = [
    "REFUSED",
    "Answer",
    "Outcome",
    "Question",
    "answered",
    "as_choice",
    "decide_asked",
    "likeliest_letter",
    "options_shown",
    "orders",
    "question_text",
    "questions",
    "read_answer",
]

REFUSED = "[refused]"
"""Begins an answer that a server itself marked as a refusal, or filtered."""

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


def likeliest_letter(question: Question, record: Record) -> str:
    """Return the likeliest letter of a question; empty if the model lists none.

    Args:
        question: The question.
        record: The log-probabilities of letters, by place; -1 for a refusal.
    """
    if not len(record.logprobs):
        return ""
    place = int(record.token_ids[int(np.argmax(record.logprobs))])
    return REFUSED if place < 0 else question.letters[place]


def orders(count: int) -> list[tuple[int, ...]]:
    """Return the orders in which ``count`` candidates are shown.

    Every candidate is equally often in every position.
    """
    plain = tuple(range(count))
    if count <= _ALL_ORDERS:
        return list(itertools.permutations(plain))
    return [(*plain[start:], *plain[:start]) for start in plain]


def as_choice(item: Choice | Entail) -> Choice:
    """Return an item as a choice; of an entailment item, between the labels."""
    if isinstance(item, Choice):
        return item
    return Choice(
        id=item.id,
        candidates=LABELS,
        gold=LABELS.index(item.label),
        context=f"Premise: {item.premise}\nHypothesis: {item.hypothesis}",
        block=item.block,
        tags=item.tags,
        language=item.language,
    )


def questions(
    item: Choice | Entail,
    recipe: Recipe,
    *,
    language: str | None = None,
    source_language: str | None = None,
) -> list[Question]:
    """Return the questions for an item, one for each order of its candidates or labels.

    Args:
        item: What to ask.
        recipe: How to ask.
        language: Language of the candidates.
        source_language: Language of the source, if there is one.
    """
    asked = question_text(item, recipe, language=language, source_language=source_language)
    candidates = [recipe.tidied(text) for text in as_choice(item).candidates]
    found = []
    for order in orders(len(candidates)):
        options = tuple(candidates[place] for place in order)
        lines = [
            f"{letter}. {text}" for letter, text in zip(ascii_uppercase, options, strict=False)
        ]
        found.append(Question("\n\n".join((asked, "\n".join(lines), _CLOSING)), order, options))
    return found


def question_text(
    item: Choice | Entail, recipe: Recipe, *, language: str | None, source_language: str | None
) -> str:
    """Return a question without its options: what comes before them, and what is asked."""
    if isinstance(item, Entail):
        premise, hypothesis = recipe.tidied(item.premise), recipe.tidied(item.hypothesis)
        return f"Premise: {premise}\nHypothesis: {hypothesis}\n\n{_LABEL}"
    return recipe.before(item, language, source_language) or recipe.unconditional


def options_shown(prompt: str) -> int:
    """Return how many options a question has."""
    return prompt.split("\n\n")[-2].count("\n") + 1


_LABEL = (
    "If the premise is true, the hypothesis is true as well (entailment), or it is false "
    "(contradiction), or it may be either (neutral). Which label is right?"
)
_CLOSING = "Answer with the letter of one option and nothing else."


_REFUSAL = re.compile(
    r"\b(i(?:['’]m| am) sorry|i can(?:['’]t|not)|i(?:['’]m| am) (?:not able|unable)|as an ai\b"
    r"|i won['’]t)",
    re.I,
)
_LEAD = re.compile(
    r"(?:(?:my|the)\s+)?(?:(?:correct|right|best|final)\s+)?(?:answer|option|choice|label)"
    r"(?:\s+(?:is|would be))?\s*:?\s*(?:option\s+)?",
    re.I,
)
_MARKS = "*_`\"'“”‘’()[]{}<>"
_ENDS = ".:;,)-–—。：；，、"


def read_answer(text: str, question: Question) -> tuple[Outcome, int | None]:
    """Return what a model's answer means, and the candidate that it chose.

    Only answers that can mean one thing count: a letter on its own ('B', '(b).', '**B**'), behind
    'the answer is', or before its option ('B. he put a turkey …'); or the exact text of one option.
    It must be in the first or the last line, and no line may choose another one: a model that
    repeats all options has chosen none. 'A turkey' is not the letter A.
    """
    shown = text.strip()
    if shown.startswith(REFUSED):
        return Outcome.REFUSED, None
    places = [_place(line, question) for line in shown.splitlines()]
    chosen = {place for place in places if place is not None}
    if len(chosen) == 1 and not chosen.isdisjoint((places[0], places[-1])):
        return Outcome.CHOSEN, question.order[chosen.pop()]
    if _REFUSAL.search(shown):
        return Outcome.REFUSED, None
    return Outcome.UNPARSED, None


def _place(line: str, question: Question) -> int | None:
    bare = _stripped(line)
    led = _LEAD.match(bare)
    said = _stripped(bare[led.end() :]) if led else bare
    letter, rest = said[:1].upper(), said[1:].lstrip(_MARKS)
    place = question.letters.find(letter) if letter else -1
    if place >= 0 and not rest.strip(_MARKS + _ENDS + " "):
        return place
    same = [i for i, option in enumerate(question.options) if _plain(said) == _plain(option)]
    if len(same) == 1:
        return same[0]
    if place >= 0 and said[:1].isupper() and (rest[0] in _ENDS or rest[0].isspace()):
        # Some repeat the option behind its letter, as far as the answer goes. 'A, B' does not, nor
        # does 'A turkey', which may be the beginning of another option.
        explained = _plain(rest.lstrip(_ENDS + " "))
        starts = [i for i, one in enumerate(question.options) if _plain(one).startswith(explained)]
        others = [one for one in question.options if _plain(one).startswith(_plain(said))]
        if place in starts and not others and explained.upper() not in question.letters:
            return place
    return None


def _stripped(text: str) -> str:
    return text.strip().strip(_MARKS).strip()


def _plain(text: str) -> str:
    """Return a text without case, marks and the full stop."""
    return " ".join(_stripped(text).rstrip(".").casefold().split())


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    Attributes:
        item: Id of the item.
        order: Number of the order in which the candidates were shown.
        prompt: What the model was asked.
        text: What it answered, or its likeliest letter.
        outcome: How the answer was read.
        chosen: The candidate that it chose, if any.
        place: The position in which that candidate was shown.
    """

    item: str
    order: int
    prompt: str
    text: str
    outcome: str
    chosen: int | None
    place: int | None


def answered(
    item: Choice | Entail, asked: Sequence[Question], texts: Sequence[str]
) -> list[Answer]:
    """Read the answers to all questions of an item."""
    found = []
    for number, (question, text) in enumerate(zip(asked, texts, strict=True)):
        outcome, chosen = read_answer(text, question)
        place = None if chosen is None else question.order.index(chosen)
        found.append(Answer(item.id, number, question.prompt, text, outcome, chosen, place))
    return found


def decide_asked(item: Choice | Entail, answers: Sequence[Answer]) -> Verdict:
    """Return the verdict: the score of a candidate is the share of orders in which it was chosen.

    The item earns the share of its right candidate, or of the labels that it accepts. An answer
    that is not a clear choice earns nothing in its order.
    """
    choice = as_choice(item)
    count = len(choice.candidates)
    scores = tuple(sum(a.chosen == c for a in answers) / len(answers) for c in range(count))
    best = max(scores)
    also = item.also if isinstance(item, Entail) else ()
    right = {choice.gold, *map(LABELS.index, also)}
    return Verdict(
        id=item.id,
        block=item.block,
        tags=item.tags,
        gold=choice.gold,
        scores=scores,
        winner=scores.index(best),
        tied=scores.count(best),
        credit=sum(scores[c] for c in right),
        margin=max(scores[c] for c in right)
        - max(s for c, s in enumerate(scores) if c not in right),
        also=also,
    )
