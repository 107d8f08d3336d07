"""Right and wrong candidates side by side: length, negation, position, and a bag of words.

A suite whose right answers are longer, or negated less often, or told by their words alone,
measures something else than common sense. These functions take items and groups as they are given;
``boxpen.analysis.suites.audit`` looks at a whole suite and finds the groups itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from boxpen.analysis.suites.picks import bag_rule, folds_of
from boxpen.analysis.suites.words import divided, negations
from boxpen.items import Choice
from boxpen.metrics.intervals import Estimate, share

__all__ = ["Sides", "bag_of_words", "length", "negation", "positions"]


class Sides(NamedTuple):
    """A mean over the right candidates and over the wrong ones."""

    right: float
    wrong: float

    @property
    def gap(self) -> float:
        """The difference, as a share of the wrong side's mean."""
        return (self.right - self.wrong) / self.wrong if self.wrong else 0.0


def length(items: Sequence[Choice]) -> Sides:
    """Return the mean length in words of right and wrong candidates."""
    return _means(items, len)


def negation(items: Sequence[Choice]) -> Sides:
    """Return the mean number of negation words in right and wrong candidates."""
    return _means(items, lambda words: len(negations(words)))


def positions(items: Sequence[Choice]) -> dict[int, int]:
    """Return how often each position holds the right candidate."""
    counts = Counter(item.gold for item in items)
    return {i: counts[i] for i in range(max(len(item.candidates) for item in items))}


def bag_of_words(items: Sequence[Choice], groups: Sequence[Hashable]) -> Estimate:
    """Return how often a bag-of-words classifier picks the right candidate.

    It learns right from wrong on nine tenths of the groups and picks, in each item of the last
    tenth, the candidate that looks most right. Ties earn 1/k.

    A set in which every word is right as often as wrong gives *less* than chance when its items are
    held out one by one: what is held out tilts the rest against it. Group items that balance each
    other, so that they are held out together.
    """
    rule = bag_rule("words", [divided(item) for item in items], folds_of(groups))
    return share(rule.earned.tolist())


def _means(items: Sequence[Choice], measure: Callable[[list[str]], int]) -> Sides:
    worded = [divided(item) for item in items]
    right = [measure(item.right) for item in worded]
    wrong = [measure(sentence) for item in worded for sentence in item.wrong]
    return Sides(sum(right) / len(right), sum(wrong) / len(wrong))
