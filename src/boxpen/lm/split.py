"""Leak-free splits: what shares a premise, a goal, a block, a sentence or a triple stays together.

Items are of one group if they share a block or what is asked about (the premise, the goal, the
source; the candidates themselves where there is nothing else), however it is spaced or capitalised.
Sentences are of one group if they are the same but for spaces, case and punctuation, or if they
state triples with the same head and tail, whatever the relation and its direction. Two things that
a third one joins are of one group, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from boxpen.errors import SuiteError, TrainError
from boxpen.items import Choice, Entail, Item
from boxpen.text.normal import key
from boxpen.text.sentences import Sentence

__all__ = [
    "Split", "check_share", "given", "given_sentences", "groups_of", "hold_out",
    "hold_out_sentences", "without",
]  # fmt: skip


class Split(NamedTuple):
    """Positions of the items on either side, and how many were taken out of training."""

    train: list[int]
    held_out: list[int]
    removed: int = 0


def check_share(share: float) -> None:
    """Reject an invalid share before any data is read."""
    if not 0 < share < 1:
        raise SuiteError(f"the share to hold out is {share:g}, expected one between 0 and 1")


def groups_of(items: Sequence[Item]) -> list[str]:
    """Return the group of every item, named by the smallest text in it."""
    return _joined(_with_block(_asked(item), item.block) for item in items)


def hold_out(items: Sequence[Item], share: float, seed: int) -> Split:
    """Hold out whole groups, up to a share of the items."""
    return _drawn(groups_of(items), share, seed)


def given(train: Sequence[Item], valid: Sequence[Item]) -> Split:
    """Take another file as the held-out side; what shares a group with it leaves training.

    Positions of the held-out side count in ``valid``.
    """
    # A block is named within its file only, so the files are joined by their texts.
    kept = without(train, valid)
    if not kept:
        raise SuiteError("every item of the training data shares its premise or goal with --valid")
    return Split(kept, list(range(len(valid))), len(train) - len(kept))


def without(items: Sequence[Item], others: Iterable[Item]) -> list[int]:
    """Return the positions of the items whose group asks about nothing that the others ask."""
    return _apart(groups_of(items), map(_asked, items), map(_asked, others))


def hold_out_sentences(
    sentences: Sequence[Sentence], share: float, seed: int, language: str
) -> Split:
    """Hold out whole groups of sentences, up to a share of all."""
    split = _drawn(_groups_of_sentences(sentences, language), share, seed)
    if not split.train:
        raise TrainError(f"a holdout of {share:g} leaves none of {len(sentences)} for training")
    return split


def given_sentences(
    sentences: Sequence[Sentence], held: Sequence[Sentence], language: str
) -> Split:
    """Take others as the held-out side; what is the same, or goes with it, leaves training."""
    own, others = ((_same(s, language) for s in side) for side in (sentences, held))
    kept = _apart(_groups_of_sentences(sentences, language), own, others)
    if not kept:
        raise TrainError("every training sentence also occurs in --valid, so nothing is left")
    return Split(kept, list(range(len(held))), len(sentences) - len(kept))


def _groups_of_sentences(sentences: Sequence[Sentence], language: str) -> list[str]:
    return _joined(_with_block(_same(s, language), s.pair) for s in sentences)


def _with_block(keys: list[str], block: str | None) -> list[str]:
    return keys if block is None else [*keys, f"block\0{block}"]


def _asked(item: Item) -> list[str]:
    """Return what is asked about."""
    if isinstance(item, Entail):
        texts = [item.premise]
    elif isinstance(item, Choice):
        texts = [t for t in (item.context, item.source) if t] or list(item.candidates)
    else:
        texts = [item.source]
    return [_plain(text) for text in texts]


def _same(sentence: Sentence, language: str) -> list[str]:
    """Return what a sentence shares with those that are the same; a row of dots has no words."""
    words = key(sentence.text, language)
    return [_plain(sentence.text), *([f"words\0{words}"] if words else [])]


def _plain(text: str) -> str:
    return f"text\0{' '.join(text.casefold().split())}"


def _apart(
    groups: Sequence[str], own: Iterable[Sequence[str]], others: Iterable[Sequence[str]]
) -> list[int]:
    """Return the positions of what is in no group that shares a key with the others."""
    taken = {key for keys in others for key in keys}
    shared = {g for g, keys in zip(groups, own, strict=True) if not taken.isdisjoint(keys)}
    return [position for position, group in enumerate(groups) if group not in shared]


def _joined(keys: Iterable[Sequence[str]]) -> list[str]:
    """Return the group of everything that has keys, named by the smallest key in it."""
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


def _drawn(groups: Sequence[str], share: float, seed: int) -> Split:
    """Draw whole groups, up to a share of what is in them.

    Groups are taken in an order that follows from the seed and their names, not from the order of
    the rows; one that would make too many is passed over.
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


def _draw(seed: int, group: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{group}".encode()).digest()
