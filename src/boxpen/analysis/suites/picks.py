"""Rules that pick a candidate without sense, and which of them is worth following.

A rule that learns nothing (pick the longest) is simply measured. A choice between rules (longest or
shortest? which position?) is made by cross-validation: in each of ten folds, the rule is followed
that earned most on the *other* folds, and only if it beat guessing there by two standard errors;
otherwise one guesses and earns 1/k. Without that threshold, a suite in which two rules are equally
good would come out below chance, since each is a little worse where it was a little better
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from boxpen.analysis.suites.bag import Bags
from boxpen.analysis.suites.words import Worded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["GUESS", "Learnt", "Rule", "bag_rule", "extreme", "folds_of", "learnt", "positions"]

FOLDS = 10
GUESS = "guess"
_WORTH = 2.0  # standard errors above guessing


class Rule(NamedTuple):
    """A way to pick a candidate.

    Attributes:
        name: What it picks.
        earned: What it earned in every item, without having seen that item's answer.
        training: For a rule that is itself learnt, what it earned in every item without having seen
            the answers of one fold, either: (fold, item). None for a rule that learns nothing.
    """

    name: str
    earned: Floats
    training: Floats | None = None


class Learnt(NamedTuple):
    """What following the best rule earned in every item, and which rule it mostly was."""

    earned: Floats
    rule: str


def folds_of(groups: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the fold of every item; the items of a group are in the same one."""
    import numpy as np

    names = list(dict.fromkeys(groups))
    number = {name: index % min(FOLDS, len(names)) for index, name in enumerate(names)}
    return np.array([number[group] for group in groups])


def learnt(
    rules: Sequence[Rule], chance: Floats, groups: Sequence[Hashable], fold: NDArray[np.intp]
) -> Learnt:
    """Follow in each fold the rule that was best in the others, if it was better than guessing.

    Args:
        rules: The rules to choose from.
        chance: What guessing earns in every item.
        groups: The group of every item; items of a group are not independent.
        fold: The fold of every item.
    """
    import numpy as np

    _, group = np.unique(np.array(groups), return_inverse=True)
    earned = chance.copy()
    followed: dict[str, int] = {}
    for held in range(int(fold.max()) + 1):
        train, test = fold != held, fold == held
        chosen, most = None, 0.0
        for rule in rules:
            shown = rule.earned if rule.training is None else rule.training[held]
            gain = np.bincount(group[train], weights=(shown - chance)[train])
            if gain.sum() > max(most, _WORTH * np.sqrt((gain**2).sum())):
                chosen, most = rule, gain.sum()
        if chosen is not None:
            earned[test] = chosen.earned[test]
        name = GUESS if chosen is None else chosen.name
        followed[name] = followed.get(name, 0) + int(test.sum())
    return Learnt(earned, max(followed, key=lambda name: followed[name]))


def extreme(
    name: str, items: Sequence[Worded], measure: Callable[[int, list[str]], float], sign: int
) -> Rule:
    """Return the rule that picks the candidate with the most or the least of a measure."""
    import numpy as np

    earned = []
    for index, item in enumerate(items):
        scores = [sign * measure(index, candidate) for candidate in item.words]
        top = [i for i, score in enumerate(scores) if score == max(scores)]
        earned.append((item.item.gold in top) / len(top))
    return Rule(name, np.array(earned))


def positions(items: Sequence[Worded]) -> list[Rule]:
    """Return one rule for every position; where an item has no such position, one guesses."""
    import numpy as np

    most = max(len(item.words) for item in items)
    rules = []
    for place in range(most):
        earned = [
            float(item.item.gold == place) if place < len(item.words) else 1 / len(item.words)
            for item in items
        ]
        rules.append(Rule(f"position {place + 1}", np.array(earned)))
    return rules


def bag_rule(name: str, items: Sequence[Worded], fold: NDArray[np.intp]) -> Rule:
    """Return the rule that picks by a bag-of-words classifier trained on the other folds."""
    import numpy as np

    bags = Bags(items)
    count = int(fold.max()) + 1
    earned = np.zeros(len(items))
    training = np.zeros((count, len(items)))
    for one in range(count):
        for other in range(one, count):  # without both folds; without one alone where they agree
            found = bags.credits(bags.weights((fold != one) & (fold != other)))
            training[one, fold == other] = found[fold == other]
            training[other, fold == one] = found[fold == one]
            if one == other:
                earned[fold == one] = found[fold == one]
    return Rule(name, earned, training)
