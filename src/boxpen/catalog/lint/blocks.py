"""Lint of blocks of translations, by the rules of CommonMT (He et al. 2020, section 3).

A block is two sentences with one ambiguous word or structure, each read in another way; the wrong
translation of one reads it as the other does. How a translation reads it shows in the words that
only the right or only the wrong one has, so those of one half are compared with those of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from boxpen.items import Choice, Item, Suite
from boxpen.scoring.normalise import words

__all__ = ["crossing", "reading_faults", "repeated_words", "split_ambiguity"]

AMBIGUITY = ("word", "ambiguity", "pattern")
"""Tags that name what is ambiguous: the word, or the structure."""

ONCE = 0.8  # share of words that are used in one block, above which all are expected to be
_GROUPS = ("part", "set")
_STEM = 3  # letters that forms of a word share: ran and running do not, day and days do


class Crossing(NamedTuple):
    """What the differences between right and wrong of one half share with those of the other.

    Attributes:
        crossed: Between the right translation of one and the wrong one of the other.
        straight: Between both right ones, or both wrong ones.
    """

    crossed: int
    straight: int


def split_ambiguity(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Yield a fault if the items of a block name different ambiguous words or structures."""
    if not _translations(items):
        return
    for tag in AMBIGUITY:
        values = dict.fromkeys(item.tags[tag] for item in items if tag in item.tags)
        if len(values) > 1:
            named = " and ".join(f"'{value}'" for value in values)
            yield (
                "block-ambiguity",
                f"opens block '{items[0].block}' with the tag {tag} {named}, expected one",
            )


def repeated_words(suite: Suite) -> dict[str, str]:
    """Return the faults of items that open a second block with the same ambiguous word.

    Words of connectives and the like are used again and again on purpose; so only a set where
    nearly every word has a block of its own is checked.
    """
    uses: dict[tuple[str | None, ...], dict[str, dict[str, Item]]] = {}
    for item in suite:
        if "word" in item.tags and item.block is not None:
            group = uses.setdefault(tuple(item.tags.get(tag) for tag in _GROUPS), {})
            group.setdefault(item.tags["word"], {}).setdefault(item.block, item)
    faults: dict[str, str] = {}
    for group in uses.values():
        once = sum(len(blocks) == 1 for blocks in group.values())
        if once / len(group) < ONCE:
            continue
        for word, blocks in group.items():
            first, *others = blocks
            for item in map(blocks.__getitem__, others):
                faults[item.id] = f"has the tag word '{word}', which block '{first}' has already"
    return faults


def reading_faults(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Yield a fault if the wrong translations of a block do not read it as the other half does."""
    found = crossing(items)
    if found is None:
        return
    block = items[0].block
    if found.straight and found.straight >= 2 * found.crossed:
        yield (
            "block-reading",
            f"opens block '{block}', whose wrong translations differ from the right ones in the "
            "same way, expected opposite readings",
        )
    elif not found.crossed:
        yield (
            "block-unrelated",
            f"opens block '{block}', whose wrong translations share no change with the right one "
            "of the other half, expected its reading",
        )


def crossing(items: Sequence[Item]) -> Crossing | None:
    """Compare the halves of a block; None if it is not two pairs of different translations."""
    if len(items) != 2 or not _translations(items):
        return None
    changes = [_change(item) for item in items if isinstance(item, Choice)]
    if len(changes) != 2 or None in changes:
        return None
    (right, wrong), (other_right, other_wrong) = (change or ({}, {}) for change in changes)
    return Crossing(
        crossed=_common(right, other_wrong) + _common(wrong, other_right),
        straight=_common(right, other_right) + _common(wrong, other_wrong),
    )


def _translations(items: Sequence[Item]) -> bool:
    return all(isinstance(item, Choice) and item.source is not None for item in items)


_Features = Mapping[object, int]


def _change(item: Choice) -> tuple[_Features, _Features] | None:
    """Return what only the right and only the wrong candidate has."""
    if len(item.candidates) != 2 or item.gold not in (0, 1):
        return None
    texts = (item.candidates[n] for n in (item.gold, 1 - item.gold))
    first, second = ([word.casefold() for word in words(text)] for text in texts)
    right, wrong = _features(first), _features(second)
    return None if first == second else (right - wrong, wrong - right)


def _features(found: Sequence[str]) -> Counter[object]:
    """Count words, their beginnings, and pairs of neighbours, in which word order shows."""
    counted: Counter[object] = Counter(found)
    counted.update(f"{word[:_STEM]}-" for word in found)
    counted.update(pairwise(["", *found, ""]))
    return counted


def _common(some: _Features, others: _Features) -> int:
    return sum(min(count, others.get(one, 0)) for one, count in some.items())
