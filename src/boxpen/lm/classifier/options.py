"""Training options, with defaults that suit most cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from boxpen.errors import TrainError

__all__ = ["Options"]

_MOST = (1 << 31) - 1
_MOST_EPOCHS = 1e6


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
        """Reject what cannot be trained with.

        Raises:
            TrainError: If a value is out of its range.
        """
        least: dict[str, float] = {
            "batch_size": 1, "accumulate": 1, "warmup": 0, "weight_decay": 0, "max_length": 8,
            "every": 1, "patience": 0, "seed": 0,
        }  # fmt: skip
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise TrainError(f"{name} is {value:g}, expected {low:g} or more")
        if self.seed >= 1 << 32:  # NumPy takes no larger one
            raise TrainError(f"seed is {self.seed}, expected less than {1 << 32}")
        for name in ("batch_size", "accumulate", "max_length", "patience"):
            if (value := getattr(self, name)) > _MOST:
                raise TrainError(f"{name} is {value}, expected {_MOST} or less")
        if not 0 < self.epochs <= _MOST_EPOCHS:
            raise TrainError(
                f"epochs is {self.epochs:g}, expected a number above 0, at most {_MOST_EPOCHS:,.0f}"
            )
        if self.learning_rate is not None and not 0 < self.learning_rate < float("inf"):
            raise TrainError(f"learning_rate is {self.learning_rate:g}, expected a number above 0")
        if self.weight_decay == float("inf"):
            raise TrainError("weight_decay is inf, expected a number")
        if not self.warmup <= 1:
            raise TrainError(f"warmup is {self.warmup:g}, expected a share of the steps, 0 to 1")

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return asdict(self)
