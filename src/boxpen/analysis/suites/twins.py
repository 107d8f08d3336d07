"""Which items must be held out together when something is learnt from the others.

Of two items that differ in one word and have opposite answers, one tells what the other is *not*: a
classifier that learns from the first is wrong on the second, and a suite in which every word is
right as often as wrong falls *below* chance. So items of a block are held out together, and so are
twins that no block names: items whose candidates are told apart by the same words, and that share
at least half of their other words, those of context and source among them. (ARCT with its negated
claims is such a suite, and the Winograd schemas are.) Labels are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import combinations

from boxpen.analysis.suites.words import Worded, words

__all__ = ["groups"]

_MOST = 32  # items of a group; more are no twins
_COMPARED = 2000  # items that the same words tell apart; more are not compared two by two
_ALIKE = 0.5  # share of the other words, as |A and B| / |A or B|


def groups(items: Sequence[Worded]) -> list[int]:
    """Return a number for every item; items with the same number belong together."""
    roots = list(range(len(items)))

    def root(index: int) -> int:
        while roots[index] != index:
            roots[index] = roots[roots[index]]
            index = roots[index]
        return index

    blocks: dict[str, int] = {}
    alike: dict[Hashable, list[tuple[int, set[str]]]] = {}
    for index, item in enumerate(items):
        if item.item.block is not None:
            roots[root(index)] = root(blocks.setdefault(item.item.block, index))
        told_apart, shared = _parts(item)
        alike.setdefault(told_apart, []).append((index, shared))
    sizes = Counter(root(index) for index in range(len(items)))
    for members in alike.values():
        if not 1 < len(members) <= _COMPARED:
            continue
        around = [(index, shared | _around(items[index])) for index, shared in members]
        for (one, mine), (other, theirs) in combinations(around, 2):
            if len(mine & theirs) < _ALIKE * len(mine | theirs):
                continue
            a, b = root(one), root(other)
            # Contexts of one pattern, told apart by yes and no, would be one group in the end.
            if a != b and sizes[a] + sizes[b] <= _MOST:
                roots[a] = b
                sizes[b] += sizes[a]
    return [root(index) for index in range(len(items))]


def _parts(item: Worded) -> tuple[Hashable, set[str]]:
    """Return the words that tell the candidates apart, and the words that all of them share."""
    bags = [Counter(candidate) for candidate in item.words]
    shared = reduce(lambda a, b: a & b, bags)
    return frozenset(frozenset((bag - shared).items()) for bag in bags), set(shared)


def _around(item: Worded) -> set[str]:
    texts = (item.item.context, item.item.source)
    return {word for text in texts if text is not None for word in words(text)}
