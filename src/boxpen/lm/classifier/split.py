"""A leak-free split: items that share a premise, a goal or a block stay on one side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from boxpen.errors import SuiteError
from boxpen.items import Choice, Entail, Item

__all__ = ["Split", "check_share", "drawn", "given", "groups_of", "hold_out", "joined", "without"]


class Split(NamedTuple):
    """Positions of the items on either side, and how many were taken out of training."""

    train: list[int]
    held_out: list[int]
    removed: int = 0


def groups_of(items: Sequence[Item]) -> list[str]:
    """Return the group of every item, named by the smallest text in it.

    Items are of one group if they share a block or what is asked about (the premise, the goal, the
    source; the candidates themselves where there is nothing else), however it is spaced or
    capitalised; and so are items that a third one joins.
    """
    return joined(_keys(item) for item in items)


def joined(keys: Iterable[Sequence[str]]) -> list[str]:
    """Return the group of everything that has keys, named by the smallest key in it.

    Two things are of one group if they share a key, and so are those that a third one joins.
    """
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while parents.setdefault(key, key) != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    firsts = []
    for some in keys:
        firsts.append(some[0])
        roots = {root(key) for key in some}
        least = min(roots)
        for other in roots:
            parents[other] = least
    return [root(first) for first in firsts]


def hold_out(items: Sequence[Item], share: float, seed: int) -> Split:
    """Hold out whole groups, up to a share of the items.

    Raises:
        SuiteError: If one of the two sides would be empty.
    """
    return drawn(groups_of(items), share, seed)


def drawn(groups: Sequence[str], share: float, seed: int) -> Split:
    """Draw whole groups, up to a share of what is in them.

    Groups are taken in an order that follows from the seed and their names, not from the order of
    the rows; one that would make too many is passed over.

    Args:
        groups: The group of every item.
        share: What may be held out, between 0 and 1.
        seed: Random seed for the draw.

    Raises:
        SuiteError: If nothing can be held out.
    """
    check_share(share)
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    room = int(share * len(groups))
    held: set[str] = set()
    for group in sorted(sizes, key=lambda g: (_draw(seed, g), g)):
        if sizes[group] <= room:
            held.add(group)
            room -= sizes[group]
    if not held:
        raise SuiteError(
            f"a holdout of {share:g} of {len(groups)} items in {len(sizes)} group(s) leaves "
            "nothing to test on; hold out more, or give a file with --valid"
        )
    sides: tuple[list[int], list[int]] = ([], [])
    for position, group in enumerate(groups):
        sides[group in held].append(position)
    return Split(*sides)


def check_share(share: float) -> None:
    """Reject an invalid share before any data is read.

    Raises:
        SuiteError: If it is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise SuiteError(f"the share to hold out is {share:g}, expected one between 0 and 1")


def given(train: Sequence[Item], valid: Sequence[Item]) -> Split:
    """Take another file as the held-out side; what shares a group with it leaves training.

    Positions of the held-out side count in ``valid``.

    Raises:
        SuiteError: If nothing is left to train on.
    """
    # A block is named within its file only, so the files are joined by their texts.
    kept = without(train, valid)
    if not kept:
        raise SuiteError("every item of the training data shares its premise or goal with --valid")
    return Split(kept, list(range(len(valid))), len(train) - len(kept))


def without(items: Sequence[Item], others: Iterable[Item]) -> list[int]:
    """Return the positions of the items whose group asks about nothing that the others ask."""
    taken = {key for other in others for key in _asked(other)}
    groups = groups_of(items)
    shared = {g for g, i in zip(groups, items, strict=True) if not taken.isdisjoint(_asked(i))}
    return [position for position, group in enumerate(groups) if group not in shared]


def _keys(item: Item) -> list[str]:
    asked = _asked(item)
    return asked if item.block is None else [*asked, f"block\0{item.block}"]


def _asked(item: Item) -> list[str]:
    if isinstance(item, Entail):
        texts = [item.premise]
    elif isinstance(item, Choice):
        texts = [t for t in (item.context, item.source) if t] or list(item.candidates)
    else:
        texts = [item.source]
    return [f"text\0{' '.join(text.casefold().split())}" for text in texts]


def _draw(seed: int, group: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{group}".encode()).digest()
