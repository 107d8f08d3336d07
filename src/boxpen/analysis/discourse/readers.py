"""Readers who say whether a phenomenon is translated right, and how the class judge compares.

A judge sees the context, the sentence, the reference, the translation and what is asked, in words;
not the system, and not what the class judge says. What several systems translate alike is asked
once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.renderings import Rendering, renderings_of, ruling_of
from boxpen.analysis.discourse.ruling import CANNOT_TELL, OUTCOMES, RIGHT, WRONG
from boxpen.metrics.agreement import cohen_estimate
from boxpen.metrics.intervals import Estimate
from boxpen.review import (
    Decision,
    Detail,
    Question,
    Review,
    Target,
    TranslationTask,
    VerdictSet,
)
from boxpen.review.guides import CLASSES
from boxpen.runs.run import Run

__all__ = [
    "ClassTask",
    "Comparison",
    "class_in_words",
    "compared",
    "of_same_items",
    "question_of",
]

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
    "if-如果": "a condition",
    "if-是否": "a question",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The class judge against what readers settled, over one phenomenon.

    Attributes:
        part: The phenomenon, or ``all``.
        items: Translations that readers decided.
        same: The share of those on which both say the same; NaN without any.
        kappa: Cohen's kappa of three outcomes, with its 95 % interval; translations of one item
            are drawn together. NaN where both say one and the same throughout.
        kappa_right: The same of two: right, and not right.
        confusion: How often readers said the first, and the class judge the second.
    """

    part: str
    items: int
    same: float
    kappa: Estimate
    kappa_right: Estimate
    confusion: Mapping[tuple[str, str], int]


class ClassTask(TranslationTask[Rendering]):
    """Is the pronoun, connective or ellipsis translated right? Other errors do not count."""

    name = "classes"
    target = "runs of translation models on a discourse suite"
    journal_file = "discourse-judgements.jsonl"
    guide = CLASSES
    verdicts = VerdictSet({RIGHT: ("r", "ok"), WRONG: ("w",), CANNOT_TELL: ("c", "ct")})

    @classmethod
    def fits(cls, target: Target) -> bool:
        """Whether a run has translations of a phenomenon."""
        found = (made.tags for run in target.loaded_runs for made in run.translations)
        return any(tags.get("set") in PHENOMENA for tags in found)

    @classmethod
    def translations(cls, systems: Iterable[tuple[str, Sequence[Run]]]) -> list[Rendering]:
        """Return what systems made of the sentences that have a phenomenon."""
        return renderings_of(systems)

    def question(self, one: Rendering) -> Question:
        """Return the question about a translation."""
        return question_of(one)

    def details(self, review: Review) -> list[Detail]:
        """Return how the class judge compares with readers."""
        found = compared(self.made, review.decisions)
        rows = [(row.part, row.items, row.same, row.kappa, row.kappa_right) for row in found]
        columns = ("part", "items", "same", "kappa", "kappa_right")
        crossed = [(a, *(found[0].confusion[a, b] for b in OUTCOMES)) for a in OUTCOMES]
        return [
            Detail("class_judge", columns, rows),
            Detail("class_judge_against_readers", ("readers", *OUTCOMES), crossed),
        ]


def class_in_words(phenomenon: str, cls: str) -> str:
    """Say what a translation is asked for."""
    if phenomenon == "ellipsis":
        return _IN_WORDS["ellipsis"]
    word, _, sense = cls.partition("-")
    return _IN_WORDS.get(cls) or f"'{word}' says {_SENSES[cls]}, as 「{sense}」 does"


def question_of(one: Rendering) -> Question:
    """Return what readers are asked about a translation."""
    shown = {
        "context": one.context,
        "source": one.source,
        "reference": one.reference,
        "translation": one.translation,
        "asked": class_in_words(one.phenomenon, one.cls),
    }
    # The digest tells translations of an item apart without telling who made them.
    name = f"{one.id}/{Question(one.id, shown).digest}"
    return Question(name, shown, part=one.phenomenon, unit=one.id)


def of_same_items(
    renderings: Sequence[Rendering], outcomes: Mapping[Rendering, str | None]
) -> dict[Rendering, str | None]:
    """Leave open what is not decided for every system, so that all are seen on the same items."""
    systems = {one.system for one in renderings}
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in renderings:
        if outcomes.get(one) is not None:
            found.setdefault(one.sentence, set()).add(one.system)
    whole = {sentence for sentence, deciding in found.items() if deciding == systems}
    return {one: outcomes.get(one) if one.sentence in whole else None for one in renderings}


def compared(
    renderings: Iterable[Rendering], decisions: Mapping[str, Decision]
) -> list[Comparison]:
    """Compare the class judge with readers, in all and by phenomenon.

    Args:
        renderings: What was translated; the same translation of two systems counts once.
        decisions: What readers settled, by question; what is open is left out.
    """
    pairs: dict[str, _Pair] = {}
    for one in renderings:
        item = question_of(one).item
        decision = decisions.get(item)
        if item not in pairs and decision is not None and decision.verdict is not None:
            outcome = ruling_of(one).outcome
            pairs[item] = _Pair(one.sentence, one.phenomenon, decision.verdict, outcome)
    ordered = sorted(pairs.values())  # draws hang on the order, and must not on that of the runs
    rows = [_compared("all", ordered)]
    for part in PHENOMENA:
        some = [pair for pair in ordered if pair.phenomenon == part]
        if some:
            rows.append(_compared(part, some))
    return rows


class _Pair(NamedTuple):
    sentence: tuple[str, str, str]
    phenomenon: str
    readers: str
    judge: str


def _compared(part: str, pairs: Sequence[_Pair]) -> Comparison:
    sentences = [pair.sentence for pair in pairs]
    readers, judge = [pair.readers for pair in pairs], [pair.judge for pair in pairs]
    right = [a == RIGHT for a in readers], [b == RIGHT for b in judge]
    same = [a == b for a, b in zip(readers, judge, strict=True)]
    counts = Counter(zip(readers, judge, strict=True))
    return Comparison(
        part=part,
        items=len(pairs),
        same=sum(same) / len(pairs) if pairs else math.nan,
        kappa=cohen_estimate(readers, judge, sentences),
        kappa_right=cohen_estimate(*right, sentences),
        confusion={(a, b): counts[a, b] for a in OUTCOMES for b in OUTCOMES},
    )
