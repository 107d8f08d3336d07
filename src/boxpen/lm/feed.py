"""The order of sentences or items in training, and the batches they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from boxpen.lm.options import Options
from boxpen.lm.trainable import NOTHING, Feature, Trainable
from boxpen.training.feed import Feed

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ItemFeed"]

_SORTED_TOGETHER = 8  # steps


class ItemFeed(Feed):
    """Features of similar length together.

    They are sorted within a few steps only, and the steps are shuffled: where labels go with
    length, as they often do in inference, a wider sort makes steps of one label each.

    Args:
        trainable: Makes batches.
        features: What is learnt from.
        options: Size of batches and steps, and the seed.
        pin: Whether tensors go to pinned memory, from which a GPU copies faster.
        rank: Which process this is.
        world: How many there are. They divide every step, so that it is the same for any number.
    """

    def __init__(
        self,
        trainable: Trainable,
        features: Sequence[Feature],
        options: Options,
        *,
        pin: bool,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.trainable, self.features, self.options, self.pin = trainable, features, options, pin
        self.rank, self.world = rank, world
        self.accumulate = math.ceil(options.accumulate / world)

    def groups(self, epoch: int) -> list[list[int]]:
        """Return the places of the features of every step of an epoch."""
        import torch

        seed = self.options.seed * 100_003 + epoch
        generator = torch.Generator().manual_seed(seed)
        drawn: list[int] = torch.randperm(len(self.features), generator=generator).tolist()
        size = self.options.batch_size * self.options.accumulate
        wide = size * _SORTED_TOGETHER
        groups: list[list[int]] = []
        for start in range(0, len(drawn), wide):
            part = sorted(drawn[start : start + wide], key=lambda i: self.features[i].length)
            groups += [part[at : at + size] for at in range(0, len(part), size)]
        full = [group for group in groups if len(group) == size]
        rest = [group for group in groups if len(group) < size]  # one at most, the last
        order = torch.randperm(len(full), generator=generator).tolist()
        return [*(full[place] for place in order), *rest]

    def batches(self, group: list[int], epoch: int) -> tuple[list[dict[str, Tensor]], int]:
        """Return this process's batches of a step, and the predictions of all processes."""
        size = self.options.batch_size
        mine = group[self.rank :: self.world]  # of like length in all of them
        shown = mine or group[:1]
        batches = [
            self.trainable.batch([self.features[i] for i in shown[at : at + size]], epoch + 1)
            for at in range(0, len(shown), size)
        ]
        if not mine:  # the others wait for its gradients, which are zero
            batches[0]["labels"].fill_(NOTHING)
        if self.pin:
            batches = [{k: v.pin_memory() for k, v in batch.items()} for batch in batches]
        return batches, sum(self.trainable.predictions(self.features[i]) for i in group)
