"""Can a suite be solved without sense? Length, negation, position and a bag of words say.

A suite whose right answers are longer, or negated less often, or told by their words alone,
measures something else than common sense. Each function looks at one shortcut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from boxpen.items import Choice
from boxpen.metrics.intervals import Estimate, share

__all__ = ["Sides", "bag_of_words", "length", "negation", "positions"]

_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]"
_TOKEN = re.compile(rf"{_HAN}|[^\W_]+(?:['’][^\W_]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|seldom)\b"
    r"|n['’]t\b|[不没无别未]",
    re.IGNORECASE,
)
_RIDGE = 1.0


class Sides(NamedTuple):
    """A mean over the right candidates and over the wrong ones."""

    right: float
    wrong: float

    @property
    def gap(self) -> float:
        """The difference, as a share of the wrong side's mean."""
        return (self.right - self.wrong) / self.wrong if self.wrong else 0.0


def length(items: Sequence[Choice]) -> Sides:
    """Return the mean length in words (Han text: in characters) of right and wrong candidates."""
    return _means(items, lambda text: len(_TOKEN.findall(text)))


def negation(items: Sequence[Choice]) -> Sides:
    """Return the mean number of negation words in right and wrong candidates."""
    return _means(items, lambda text: len(_NEGATION.findall(text)))


def positions(items: Sequence[Choice]) -> dict[int, int]:
    """Return how often each position holds the right candidate."""
    counts = Counter(item.gold for item in items)
    return {i: counts[i] for i in range(max(len(item.candidates) for item in items))}


def bag_of_words(
    items: Sequence[Choice], groups: Sequence[Hashable], *, folds: int = 10
) -> Estimate:
    """Return how often a bag-of-words classifier picks the right candidate.

    A ridge classifier on the words that occur (Han text: characters) learns right from wrong on
    nine tenths of the groups and picks, in each item of the last tenth, the candidate that looks
    most right. It sees neither context nor source. Ties earn 1/k.

    A set in which every word is right as often as wrong gives *less* than chance when its items are
    held out one by one: what is held out tilts the rest against it. Group items that balance each
    other, so that they are held out together.

    Args:
        items: What to pick from.
        groups: The group of every item; a group is held out as a whole.
        folds: Into how many parts the groups are divided.
    """
    import numpy as np

    names = list(dict.fromkeys(groups))
    fold_of = {name: i % min(folds, len(names)) for i, name in enumerate(names)}
    rows = [
        (n, i == item.gold, c)
        for n, item in enumerate(items)
        for i, c in enumerate(item.candidates)
    ]
    vocabulary: dict[str, int] = {}
    for _, _, text in rows:
        for token in _tokens(text):
            vocabulary.setdefault(token, len(vocabulary))
    seen = np.zeros((len(rows), len(vocabulary)), dtype=np.float32)
    for r, (_, _, text) in enumerate(rows):
        seen[r, [vocabulary[t] for t in _tokens(text)]] = 1.0
    kernel = (seen @ seen.T).astype(np.float64)
    labels = np.array([1.0 if right else -1.0 for _, right, _ in rows])
    fold = np.array([fold_of[groups[n]] for n, _, _ in rows])
    scores = np.zeros(len(rows))
    for held in range(max(fold_of.values()) + 1):
        train, test = fold != held, fold == held
        target = labels[train] - labels[train].mean()
        system = kernel[np.ix_(train, train)] + _RIDGE * np.eye(int(train.sum()))
        scores[test] = kernel[np.ix_(test, train)] @ np.linalg.solve(system, target)
    earned = []
    start = 0
    for item in items:
        mine = scores[start : start + len(item.candidates)]
        start += len(item.candidates)
        best = [i for i, s in enumerate(mine) if mine.max() - s < 1e-9]
        earned.append((item.gold in best) / len(best))
    return share(earned)


def _tokens(text: str) -> set[str]:
    return {token.lower() for token in _TOKEN.findall(text)}


def _means(items: Sequence[Choice], measure: Callable[[str], int]) -> Sides:
    right = [measure(item.candidates[item.gold]) for item in items]
    wrong = [measure(c) for item in items for i, c in enumerate(item.candidates) if i != item.gold]
    return Sides(sum(right) / len(right), sum(wrong) / len(wrong))
