"""A decoder cache for beam search in preallocated memory.

The caches of Transformers are new tensors at every step, each a little longer than the last. With
thousands of beams these are large, and a GPU's allocator finds none of the old ones long enough.
After every step they are also laid out anew in the order of the beams that stay, those of the
source too, though all beams of a sentence have the same source. Here

- keys and values of the tokens so far lie position by position in buffers with room to grow; a new
  order is written into a spare buffer, which then changes places with the old one;
- keys and values of the source stay as they are: beams only change places within their sentence.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer, EncoderDecoderCache
from transformers.models.marian.modeling_marian import MarianPreTrainedModel

__all__ = ["beam_cache"]

_FIRST = 32
"""Positions that there is room for to begin with; twice as many each time that they are full."""


def beam_cache(model: Any) -> EncoderDecoderCache | None:
    """Return an empty cache for beam search, or None for a model that has its own.

    Args:
        model: Any sequence-to-sequence model of Transformers.
    """
    if not isinstance(model, MarianPreTrainedModel) or not model._supports_default_dynamic_cache():
        return None
    if getattr(model.generation_config, "cache_implementation", None) is not None:
        return None  # somebody has chosen another
    spare = _Spare()
    return EncoderDecoderCache(
        Cache(layer_class_to_replicate=partial(_Growing, spare)),
        Cache(layer_class_to_replicate=_OfTheSource),
    )


class _OfTheSource(DynamicLayer):  # type: ignore[misc]
    """Keys and values of the source."""

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Leave them: the beams of a sentence read the same source."""


class _Spare:
    """A buffer that no layer uses, for the next one that is laid out anew."""

    def __init__(self) -> None:
        self._free: Tensor | None = None

    def reordered(self, buffer: Tensor, length: int, rows: Tensor) -> Tensor:
        """Return a buffer with other rows of the first positions; the old one is the next spare."""
        free = self._free
        if free is None or (free.shape, free.device) != (buffer.shape, buffer.device):
            free = torch.empty_like(buffer)
        torch.index_select(buffer[:length], 1, rows, out=free[:length])
        self._free = buffer
        return free


class _Growing(DynamicLayer):  # type: ignore[misc]
    """Keys and values of the tokens so far, (positions, rows, heads, width) in memory.

    Args:
        spare: Shared by the layers of a cache.
    """

    def __init__(self, spare: _Spare, **others: Any) -> None:
        super().__init__(**others)
        self._spare = spare
        self._buffers: list[Tensor] = []
        self._length = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Add keys and values, (rows, heads, new positions, width); return all."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        given = (key_states, value_states)
        start, self._length = self._length, self._length + key_states.shape[2]
        if not self._buffers or self._length > len(self._buffers[0]):
            self._buffers = [self._room(i, new, start) for i, new in enumerate(given)]
        for buffer, new in zip(self._buffers, given, strict=True):
            buffer[start : self._length] = new.permute(2, 0, 1, 3)
        self._show()
        return self.keys, self.values

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Lay the rows out in the order of the beams that stay."""
        if self._length:
            rows = beam_idx.to(self._buffers[0].device)
            self._buffers = [self._spare.reordered(b, self._length, rows) for b in self._buffers]
            self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows, in this order."""
        if self._length:
            rows = indices.to(self._buffers[0].device)
            self._buffers = [b.index_select(1, rows) for b in self._buffers]
            self._show()

    def _room(self, number: int, new: Tensor, start: int) -> Tensor:
        """Return a larger buffer with what was in the old one."""
        rows, heads, _, width = new.shape
        positions = _FIRST
        while positions < self._length:
            positions *= 2
        room = new.new_empty(positions, rows, heads, width)
        if start:
            room[:start] = self._buffers[number][:start]
        return room

    def _show(self) -> None:
        """Let attention see what is there: (rows, heads, positions, width)."""
        self.keys, self.values = (b[: self._length].permute(1, 2, 0, 3) for b in self._buffers)
