"""Training options, with defaults that suit most cases."""

from __future__ import annotations

import math
from dataclasses import dataclass

from boxpen.errors import TrainError

__all__ = ["Options"]

_MOST = (1 << 31) - 1
_LEAST = {"batch_size": 1, "accumulate": 1, "max_length": 8, "patience": 0, "seed": 0, "every": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a training.

    Attributes:
        epochs: Number of epochs.
        batch_size: Items per batch.
        accumulate: Batches per optimiser step.
        learning_rate: Peak learning rate; if None, 3e-5, or 5e-4 for a model trained from scratch.
        warmup: Share of steps used for warmup; the learning rate then falls to zero.
        weight_decay: Weight decay of AdamW.
        max_length: Maximum tokens per pair; longer ones are truncated and counted.
        every: Steps between evaluations, each with a checkpoint; if None, one epoch, but at most
            500.
        patience: Evaluations without improvement before stopping (0: never).
        seed: Random seed for the initial weights, the order of the data, dropout and the split.
    """

    epochs: float = 3.0
    batch_size: int = 32
    accumulate: int = 1
    learning_rate: float | None = None
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_length: int = 256
    every: int | None = None
    patience: int = 3
    seed: int = 1960

    def __post_init__(self) -> None:
        """Reject what cannot be trained with."""
        rate = 1.0 if self.learning_rate is None else self.learning_rate
        for name, good, expected in (
            ("epochs", 0 < self.epochs <= 1e6, "a number above 0, at most 1,000,000"),
            ("learning_rate", 0 < rate < math.inf, "a number above 0"),
            ("warmup", 0 <= self.warmup <= 1, "a share of the steps, 0 to 1"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "a number, 0 or more"),
            ("seed", self.seed < 1 << 32, f"less than {1 << 32}"),  # NumPy takes no larger one
        ):
            if not good:
                raise TrainError(f"{name} is {getattr(self, name)}, expected {expected}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise TrainError(f"{name} is {value}, expected {least} or more")
            if name not in ("seed", "every") and value > _MOST:
                raise TrainError(f"{name} is {value}, expected {_MOST} or less")
