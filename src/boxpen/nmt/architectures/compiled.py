"""Layers through torch.compile: one translation for all layers of a kind, of any shape.

A whole model would be compiled anew for every number of sentences and every width of a batch.
Layers of a kind are compiled once, with dynamic shapes, in a fraction of the time, and nearly all
the work is in them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from boxpen.nmt.architectures.attention import pack

__all__ = ["compile_layers", "eager"]

_LAYERS = ("MarianEncoderLayer", "MarianDecoderLayer")


def compile_layers(model: Any, source: float, target: float) -> int:
    """Compile the layers of a model in place.

    Args:
        model: Any model; what has no layers of a known kind stays as it is.
        source: Mean length of its sources.
        target: Of its targets.

    Returns:
        How many layers there were.
    """
    layers = [module for module in model.modules() if type(module).__name__ in _LAYERS]
    if layers:
        from torch.fx.experimental import _config

        _config.use_duck_shape = False  # a source as long as its target is no rule
        pack(model, source, target)
        _hand_on_bfloat16(model)
    for layer in layers:
        layer.compile(dynamic=True)
    return len(layers)


def _hand_on_bfloat16(model: Any) -> None:
    """Let what goes from layer to layer be bfloat16 where matrix products are.

    Autocast hands on the float32 in which norms are computed, twice as much to write and to read
    by everything between two products.
    """
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.LayerNorm | nn.Embedding):
            module.register_forward_hook(_as_bfloat16)


def _as_bfloat16(_module: Any, _inputs: Any, output: Tensor) -> Tensor:
    return output.bfloat16() if torch.is_autocast_enabled(output.device.type) else output


@contextlib.contextmanager
def eager(model: Any) -> Iterator[None]:
    """Run a model without compiled layers: translation has shapes not worth compiling."""
    compiled = {
        module: module._compiled_call_impl
        for module in model.modules()
        if getattr(module, "_compiled_call_impl", None) is not None
    }
    for module in compiled:
        module._compiled_call_impl = None
    try:
        yield
    finally:
        for module, call in compiled.items():
            module._compiled_call_impl = call
