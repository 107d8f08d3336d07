"""Class balance: where the right answers stand, and how they change within blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.items import Choice, Entail, Item, Suite, Translate
from boxpen.metrics.intervals import Estimate, share

__all__ = ["Balance", "balance"]


@dataclass(frozen=True, slots=True)
class Balance:
    """How the answers of a suite are spread.

    Attributes:
        positions: How often each position is right, by the number of candidates.
        labels: How often each label is expected of entailment items.
        flips: In how many blocks of two items or more not all answers are the same; None where
            there is no such block.
    """

    positions: dict[int, tuple[int, ...]]
    labels: dict[str, int]
    block_sizes: dict[int, int]
    flips: Estimate | None


def balance(suite: Suite) -> Balance:
    """Count the right answers of a suite."""
    choices = [choice for item in suite if (choice := _choice(item)) is not None]
    golds = Counter((len(item.candidates), item.gold) for item in choices)
    sizes = sorted({size for size, _ in golds})
    blocks = list(suite.blocks().values())
    flips = [float(len(set(a)) > 1) for block in blocks if len(a := _answers(block)) > 1]
    return Balance(
        positions={size: tuple(golds[size, p] for p in range(size)) for size in sizes},
        labels=dict(Counter(item.label for item in suite if isinstance(item, Entail))),
        block_sizes=dict(sorted(Counter(map(len, blocks)).items())),
        flips=share(flips) if flips else None,
    )


def _choice(item: Item) -> Choice | None:
    if isinstance(item, Translate):
        return item.as_choice()
    return item if isinstance(item, Choice) else None


def _answers(block: Sequence[Item]) -> list[int | str]:
    found: list[int | str] = []
    for item in block:
        if isinstance(item, Entail):
            found.append(item.label)
        elif isinstance(item, Choice):  # the place of a translation among its contrasts is by lot
            found.append(item.gold)
    return found
