"""Verdicts with several labels: decided and compared label by label.

If an item may have more than one error, two judges who both saw the first, while only one saw the
second, have neither agreed nor disagreed. Their verdicts are therefore split into labels.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from boxpen.errors import BuildError
from boxpen.review.agreement import Agreement, agreement_table
from boxpen.review.decisions import Decision, Rule, decide
from boxpen.review.judgement import JOINT, Judgement, VerdictSet, latest

__all__ = ["LabelPair", "decide_labels", "label_agreement", "label_pairs", "labels_of"]

_YES, _NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class LabelPair:
    """Two judges, and the labels that they gave to items both judged."""

    first: str
    second: str
    items: int
    alike: int
    """Labels of either judge that the other gave to the same item too."""
    labels: int
    """Labels of both."""

    @property
    def share(self) -> float:
        """The share of labels that both gave, of all labels of both; NaN if there are none.

        This is how He et al. (2020, section 6.2) measure agreement.
        """
        return self.alike / self.labels if self.labels else math.nan


def labels_of(verdict: str) -> list[str]:
    """Return the labels of a verdict; none if there is no verdict."""
    return verdict.split(JOINT) if verdict else []


def decide_labels(
    judgements: Iterable[Judgement],
    verdicts: VerdictSet,
    rule: Rule | None = None,
    min_judges: int = 1,
    items: Iterable[str] | None = None,
) -> dict[str, Decision]:
    """Decide every item label by label.

    Each label that may be joined to others is decided separately by the rule. An item with an
    undecided label is open, and so is one that is left without labels: three judges who see three
    different errors do not agree that there is none.

    Args:
        judgements: In the order in which they were given.
        verdicts: The verdicts that may be given; those that cannot be joined exclude all others.
        rule: How to decide if judges disagree; by majority if None. ``any`` takes every label that
            a single judge gave.
        min_judges: Items with fewer verdicts stay open, unless the adjudicator has judged them.
        items: What to decide, in this order; what was judged if None.
    """
    given = list(judgements)
    for one in given:
        if one.verdict and verdicts.read(one.verdict) != one.verdict:
            raise BuildError(
                f"the verdict of '{one.judge}' on item '{one.item}' is '{one.verdict}', expected "
                f"{verdicts}"
            )
    wanted = list(latest(given) if items is None else items)
    whole = decide(given, rule, min_judges, wanted)
    single = {
        label: decide(_only(given, label), rule, min_judges, wanted) for label in verdicts.forms
    }
    return {
        item: _joined(
            whole[item], {label: found[item] for label, found in single.items()}, verdicts
        )
        for item in wanted
    }


def label_pairs(judgements: Iterable[Judgement], counted: Collection[str]) -> list[LabelPair]:
    """Compare every two judges by the labels they gave.

    Args:
        judgements: In the order in which they were given; the last of each judge counts.
        counted: The labels that count; 'right' may not be one of them.
    """
    said = [
        {
            judge: set(labels_of(one.verdict)) & set(counted)
            for judge, one in of.items()
            if one.verdict
        }
        for of in latest(judgements).values()
    ]
    pairs = []
    for first, second in combinations(sorted({judge for of in said for judge in of}), 2):
        both = [(of[first], of[second]) for of in said if first in of and second in of]
        if both:
            alike = sum(2 * len(one & other) for one, other in both)
            labels = sum(len(one) + len(other) for one, other in both)
            pairs.append(LabelPair(first, second, len(both), alike, labels))
    return pairs


def label_agreement(judgements: Iterable[Judgement], labels: Sequence[str]) -> list[Agreement]:
    """Return the agreement on whether each label applies."""
    given = list(judgements)
    return [replace(agreement_table(_only(given, label))[0], part=label) for label in labels]


def _only(judgements: Iterable[Judgement], label: str) -> list[Judgement]:
    """Return the judgements reduced to one label: yes or no; withdrawn ones stay withdrawn."""
    return [
        replace(one, verdict=_YES if label in labels_of(one.verdict) else _NO)
        if one.verdict
        else one
        for one in judgements
    ]


def _joined(whole: Decision, single: dict[str, Decision], verdicts: VerdictSet) -> Decision:
    """Combine the decisions on single labels; ``whole`` has votes and reasons."""
    there = [label for label, found in single.items() if found.verdict == _YES]
    several = [label for label in there if label in verdicts.joined]
    doubtful = any(single[label].verdict is None for label in verdicts.joined)
    if doubtful or not (several or len(there) == 1):
        if whole.verdict is not None:  # most gave this verdict, but not all of its labels won
            what = ", ".join(f"{verdict} {count}" for verdict, count in whole.votes.items())
            return replace(whole, verdict=None, reason=f"judges are divided: {what}")
        return whole
    verdict = JOINT.join(several or there)
    if verdict == whole.verdict:
        return whole
    return replace(whole, verdict=verdict, reason="label by label")
