"""Plain batches: sequences of similar length, longest first, within a token budget.

Longest first, so that a batch that does not fit fails at once and not after an hour.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

__all__ = ["batches", "equal_batches"]

_PADDING = 0.1  # a batch that is large enough closes before more of it than this is padding
_ENOUGH = 256  # tokens that keep a matrix product busy; a quarter of the budget, if that is more


def batches(lengths: Sequence[int], *, budget: int, size: int | None = None) -> Iterator[list[int]]:
    """Yield lists of indices whose padded size stays within ``budget`` tokens.

    A single sequence over the budget makes a batch of its own.

    Args:
        lengths: Length of every sequence.
        budget: Maximum tokens per batch, including padding.
        size: Maximum sequences per batch.
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


def equal_batches(
    shapes: Sequence[Hashable], lengths: Sequence[int], *, budget: int, size: int | None = None
) -> Iterator[list[int]]:
    """Yield lists of indices of one shape each, so that nothing is padded.

    Padding changes float sums in their last bits, and a model that rounds its activations (int8)
    turns a last bit into whole nats. Without padding a score does not depend on the batch.

    Args:
        shapes: What must be equal within a batch: the lengths of everything that is padded.
        lengths: Tokens that each sequence adds to a batch.
        budget: Maximum tokens per batch; a single sequence over it makes a batch of its own.
        size: Maximum sequences per batch.
    """
    groups: dict[Hashable, list[int]] = {}
    for index, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(index)
    for members in sorted(groups.values(), key=lambda group: -lengths[group[0]]):
        for part in batches([lengths[i] for i in members], budget=budget, size=size):
            yield [members[i] for i in part]
