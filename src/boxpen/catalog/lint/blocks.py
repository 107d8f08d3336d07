"""Lint of blocks of translations, by the rules of CommonMT (He et al. 2020, section 3).

A block is two sentences with one ambiguous word or structure, each read in another way; the wrong
translation of one reads it as the other does. Both sources must have the word, or the words of
the structure. How a translation reads it shows in the words that only the right or only the wrong
one has, so those of one half are compared with those of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from boxpen.items import Choice, Item, Suite
from boxpen.scoring.normalise import words
from boxpen.scoring.recipe import UNSPACED
from boxpen.text.normal import base_language

__all__ = ["crossing", "reading_faults", "repeated_words", "shared_words", "split_ambiguity"]

AMBIGUITY = ("word", "ambiguity", "pattern")
"""Tags that name what is ambiguous: the word, or the structure."""

ONCE = 0.8  # share of words that are used in one block, above which all are expected to be
_GROUPS = ("part", "set")
_STEM = 3  # letters that forms of a word share: ran and running do not, day and days do
_LONG = 4  # letters of a word that is not one of the, you, and
_HAN = "\u4e00"  # where the Han characters begin
# Characters of nearly every sentence: one says nothing, two may be a structure, as 在 and 的.
_GRAMMAR = frozenset("的了是在我你他她它们这那一个不和有就也都很上里")


class Crossing(NamedTuple):
    """What the differences between right and wrong of one half share with those of the other.

    Attributes:
        crossed: Between the right translation of one and the wrong one of the other.
        straight: Between both right ones, or both wrong ones.
    """

    crossed: int
    straight: int


def split_ambiguity(items: Sequence[Item], language: str | None) -> Iterator[tuple[str, str]]:
    """Yield a fault if the items of a block do not have one ambiguous word or structure.

    Tags that name two show it, and sources that share no word that could be ambiguous.

    Args:
        items: The items of a block.
        language: That of the sources; None if it is not known.
    """
    if not _translations(items):
        return
    sources = [item.source or "" for item in items if isinstance(item, Choice)]
    if len(sources) == 2 and not shared_words(sources[0], sources[1], language):
        yield (
            "block-ambiguity",
            f"opens block '{items[0].block}', whose sources share no word, expected an ambiguous "
            "word or structure in both",
        )
    for tag in AMBIGUITY:
        values = dict.fromkeys(item.tags[tag] for item in items if tag in item.tags)
        if len(values) > 1:
            named = " and ".join(f"'{value}'" for value in values)
            yield (
                "block-ambiguity",
                f"opens block '{items[0].block}' with the tag {tag} {named}, expected one",
            )


def shared_words(one: str, other: str, language: str | None) -> frozenset[str]:
    """Return what two sentences share that may be ambiguous, or mark a structure.

    A Han character that is not one of grammar, the beginning of a long word, or two others; of
    Japanese and Thai, whose words have no spaces either, any three letters in a row.
    """
    first, second = _beginnings(one), _beginnings(other)
    shared = first & second
    if language is not None and base_language(language) in UNSPACED:
        shared |= _runs(one) & _runs(other)
    if len(shared) < 2 and all(len(w) < _LONG and (w < _HAN or w in _GRAMMAR) for w in shared):
        return frozenset()
    return frozenset(shared)


def _beginnings(text: str) -> set[str]:
    return {word[:_LONG] for word in words(text.casefold()) if word.isalnum()}


def _runs(text: str) -> set[str]:
    return {run for n in range(len(text) - 2) if (run := text[n : n + 3]).isalpha()}


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
