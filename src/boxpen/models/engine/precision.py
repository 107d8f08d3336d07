"""Run LSTMs and convolutions of cuDNN in the precision of their own weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from boxpen.refcounted import refcounted

__all__ = ["full_precision", "run_lstm"]


def run_lstm(layer: Any, read: Any, begin: tuple[Tensor, Tensor] | None = None) -> Any:
    """Run an LSTM in the type of its own weights, also under autocast.

    What an LSTM remembers is summed up over many steps, in which a half loses small things; and
    autocast gives cuDNN float16 even where bfloat16 is asked for, in which gradients vanish.

    Args:
        layer: The LSTM.
        read: What it reads, filled up or packed.
        begin: Output and memory to begin with; zeros if None.
    """
    weight: Tensor = layer.weight_hh_l0
    device = weight.device.type
    if begin is not None:
        begin = (begin[0].to(weight.dtype), begin[1].to(weight.dtype))
    with full_precision(device), torch.autocast(device, enabled=False):
        return layer(read.to(weight.dtype), begin)


@contextlib.contextmanager
def full_precision(device: str) -> Iterator[None]:
    """Keep cuDNN from rounding what it multiplies to TF32, which it does unless told not to.

    That is right for a training in mixed precision, but moves a log-probability by 1e-3.

    Args:
        device: The type of the device that computes; nothing is changed for any but ``cuda``, nor
            under autocast.
    """
    if device != "cuda" or torch.is_autocast_enabled(device):
        yield
        return
    with _unrounded():
        yield


@refcounted
@contextlib.contextmanager
def _unrounded() -> Iterator[None]:
    """Have cuDNN multiply floats as they are, in all threads: its settings are those of all."""
    cudnn: Any = torch.backends.cudnn
    old = not hasattr(cudnn, "rnn")  # before PyTorch 2.9
    places = [cudnn] if old else [cudnn.rnn, cudnn.conv]
    name, wanted = ("allow_tf32", False) if old else ("fp32_precision", "ieee")
    before = [getattr(place, name) for place in places]
    for place in places:
        setattr(place, name, wanted)
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            setattr(place, name, value)
