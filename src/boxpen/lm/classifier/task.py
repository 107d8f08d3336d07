"""The differences between kinds of classifiers, as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """A kind of classifier.

    Attributes:
        name: ``nli`` or ``choice``.
        auto: Gives the name of the Auto class for a configuration.
        head: Gives the fields of the configuration that belong to the head.
        pairs: Gives the pairs of texts that an item is put as.
        gold: Gives the number of the right answer.
        answers: Gives how many answers an item has.
        collate: Makes a batch of features: ``(tokenizer, features) -> tensors``.
        scores: Gives the scores of a batch: ``(module, tensors) -> (items, answers)``.
    """

    name: str
    auto: Callable[[Any], str]
    head: Callable[[Any], dict[str, Any]]
    pairs: Callable[[Any], Sequence[tuple[str, str]]]
    gold: Callable[[Any], int]
    answers: Callable[[Any], int]
    collate: Callable[[Any, list[dict[str, Any]]], dict[str, Any]]
    scores: Callable[[Any, dict[str, Any]], Any]
