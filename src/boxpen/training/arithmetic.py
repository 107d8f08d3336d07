"""Arithmetic and random state of a training: fast where that is safe, and restorable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["fast_arithmetic", "generator_of", "get_rng_state", "set_rng_state"]


@contextlib.contextmanager
def fast_arithmetic(device: torch.device) -> Iterator[None]:
    """Train on a GPU with TF32 products; restore exact arithmetic for scoring afterwards."""
    import torch

    if device.type != "cuda":
        yield
        return
    from boxpen.models.engine.cudnn import unplanned_attention

    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with unplanned_attention(device):  # batches have hundreds of shapes
            yield
    finally:
        torch.set_float32_matmul_precision(precision)


def generator_of(device: torch.device) -> torch.Generator:
    """Return the generator that dropout draws from; checkpoints store its state."""
    import torch

    if device.type != "cuda":
        return torch.default_generator
    index = torch.cuda.current_device() if device.index is None else device.index
    found: torch.Generator = torch.cuda.default_generators[index]
    return found


def get_rng_state(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the state of the generators that dropout draws from."""
    import torch

    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_rng_state(state: dict[str, torch.Tensor], device: torch.device) -> None:
    """Restore the state of the generators."""
    import torch

    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
