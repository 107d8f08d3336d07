"""The shortcut audit: can a suite be solved without sense?

Each shortcut picks a candidate by something that has nothing to do with sense, and the audit says
how often it picks the right one, with a 95 % interval in which items of a block or near twins (see
``boxpen.analysis.suites.twins``) count as a cluster. Ties earn 1/k.

- ``longest``, ``shortest``: the most or fewest words
- ``commonest words``, ``rarest words``: the highest or lowest mean of log(1 + count) of words,
  counted in the candidates of all items outside its group: the suite is its own corpus
- ``most negations``, ``fewest negations``
- ``length``, ``word frequency``, ``negation``, ``position``: the better direction, or the best
  position, chosen on other items than it is measured on (see ``boxpen.analysis.suites.picks``)
- ``bag of words``: a classifier of the candidates' words (see ``boxpen.analysis.suites.bag``)

For entailment items the candidates are the labels, and what is seen is the hypothesis alone:
``majority label``, ``hypothesis length``, ``hypothesis frequency``, ``hypothesis negation``,
``hypothesis words``. All but the first must beat the commonest label, not a guess.

A shortcut is flagged where its whole interval lies more than ``MARGIN`` above chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.parts import parts
from boxpen.analysis.suites.picks import Rule, bag_rule, extreme, folds_of, learnt, positions
from boxpen.analysis.suites.twins import groups as groups_of
from boxpen.analysis.suites.words import Worded, negations, worded, words
from boxpen.errors import SuiteError
from boxpen.items import LABELS, Choice, Entail, Suite
from boxpen.metrics.intervals import Estimate, share
from boxpen.notebook import Listed

__all__ = ["ALL", "MARGIN", "AuditRow", "audit", "shortcut_rows"]

ALL = "all"
MARGIN = 0.02
_BINS = 5


@dataclass(frozen=True, slots=True)
class AuditRow:
    """How often one shortcut picks the right answer.

    Attributes:
        slice: ``all``, or ``tag=value``.
        rule: For a shortcut that is learnt, what it came to: the rule that was followed in most
            items, or ``guess``. None for a fixed one.
        estimate: The share of items it answers rightly.
        chance: What it has to beat.
    """

    slice: str
    shortcut: str
    rule: str | None
    estimate: Estimate
    chance: float

    @property
    def flagged(self) -> bool:
        """Whether the interval lies above chance by more than ``MARGIN``."""
        return self.estimate.low > self.chance + MARGIN

    def __repr__(self) -> str:
        found = self.cells()
        flag = ", flagged" if self.flagged else ""
        return f"{self.slice}: {self.shortcut} {found['right']}, chance {found['chance']}{flag}"

    def cells(self) -> dict[str, str]:
        """Return the columns that a notebook shows."""
        value, low, high, n = self.estimate
        return {
            "slice": self.slice,
            "shortcut": self.shortcut,
            "rule": self.rule or "",
            "right": f"{value:.3f} [{low:.3f}, {high:.3f}]",
            "chance": f"{self.chance:.3f}",
            "items": f"{n:,}",
            "flagged": "yes" if self.flagged else "",
        }


def audit(suite: Suite, by: str | None = None) -> Listed[AuditRow]:
    """Return how well each shortcut answers a suite.

    Raises:
        SuiteError: If no item has the tag, or there is nothing to choose between.
    """
    slices = {} if by is None else {f"{by}={v}": part for v, part in parts(suite, by).items()}
    rows = [row for name, part in (slices | {ALL: suite}).items() for row in _rows(name, part)]
    if not rows:
        raise SuiteError(
            f"suite '{suite.name}' has nothing to pick from, expected choices, translations with "
            "a contrast, or entailment items"
        )
    return Listed(rows)


def shortcut_rows(suite: Suite) -> list[tuple[str, Estimate]]:
    """Return the shortcuts that are learnt, for a report; none if there is nothing to pick from."""
    return [(row.shortcut, row.estimate) for row in _rows(ALL, suite) if row.rule is not None]


def _rows(name: str, suite: Suite) -> list[AuditRow]:
    rows = []
    if choices := worded(suite):
        rows += _choice_rows(choices)
    if entail := [item for item in suite if isinstance(item, Entail)]:
        rows += _entail_rows(suite, entail)
    return [replace(row, slice=name) for row in rows]


class _Measured:
    """Makes the rows of some items."""

    def __init__(self, items: Sequence[Worded], groups: Sequence[Hashable]) -> None:
        import numpy as np

        self.groups = groups
        self.fold = folds_of(groups)
        self.each_chance = np.array([1 / len(item.words) for item in items])
        self.chance = float(self.each_chance.mean())

    def fixed(self, rule: Rule) -> AuditRow:
        estimate = share(rule.earned.tolist(), self.groups)
        return AuditRow(ALL, rule.name, None, estimate, self.chance)

    def learnt(self, name: str, rules: Sequence[Rule]) -> AuditRow:
        found = learnt(rules, self.each_chance, self.groups, self.fold)
        estimate = share(found.earned.tolist(), self.groups)
        return AuditRow(ALL, name, found.rule, estimate, self.chance)


def _choice_rows(items: Sequence[Worded]) -> list[AuditRow]:
    groups = groups_of(items)
    made = _Measured(items, groups)
    frequency = _frequency(items, groups)
    measures: list[tuple[str, str, str, Callable[[int, list[str]], float]]] = [
        ("length", "longest", "shortest", lambda _, sentence: len(sentence)),
        ("word frequency", "commonest words", "rarest words", frequency),
        ("negation", "most negations", "fewest negations", lambda _, s: len(negations(s))),
    ]
    rows = []
    for name, most, least, measure in measures:
        rules = [extreme(most, items, measure, 1), extreme(least, items, measure, -1)]
        rows += [*(made.fixed(rule) for rule in rules), made.learnt(name, rules)]
    rows.append(made.learnt("position", positions(items)))
    rows.append(made.learnt("bag of words", [bag_rule("words", items, made.fold)]))
    return rows


def _frequency(
    items: Sequence[Worded], groups: Sequence[Hashable]
) -> Callable[[int, list[str]], float]:
    """Return the mean log frequency of a sentence in all items but those of a group."""
    everywhere: Counter[str] = Counter()
    within: dict[Hashable, Counter[str]] = {}
    for item, group in zip(items, groups, strict=True):
        here = within.setdefault(group, Counter())
        for sentence in item.words:
            everywhere.update(sentence)
            here.update(sentence)

    def mean(index: int, sentence: list[str]) -> float:
        here = within[groups[index]]
        logs = sorted(math.log1p(everywhere[word] - here[word]) for word in sentence)
        # Rounded and summed exactly, so that the same words in another order are equally frequent.
        return round(math.fsum(logs) / len(logs), 9) if logs else 0.0

    return mean


def _entail_rows(suite: Suite, items: Sequence[Entail]) -> list[AuditRow]:
    sentences = [words(item.hypothesis, suite.languages_of(item)[0]) for item in items]
    labels = [label for label in LABELS if any(item.label == label for item in items)]
    if len(labels) == 1:  # a part of a suite, by label: there is nothing to tell apart
        return []

    def seen(features: Sequence[Sequence[str]]) -> list[Worded]:
        """Return each item as a choice between labels, seen through some features."""
        return [
            Worded(
                Choice(
                    id=item.id,
                    candidates=tuple(labels),
                    gold=labels.index(item.label),
                    context=item.premise,
                    block=item.block,
                ),
                # The empty feature lets the classifier prefer a label whatever it sees.
                tuple([f"{label} {feature}" for feature in ("", *here)] for label in labels),
            )
            for item, here in zip(items, features, strict=True)
        ]

    whole = seen(sentences)
    groups = groups_of(whole)
    made = _Measured(whole, groups)
    alone = [Worded(item.item, (s,)) for item, s in zip(whole, sentences, strict=True)]
    frequency = _frequency(alone, groups)
    features = {
        "hypothesis length": _binned([len(s) for s in sentences]),
        "hypothesis frequency": _binned([frequency(i, s) for i, s in enumerate(sentences)]),
        "hypothesis negation": [[str(bool(negations(s)))] for s in sentences],
        "hypothesis words": sentences,
    }
    majority = made.learnt(
        "majority label",
        [rule._replace(name=label) for rule, label in zip(positions(whole), labels, strict=True)],
    )
    commonest = max(Counter(item.label for item in items).values()) / len(items)
    rows = [majority]
    for name, found in features.items():
        rule = bag_rule(name.removeprefix("hypothesis "), seen(found), made.fold)
        rows.append(replace(made.learnt(name, [rule]), chance=commonest))
    return rows


def _binned(values: Sequence[float]) -> list[list[str]]:
    """Return for every value in which fifth of all values it lies."""
    import numpy as np

    edges = np.quantile(values, [i / _BINS for i in range(1, _BINS)])
    return [[str(np.searchsorted(edges, value))] for value in values]
