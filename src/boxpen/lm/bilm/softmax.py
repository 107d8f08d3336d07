"""Log-probabilities of single words from a large softmax that is never stored as a whole.

The vocabulary is gone through in tiles: each gives its part of log Σ exp, and is forgotten. Going
back, the tiles are computed once more, so that a training needs no more memory than one of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["log_probabilities"]

_CPU_ENTRIES = 1 << 20  # 4 MB of logits, which stay in the cache until they are summed
_GPU_ENTRIES = 1 << 27  # 512 MB
_ALIGNED = 256


def log_probabilities(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, *, tile: int | None = None
) -> Tensor:
    """Return log p of one word for every state, (positions,), in float32 or better.

    Args:
        states: (positions, width).
        weight: (vocabulary, width).
        bias: (vocabulary,).
        targets: The words, (positions,).
        tile: Words that are looked at together; as many as memory suggests, if None.
    """
    if tile is None:
        entries = _GPU_ENTRIES if states.is_cuda else _CPU_ENTRIES
        tile = max(1, entries // max(1, len(states)) // _ALIGNED) * _ALIGNED
    found: Tensor = _LogProbabilities.apply(states, weight, bias, targets, tile)  # type: ignore[no-untyped-call]
    return found


class _LogProbabilities(torch.autograd.Function):
    """log p = logit of the target - log Σ exp of all logits; its gradient is one-hot less p."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, tile: int
    ) -> Tensor:
        exact = _exact(states)
        top = torch.full((len(states),), -torch.inf, dtype=exact, device=states.device)
        total = torch.zeros_like(top)
        chosen = torch.full_like(top, torch.nan)  # a word that is in no tile has no number
        for start in range(0, len(weight), tile):
            logits = _logits(states, weight, bias, start, tile)  # (positions, tile)
            rows, columns = _inside(targets, start, logits.shape[1])
            chosen[rows] = logits[rows, columns].to(exact)
            highest = logits.amax(dim=-1)
            summed = logits.sub_(highest[:, None]).exp_().sum(dim=-1).to(exact)
            # Joined in float64: rounded to float32, errors would add up over a long text.
            new = torch.maximum(top, highest.to(exact))
            total = total * (top - new).exp() + summed * (highest.to(exact) - new).exp()
            top = new
        normaliser = top + total.log()
        ctx.save_for_backward(states, weight, bias, targets, normaliser)
        ctx.tile, ctx.autocast = tile, _autocast_of(states)
        return (chosen - normaliser).to(_wide(weight))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, bias, targets, normaliser = ctx.saved_tensors
        gradient = gradients[0]
        wide = _wide(weight)
        to_states = torch.zeros(states.shape, dtype=wide, device=states.device)
        to_weight, to_bias = torch.empty_like(weight), torch.empty_like(bias)
        with _autocast(ctx.autocast):
            for start in range(0, len(weight), ctx.tile):
                part = slice(start, start + ctx.tile)
                logits = _logits(states, weight, bias, start, ctx.tile)
                shares = logits.sub_(normaliser[:, None].to(wide)).exp_()
                slope = shares.mul_(-gradient[:, None])  # (positions, tile)
                rows, columns = _inside(targets, start, slope.shape[1])
                slope[rows, columns] += gradient[rows]
                to_states += slope @ weight[part].to(wide)
                to_weight[part] = (slope.t() @ states.to(wide)).to(weight.dtype)
                to_bias[part] = slope.sum(0).to(bias.dtype)
        return to_states.to(states.dtype), to_weight, to_bias, None, None


def _logits(states: Tensor, weight: Tensor, bias: Tensor, start: int, tile: int) -> Tensor:
    """Return the logits of a tile in float32 or better, for the caller to overwrite."""
    part = slice(start, start + tile)
    wide = _wide(weight)
    return functional.linear(states.to(wide), weight[part].to(wide), bias[part].to(wide)).to(wide)


def _inside(targets: Tensor, start: int, tile: int) -> tuple[Tensor, Tensor]:
    """Return which targets lie in a tile, and where."""
    rows = ((targets >= start) & (targets < start + tile)).nonzero()[:, 0]
    return rows, targets[rows] - start


def _wide(weight: Tensor) -> torch.dtype:
    return torch.promote_types(weight.dtype, torch.float32)


def _exact(tensor: Tensor) -> torch.dtype:
    return torch.float32 if tensor.device.type == "mps" else torch.float64  # MPS has no float64


def _autocast_of(tensor: Tensor) -> tuple[str, bool, torch.dtype]:
    device = tensor.device.type
    return device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)


@contextlib.contextmanager
def _autocast(found: tuple[str, bool, torch.dtype]) -> Iterator[None]:
    """Multiply as it was done on the way there."""
    device, enabled, dtype = found
    with torch.autocast(device, dtype=dtype, enabled=enabled):
        yield
