"""Which tokens of a sentence are masked: as in BERT, drawn again in every epoch."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["chosen", "masked"]

SHARE = 0.15
"""Of the tokens that are chosen (Devlin et al. 2019, section 3.1); one at least."""
MASKED, KEPT = 0.8, 0.1
"""Shares of the chosen that are masked, and that stay; the rest become some other token."""


def chosen(tokens: int) -> int:
    """Return how many of some tokens are chosen."""
    return max(1, round(SHARE * tokens))


def masked(
    ids: Sequence[int],
    *,
    draw: tuple[int, int, int],
    mask: int,
    special: frozenset[int],
    words: Sequence[int],
    nothing: int = -100,
) -> tuple[list[int], list[int]]:
    """Return a sentence with some tokens masked, and these tokens as labels.

    The draw depends only on its three numbers, so that a training resumed in the middle of an
    epoch masks what it would have masked.

    Args:
        ids: The tokens.
        draw: Seed, epoch and place of the sentence.
        mask: The mask token.
        special: Tokens that are never chosen.
        words: Tokens that a chosen one may be exchanged for.
        nothing: The label of what was not chosen.
    """
    import numpy as np

    generator = np.random.default_rng(draw)
    places = [place for place, token in enumerate(ids) if token not in special]
    row, labels = list(ids), [nothing] * len(ids)
    if not places:
        return row, labels
    for place in generator.permutation(places)[: chosen(len(places))].tolist():
        labels[place] = row[place]
        fate = generator.random()
        if fate < MASKED:
            row[place] = mask
        elif fate < 1 - KEPT:
            row[place] = words[int(generator.integers(len(words)))]
    return row, labels
