"""Batches of sentence pairs of similar length, under a budget of tokens.

A batch is as wide as its longest sentence, so sentences that differ much in length would waste
most of it. Pairs are therefore sorted by length and cut where the next one would burst the budget;
then the batches, not the pairs, are shuffled. Which pairs of one length meet changes from epoch to
epoch. The plan of an epoch depends on the seed, the epoch and the lengths alone, so that a training
that was killed finds its place again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import NmtError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["plan", "token_batches"]


def plan(
    source: NDArray[np.integer[Any]],
    target: NDArray[np.integer[Any]],
    *,
    tokens: int,
    seed: int,
    epoch: int,
    multiple: int = 1,
) -> list[NDArray[np.int64]]:
    """Return the batches of an epoch, each as the numbers of its pairs.

    Args:
        source: Tokens of every source.
        target: Tokens of every target.
        tokens: Maximum tokens per batch on either side, including padding.
        seed: Random seed for the order, together with the epoch.
        epoch: Which epoch it is.
        multiple: The number of pairs in a batch is a multiple of this, unless that leaves it
            empty: matrix units like round numbers.

    Raises:
        NmtError: If one sentence alone is longer than the budget.
    """
    dice = np.random.default_rng([seed, epoch])
    # Ties of length are broken by lot, so that other pairs meet in every epoch.
    order = np.lexsort((dice.random(len(source)), source, target))
    longest = np.maximum(source, target)[order]
    if len(order) and longest.max() > tokens:
        worst = int(order[longest.argmax()])
        raise NmtError(
            f"pair {worst} has {longest.max()} tokens, more than the {tokens} of a batch; "
            "raise 'tokens' or lower 'max_tokens'"
        )
    batches = []
    start = 0
    while start < len(order):
        stop = _stop(longest, start, tokens)
        if stop < len(order) and stop - start > multiple:
            stop -= (stop - start) % multiple
        batches.append(order[start:stop])
        start = stop
    dice.shuffle(batches)
    return batches


def _stop(longest: NDArray[np.integer[Any]], start: int, tokens: int) -> int:
    """Return where a batch that begins at ``start`` must end: as many as fit the budget."""
    most = tokens // max(1, int(longest[start]))
    widths = np.maximum.accumulate(longest[start : start + most])
    sizes = widths * np.arange(1, len(widths) + 1)  # it grows with every pair
    return start + int(np.searchsorted(sizes, tokens, side="right"))


def token_batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield batches of similar length in which rows times width stays within a budget.

    The longest come first, so that memory runs out at once or not at all. A sentence that is
    longer than the budget makes a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    start = 0
    while start < len(order):
        rows = max(1, tokens // max(1, lengths[order[start]]))
        yield order[start : start + rows]
        start += rows
