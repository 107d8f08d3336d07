"""Settings of cuDNN, which are shared by all threads: no plans for attention, and no TF32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from boxpen.refcounted import refcounted

__all__ = ["full_precision", "run_lstm", "unplanned_attention"]


@contextlib.contextmanager
def unplanned_attention(device: torch.device) -> Iterator[None]:
    """Temporarily disable cuDNN's attention, which makes a plan for every new shape.

    A plan takes many times as long as the attention itself. Every step of a beam search and every
    batch that is scored has a shape of its own, so most of the time would go into plans.
    """
    with _no_cudnn_attention() if _plans(device) else contextlib.nullcontext():
        yield


def _plans(device: torch.device) -> bool:
    return device.type == "cuda"


@refcounted
@contextlib.contextmanager
def _no_cudnn_attention() -> Iterator[None]:
    switch: Any = torch.backends.cuda
    before = switch.cudnn_sdp_enabled()
    switch.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        switch.enable_cudnn_sdp(before)


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
    """Keep cuDNN from rounding factors to TF32, which moves a log-probability by 1e-3.

    Args:
        device: Type of the device; nothing changes unless it is ``cuda``, nor under autocast.
    """
    rounds = device == "cuda" and not torch.is_autocast_enabled(device)
    with _unrounded() if rounds else contextlib.nullcontext():
        yield


@refcounted
@contextlib.contextmanager
def _unrounded() -> Iterator[None]:
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
