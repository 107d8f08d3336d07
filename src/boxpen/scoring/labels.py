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

__all__ = ["BINARY", "NAMES", "NOT_ENTAILMENT", "names_of", "offered", "right_place", "setting_of"]

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


def right_place(label: str, labels: Sequence[int]) -> int | None:
    """Return which of the competing labels is right for an item, or None if none of them is.

    Args:
        label: What the item expects.
        labels: The numbers of the labels that compete.
    """
    names = names_of(labels)
    if label in names:
        return names.index(label)
    if NOT_ENTAILMENT in names and label in LABELS:
        return names.index(NOT_ENTAILMENT)
    return None
