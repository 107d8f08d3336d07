"""How a training computes: fast where that does no harm, with a state of chance that is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["chance_of", "fast_arithmetic", "generator_of", "set_chance"]


@contextlib.contextmanager
def fast_arithmetic(device: torch.device) -> Iterator[None]:
    """Train on a GPU with TF32 products; what is scored afterwards must be exact again."""
    import torch

    if device.type != "cuda":
        yield
        return
    from boxpen.models.planning import unplanned_attention

    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with unplanned_attention(device):  # batches have hundreds of shapes
            yield
    finally:
        torch.set_float32_matmul_precision(precision)


def generator_of(device: torch.device) -> torch.Generator:
    """Return the generator that dropout draws from, whose state is kept."""
    import torch

    if device.type != "cuda":
        return torch.default_generator
    index = torch.cuda.current_device() if device.index is None else device.index
    found: torch.Generator = torch.cuda.default_generators[index]
    return found


def chance_of(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the state of the generators that dropout draws from."""
    import torch

    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_chance(state: dict[str, torch.Tensor], device: torch.device) -> None:
    """Put the generators into a state in which they were."""
    import torch

    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
