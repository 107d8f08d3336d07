"""Attention without cuDNN, which makes a new plan for every shape.

A plan takes many times as long as the attention itself. That is well spent on a shape that is met
a thousand times, but a beam search meets another shape at every step, and scoring with every batch:
there most of the time would go into plans.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from boxpen.refcounted import refcounted

__all__ = ["unplanned_attention"]


@contextlib.contextmanager
def unplanned_attention(device: torch.device) -> Iterator[None]:
    """Temporarily disable cuDNN's attention.

    Args:
        device: That computes; nothing is changed for any but a GPU of CUDA.
    """
    if not _plans(device):
        yield
        return
    with _without():
        yield


def _plans(device: torch.device) -> bool:
    return device.type == "cuda"


@refcounted
@contextlib.contextmanager
def _without() -> Iterator[None]:
    """Switch it off in all threads: there is one switch for all."""
    switch: Any = torch.backends.cuda
    before = switch.cudnn_sdp_enabled()
    switch.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        switch.enable_cudnn_sdp(before)
