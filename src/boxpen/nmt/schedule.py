"""The learning rate from step to step."""

from __future__ import annotations

import math

from boxpen.nmt.config import TrainConfig

__all__ = ["learning_rate"]


def learning_rate(config: TrainConfig, step: int, done: float = 0.0) -> float:
    """Return the learning rate of a step.

    It rises on a line in the warm-up. It stays at its peak, falls with the inverse square root of
    the steps, or falls to nothing when the training is done; where both would hold, the lower.

    Args:
        config: The peak, the warm-up and the schedule.
        step: Which step it is, from 1.
        done: The share of the training that lies behind, where a schedule ends: 0 to 1.
    """
    peak, warmup = config.learning_rate, config.warmup
    rising = min(1.0, step / warmup) if warmup else 1.0
    if config.schedule == "inverse_sqrt":
        return peak * min(rising, math.sqrt(max(1, warmup) / max(1, step)))
    if config.schedule == "linear":
        return peak * min(rising, max(0.0, 1 - done))
    if config.schedule == "cosine":
        return peak * min(rising, (1 + math.cos(math.pi * min(1.0, done))) / 2)
    return peak * rising
