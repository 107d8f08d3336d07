"""The labels of inference: what a classifier chooses between, and which of them is right.

A record of an inference classifier has one log-probability for each of its labels, under the
number that the label has in ``NAMES``. The settings are those of Razeghi et al. (2021): in the
*3-way* setting all labels compete, in the *2-way* setting the model is forced to choose between
entailment and contradiction. A classifier that tells entailment from everything else has one
setting only, *binary*. All of them are read off the same record.
"""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.items import LABELS

__all__ = ["BINARY", "NAMES", "NOT_ENTAILMENT", "names_of", "offered", "right_places", "setting_of"]

NOT_ENTAILMENT = "not_entailment"
NAMES = (*LABELS, NOT_ENTAILMENT)
"""The names of labels; the number of one is its place here."""

BINARY = "binary"

_FORCED = (NAMES.index("entailment"), NAMES.index("contradiction"))


def setting_of(numbers: Sequence[int], wanted: str) -> str:
    """Return the setting in which a classifier with these labels is judged."""
    return BINARY if NAMES.index(NOT_ENTAILMENT) in numbers else wanted


def offered(numbers: Sequence[int], wanted: str) -> tuple[int, ...]:
    """Return the labels that compete in a setting, in the order of scores.

    Args:
        numbers: The labels that the classifier has.
        wanted: ``3-way`` or ``2-way``; a classifier of two labels has one setting only.
    """
    return _FORCED if setting_of(numbers, wanted) == "2-way" else tuple(sorted(numbers))


def names_of(numbers: Sequence[int]) -> tuple[str, ...]:
    """Return the names of labels."""
    return tuple(NAMES[number] for number in numbers)


def right_places(right: Sequence[str], labels: Sequence[int]) -> tuple[int, ...]:
    """Return which of the competing labels are right for an item: none, one or several.

    Args:
        right: The labels that the item accepts, the one that it expects first.
        labels: The numbers of the labels that compete.
    """
    names = names_of(labels)
    merged = (
        NOT_ENTAILMENT if NOT_ENTAILMENT in names and label in LABELS[1:] else label
        for label in right
    )
    return tuple(dict.fromkeys(names.index(label) for label in merged if label in names))
