"""The training objective of a language model or a classifier, as a module."""

from __future__ import annotations

from torch import Tensor, nn

from boxpen.lm.trainable import Trainable

__all__ = ["Objective"]


class Objective(nn.Module):
    """A function from a batch to its summed loss, as processes that train together want it.

    Args:
        trainable: Computes the loss.
    """

    def __init__(self, trainable: Trainable) -> None:
        super().__init__()
        self.module = trainable.module
        self.trainable = trainable

    def forward(self, **batch: Tensor) -> Tensor:
        """Return the loss of a batch in nats, summed over its predictions."""
        return self.trainable.loss(batch)[0]
