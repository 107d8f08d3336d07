"""Plain batches: sequences of like length, longest first, under a token budget.

Longest first, so that a batch that does not fit fails at once and not after an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["batches"]


def batches(lengths: Sequence[int], *, budget: int, size: int | None = None) -> Iterator[list[int]]:
    """Yield lists of indices whose padded size stays within ``budget`` tokens.

    A single sequence over the budget makes a batch of its own.

    Args:
        lengths: Length of every sequence.
        budget: Most tokens of a batch, padding included.
        size: Most sequences of a batch.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batch: list[int] = []
    for index in order:
        width = lengths[batch[0]] if batch else 0
        if batch and ((len(batch) + 1) * width > budget or len(batch) == size):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
