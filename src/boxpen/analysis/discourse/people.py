"""People who say whether a phenomenon is translated right, and how the class judge compares.

A judge sees the context, the sentence, the reference, the translation and what is asked, in words;
not the system, and not what the class judge says. What several systems translate alike is asked
once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.renderings import Rendering, ruling_of
from boxpen.analysis.discourse.ruling import CANNOT_TELL, OUTCOMES, RIGHT, WRONG
from boxpen.judgements import Decision, Question, VerdictSet, sampled
from boxpen.metrics.agreement import cohen_kappa

__all__ = [
    "DISCOURSE_VERDICTS",
    "Comparison",
    "class_in_words",
    "compared",
    "discourse_questions",
    "of_same_items",
    "of_sample",
    "question_of",
]

DISCOURSE_VERDICTS = VerdictSet({RIGHT: ("r", "ok"), WRONG: ("w",), CANNOT_TELL: ("c", "ct")})
"""Only the phenomenon counts; other errors of the translation do not."""

_IN_WORDS = {
    "你": "'you' is one person: 你",
    "你们": "'you' is several people: 你们",
    "他们": "'they' are men, or men and women: 他们",
    "她们": "'they' are women: 她们",
    "它们": "'they' are things or animals: 它们",
    "ellipsis": "the verb that English leaves out is there, where Chinese needs it",
}
_SENSES = {
    "while-而": "a contrast",
    "while-当": "at the same time",
    "as-因为": "a reason",
    "as-当": "at the same time",
    "since-因为": "a reason",
    "since-既然": "given that",
    "since-自从": "from then on",
    "though-虽然": "a concession",
    "though-但是": "an objection",
    "though-不过": "an objection",
    "or-否则": "otherwise",
    "or-或者": "an alternative",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The class judge against what people settled, over one phenomenon.

    Attributes:
        part: The phenomenon, or ``all``.
        items: Translations that people decided.
        same: The share of those on which both say the same; NaN without any.
        kappa: Cohen's kappa of three outcomes; NaN where both say one and the same throughout.
        kappa_right: The same of two: right, and not right.
        confusion: How often people said the first, and the class judge the second.
    """

    part: str
    items: int
    same: float
    kappa: float
    kappa_right: float
    confusion: Mapping[tuple[str, str], int]


def class_in_words(phenomenon: str, cls: str) -> str:
    """Say what a translation is asked for."""
    if phenomenon == "ellipsis":
        return _IN_WORDS["ellipsis"]
    word, _, sense = cls.partition("-")
    return _IN_WORDS.get(cls) or f"'{word}' says {_SENSES[cls]}, as 「{sense}」 does"


def question_of(one: Rendering) -> Question:
    """Return what people are asked about a translation."""
    shown = {
        "context": one.context,
        "source": one.source,
        "reference": one.reference,
        "translation": one.translation,
        "asked": class_in_words(one.phenomenon, one.cls),
    }
    # The digest tells translations of an item apart without telling who made them.
    name = f"{one.id}/{Question(one.id, shown).digest}"
    return Question(name, shown, part=one.phenomenon)


def discourse_questions(renderings: Iterable[Rendering]) -> list[Question]:
    """Return what people are asked: each translation once, whoever made it.

    Questions stand in the order of items; those of one item in an order that depends on their
    texts alone, so that the place does not tell the system.
    """
    of_item: dict[str, dict[str, Question]] = {}
    for one in renderings:
        question = question_of(one)
        of_item.setdefault(one.id, {})[question.item] = question
    return [some[name] for some in of_item.values() for name in sorted(some)]


def of_sample(renderings: Sequence[Rendering], size: int | None, seed: int = 0) -> list[Rendering]:
    """Take so many items at random, with the translations of all systems.

    Raises:
        BuildError: If the size is less than one.
    """
    items = [Question(name, {}) for name in dict.fromkeys(one.id for one in renderings)]
    taken = {question.item for question in sampled(items, size, seed)}
    return [one for one in renderings if one.id in taken]


def of_same_items(
    renderings: Sequence[Rendering], outcomes: Mapping[Rendering, str | None]
) -> dict[Rendering, str | None]:
    """Leave open what is not decided for every system, so that all are seen on the same items.

    Args:
        renderings: What was translated.
        outcomes: What became of each; None, or not there, if that is open.
    """
    systems = {one.system for one in renderings}
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in renderings:
        if outcomes.get(one) is not None:
            found.setdefault(_sentence(one), set()).add(one.system)
    whole = {sentence for sentence, deciding in found.items() if deciding == systems}
    return {one: outcomes.get(one) if _sentence(one) in whole else None for one in renderings}


def compared(
    renderings: Iterable[Rendering], decisions: Mapping[str, Decision]
) -> list[Comparison]:
    """Compare the class judge with people, in all and by phenomenon.

    Args:
        renderings: What was translated; the same translation of two systems counts once.
        decisions: What people settled, by question; what is open is left out.
    """
    pairs: dict[str, tuple[str, str, str]] = {}
    for one in renderings:
        item = question_of(one).item
        decision = decisions.get(item)
        if item not in pairs and decision is not None and decision.verdict is not None:
            pairs[item] = (one.phenomenon, decision.verdict, ruling_of(one).outcome)
    rows = [_compared("all", [pair[1:] for pair in pairs.values()])]
    for part in PHENOMENA:
        some = [(people, judge) for of, people, judge in pairs.values() if of == part]
        if some:
            rows.append(_compared(part, some))
    return rows


def _compared(part: str, pairs: Sequence[tuple[str, str]]) -> Comparison:
    people, judge = [a for a, _ in pairs], [b for _, b in pairs]
    counts = Counter(pairs)
    return Comparison(
        part=part,
        items=len(pairs),
        same=sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan,
        kappa=cohen_kappa(people, judge),
        kappa_right=cohen_kappa([a == RIGHT for a in people], [b == RIGHT for b in judge]),
        confusion={(a, b): counts[a, b] for a in OUTCOMES for b in OUTCOMES},
    )


def _sentence(one: Rendering) -> tuple[str, str, str]:
    """Return what tells sentences apart: items of two suites may have the same name."""
    return one.id, one.source, one.reference
