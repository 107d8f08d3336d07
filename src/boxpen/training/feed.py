"""The data of a training, step by step, from any position on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.training.state import Place, Step

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Feed"]


class Feed(ABC):
    """The data of a training, in an order that follows from the seed and the epoch alone."""

    accumulate: int = 1
    """Batches per step, in one process."""
    multiple: int = 1
    """How many times as much a step learns from as it does with one process."""

    @abstractmethod
    def groups(self, epoch: int) -> Sequence[Any]:
        """Return what each step of an epoch learns from."""

    @abstractmethod
    def batches(self, group: Any, epoch: int) -> tuple[list[dict[str, Tensor]], int]:
        """Return this process's batches of a step, and the predictions of all processes."""

    def steps(self, place: Place) -> Iterator[Step]:
        """Yield the steps from a place on, epoch after epoch, for ever."""
        while True:
            epoch = place.epoch
            groups = self.groups(epoch)
            for number in range(place.steps, len(groups)):
                last = number + 1 == len(groups)
                after = Place(epoch + 1) if last else Place(epoch, number + 1)
                batches, tokens = self.batches(groups[number], epoch)
                yield Step(batches, tokens, after, round(epoch + (number + 1) / len(groups), 4))
            place = Place(epoch + 1)
