"""Pairs whose label is beyond doubt, to find out whether a classifier's labels are named rightly.

A checkpoint whose names are in the wrong order scores every suite, and every number is wrong. On
these pairs, a trained model whose names are right is nearly always right; one whose names are
exchanged is right only when they are exchanged back.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.scoring.labels import NAMES, NOT_ENTAILMENT, right_places

__all__ = ["PLAIN", "Check", "checked"]

PLAIN = (
    ("A man is sleeping.", "A person is asleep.", "entailment"),
    ("Two dogs are running across a field.", "There are animals outside.", "entailment"),
    ("She bought three red apples.", "She bought some apples.", "entailment"),
    ("The boy is eating a sandwich in the park.", "The boy is eating.", "entailment"),
    ("All of the windows are closed.", "No window is open.", "entailment"),
    ("A woman in a blue dress is singing on a stage.", "A woman is singing.", "entailment"),
    ("A man is sleeping.", "The man is a doctor.", "neutral"),
    ("Two dogs are running across a field.", "The dogs belong to a farmer.", "neutral"),
    ("She bought three red apples.", "She is going to bake a pie for her sister.", "neutral"),
    ("The boy is eating a sandwich in the park.", "The boy's mother made the lunch.", "neutral"),
    ("A train is standing in the station.", "The train is going to Berlin.", "neutral"),
    ("A woman is singing on a stage.", "The woman has won a prize for her songs.", "neutral"),
    ("A man is sleeping.", "The man is awake.", "contradiction"),
    ("Two dogs are running across a field.", "There are no animals in the field.", "contradiction"),
    ("She bought three red apples.", "She did not buy any fruit.", "contradiction"),
    ("The boy is eating a sandwich in the park.", "The boy is not eating anything.",
     "contradiction"),
    ("All of the windows are closed.", "One of the windows is open.", "contradiction"),
    ("A woman is singing on a stage.", "Nobody is singing.", "contradiction"),
)  # fmt: skip
"""Premise, hypothesis and label: six of each."""

_LEAD = 0.3  # of the share right, by which other names must do better to be believed
_ABOVE = 0.15  # chance, below which nothing was learnt


@dataclass(frozen=True, slots=True)
class Check:
    """How the answers to plain pairs agree with the names of labels.

    Attributes:
        right: The share of pairs that are right as the labels are named, each label counting
            the same.
        other: The share under the names that fit best besides.
        order: Those names: for every label, what it should be called.
        example: The first pair that its own name gets wrong and the other right, as its number.
        chance: The share that guessing gets.
    """

    right: float
    other: float
    order: tuple[int, ...]
    example: int | None
    chance: float

    @property
    def misnamed(self) -> bool:
        """Whether other names explain the answers clearly better."""
        return self.other >= (1 + self.chance) / 2 and self.other - self.right >= _LEAD

    @property
    def untrained(self) -> bool:
        """Whether the answers are hardly better than guesses."""
        return self.right < self.chance + _ABOVE


def checked(labels: Sequence[int], answers: Sequence[int]) -> Check:
    """Compare the answers to the plain pairs with what they should be.

    Args:
        labels: The numbers of the labels that the classifier has.
        answers: For every pair, the number of the label that it chose.
    """
    ordered = sorted(labels)
    expected = [_expected(label, ordered) for *_, label in PLAIN]
    named = _share(expected, answers, ordered)
    others = []
    for order in itertools.permutations(ordered):
        if list(order) != ordered:
            renamed = dict(zip(ordered, order, strict=True))
            others.append((_share(expected, [renamed[a] for a in answers], ordered), order))
    best, order = max(others)
    renamed = dict(zip(ordered, order, strict=True))
    examples = (
        i for i, (e, a) in enumerate(zip(expected, answers, strict=True)) if renamed[a] == e != a
    )
    return Check(named, best, order, next(examples, None), 1 / len(ordered))


def _expected(label: str, labels: Sequence[int]) -> int:
    places = right_places([label], labels)
    return labels[places[0]] if places else NAMES.index(NOT_ENTAILMENT)


def _share(expected: Sequence[int], answers: Sequence[int], labels: Sequence[int]) -> float:
    """Return the mean over labels of the share of their pairs that are right."""
    shares = []
    for label in labels:
        of = [a == e for e, a in zip(expected, answers, strict=True) if e == label]
        shares.append(sum(of) / len(of))
    return sum(shares) / len(shares)
