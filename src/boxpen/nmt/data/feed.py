"""The batches of a training in order, prepared ahead of time by a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boxpen.errors import NmtError
from boxpen.nmt.data.batches import plan
from boxpen.nmt.data.inputs import PLAIN, Batch, Reads, batch_of
from boxpen.training import feed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from boxpen.nmt.data.examples import Examples

__all__ = ["Feed", "nested_share"]


class Feed(feed.Feed):
    """Gives every process its part of every step.

    Args:
        examples: The corpus.
        chosen: Numbers of the pairs to use; all if None.
        tokens: Maximum tokens per batch on either side.
        accumulate: Batches per step and process.
        seed: Random seed for the order.
        pad: Fills up rows.
        start: What the decoder reads first.
        reads: What else the model reads.
        pin: Whether tensors go to pinned memory, from which a GPU copies faster.
        rank: Which process this is.
        world: How many there are.
    """

    def __init__(
        self,
        examples: Examples,
        chosen: NDArray[np.int64] | None,
        *,
        tokens: int,
        accumulate: int,
        seed: int,
        pad: int,
        start: int,
        reads: Reads = PLAIN,
        pin: bool = False,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.examples, self.chosen = examples, chosen
        self.tokens, self.accumulate, self.seed = tokens, accumulate, seed
        self.pad, self.start, self.reads, self.pin = pad, start, reads, pin
        self._lengths = reads.source_lengths(examples), examples.target_lengths
        self.rank, self.multiple = rank, world

    @property
    def pairs(self) -> int:
        """How many pairs an epoch has, for all processes together."""
        return len(self.examples) if self.chosen is None else len(self.chosen)

    def groups(self, epoch: int) -> list[list[NDArray[np.int64]]]:
        """Return the batches of every step of an epoch, for all processes together."""
        source, target = self._lengths
        if self.chosen is not None:
            source, target = source[self.chosen], target[self.chosen]
        batches = plan(source, target, tokens=self.tokens, seed=self.seed, epoch=epoch, multiple=8)
        if self.chosen is not None:
            batches = [self.chosen[batch] for batch in batches]
        size = self.accumulate * self.multiple
        if len(batches) < self.multiple:
            raise NmtError(
                f"an epoch has {len(batches)} batches for {self.multiple} processes; lower 'tokens'"
            )
        groups = [batches[at : at + size] for at in range(0, len(batches), size)]
        if len(groups) > 1 and len(groups[-1]) < size:
            groups.pop()  # it would be a step of another size, and some process would have none
        return groups

    def batches(self, group: list[NDArray[np.int64]], epoch: int) -> tuple[list[Batch], int]:  # noqa: ARG002
        """Return the batches of this process, and the target tokens of all."""
        tokens = sum(int(self.examples.target_lengths[batch].sum()) for batch in group)
        return [
            batch_of(
                self.examples, batch, pad=self.pad, start=self.start, reads=self.reads, pin=self.pin
            )
            for batch in group[self.rank :: self.multiple]
        ], tokens


def nested_share(pairs: int, share: float, seed: int) -> NDArray[np.int64] | None:
    """Return the numbers of a share of the pairs; a smaller share is a part of a larger one."""
    import numpy as np

    if share >= 1:
        return None
    drawn = np.random.default_rng([seed, 99]).permutation(pairs)
    return np.sort(drawn[: max(1, round(pairs * share))])
