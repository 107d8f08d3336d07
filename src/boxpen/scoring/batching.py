"""Plain batches: sequences of like length, longest first, under a token budget.

Longest first, so that a batch that does not fit fails at once and not after an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["batches"]

_PADDING = 0.1  # a batch that is large enough closes before more of it than this is padding
_ENOUGH = 256  # tokens that keep a matrix product busy; a quarter of the budget, if that is more


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
    tokens = 0
    for index in order:
        if batch:
            padded = (len(batch) + 1) * lengths[batch[0]]
            wasteful = padded - tokens - lengths[index] > _PADDING * padded
            if (
                padded > budget
                or len(batch) == size
                or (wasteful and tokens >= max(_ENOUGH, budget // 4))
            ):
                yield batch
                batch, tokens = [], 0
        batch.append(index)
        tokens += lengths[index]
    if batch:
        yield batch
