"""Run decoders on packs of prefix trees: no padding, and shared prefixes are computed once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boxpen.models.engine.flex import block_mask
from boxpen.models.engine.head import Head, replaced
from boxpen.models.engine.norms import fused_norms, norms_of
from boxpen.models.engine.packs import FLEX, Pack
from boxpen.scoring.tree import Ints

if TYPE_CHECKING:
    import torch

__all__ = ["PackedDecoder", "PackedTranslator"]


class PackedDecoder:
    """A decoder that takes position ids and attention masks, run on packs.

    Args:
        body: The module without its output layer.
        head: Its output layer.
        device: Where it computes.
        dtype: Its floating-point type.
        flex: Whether very wide rows take FlexAttention.

    Attributes:
        computed: How many positions were computed so far, stems and filling included.
    """

    def __init__(
        self,
        body: Any,
        head: Head,
        device: torch.device,
        dtype: torch.dtype,
        *,
        flex: bool = False,
    ) -> None:
        self._body = body
        self._flex = flex
        self._head = head
        self._device = device
        self._dtype = dtype
        self._stem: _Stem | None = None
        self.computed = 0
        self._norms = norms_of(body) if device.type == "cuda" else []

    def run(self, pack: Pack, *, chunk: int, **more: Any) -> torch.Tensor:
        """Return the log-probabilities of a pack's targets.

        Args:
            pack: What to run.
            chunk: Maximum tokens of a stem to run at a time.
            **more: Additional arguments for the body.
        """
        import torch

        with torch.inference_mode():
            stem = self._stem_of(pack.stem, chunk) if len(pack.stem) else None
            if stem is not None:
                more = {**more, "past_key_values": stem.cache()}
            hidden = self.forward(
                self._moved(pack.ids), self._moved(pack.depths), self._mask(pack), **more
            ).flatten(0, 1)  # (positions, width)
            wanted = pack.wanted - len(pack.stem)
            below = wanted >= 0
            if below.all():
                return self._values(hidden, wanted, pack.targets)
            assert stem is not None
            out = torch.empty(len(wanted), device=self._device)
            out[self._moved(below)] = self._values(hidden, wanted[below], pack.targets[below])
            out[self._moved(~below)] = stem.values(self, pack.wanted[~below], pack.targets[~below])
            return out

    def forward(
        self, ids: torch.Tensor, depths: torch.Tensor, mask: Any, **more: Any
    ) -> torch.Tensor:
        """Return the hidden states of rows."""
        import torch

        self.computed += ids.numel()
        more.setdefault("use_cache", "past_key_values" in more)
        dense = isinstance(mask, torch.Tensor)
        with self._attention(dense=dense), fused_norms(self._norms):
            hidden: torch.Tensor = self._body(
                input_ids=ids, position_ids=depths, attention_mask=mask, **more
            )[0]
        return hidden

    @contextlib.contextmanager
    def _attention(self, *, dense: bool) -> Iterator[None]:
        """Take FlexAttention for a while, if the mask is not dense."""
        if dense:
            yield
            return
        before = self._body.config._attn_implementation
        self._body.set_attn_implementation("flex_attention")
        try:
            yield
        finally:
            self._body.set_attn_implementation(before)

    def forget(self) -> None:
        """Discard the cached stem and free its memory."""
        self._stem = None

    def _values(self, hidden: torch.Tensor, rows: Ints, targets: Ints) -> torch.Tensor:
        return self._head.log_probabilities(hidden, rows, targets)

    def _stem_of(self, tokens: Ints, chunk: int) -> _Stem:
        """Return the keys, values and hidden states of a stem; the last one is kept."""
        if self._stem is None or not np.array_equal(self._stem.tokens, tokens):
            self._stem = None  # frees its memory first
            self._stem = _Stem(tokens, *self._run_stem(tokens, chunk))
        return self._stem

    def _run_stem(self, tokens: Ints, chunk: int) -> tuple[list[Any], torch.Tensor]:
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        hidden = []
        for start in range(0, len(tokens), chunk):
            part = tokens[start : start + chunk]
            places = np.arange(start, start + len(part))
            seen = np.arange(start + len(part))[None, :] <= places[:, None]
            mask = self._additive(self._moved(seen[None, None]))
            ids, depths = self._moved(part[None]), self._moved(places[None])
            hidden.append(self.forward(ids, depths, mask, past_key_values=cache)[0])
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        return layers, torch.cat(hidden)

    def _mask(self, pack: Pack) -> Any:
        """Return which node sees which: (rows, 1, width, stem + width), to be added."""
        import torch

        if self._flex and pack.ids.shape[1] > FLEX and len(pack.ids) == 1 and not len(pack.stem):
            return block_mask(pack.exits[0], self._device)

        width = pack.ids.shape[1]
        places = torch.arange(width, device=self._device)
        exits = self._moved(pack.exits)
        q, k = places[None, :, None], places[None, None, :]
        seen = (k <= q) & (q < exits[:, None, :])  # (rows, width, width)
        if len(pack.stem):
            stem = seen.new_ones(len(seen), width, len(pack.stem))
            seen = torch.cat([stem, seen], dim=-1)
        return self._additive(seen[:, None])

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        import torch

        zero = torch.zeros((), dtype=self._dtype, device=self._device)
        return torch.where(seen, zero, torch.finfo(self._dtype).min)

    def _moved(self, array: NDArray[Any]) -> torch.Tensor:
        import torch

        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":  # or else the GPU would be waited for
            tensor = tensor.pin_memory()
        return tensor.to(self._device, non_blocking=True)


class PackedTranslator(PackedDecoder):
    """The decoder of a translation model.

    Such decoders take no position ids. Most look positions up in a part of their own,
    ``embed_positions``, which is made to answer with the depths of the tree.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._table: torch.Tensor | None = None

    def forward(
        self, ids: torch.Tensor, depths: torch.Tensor, mask: torch.Tensor, **more: Any
    ) -> torch.Tensor:
        """Return the hidden states of rows."""
        self.computed += ids.numel()
        table = self._positions(int(depths.max()) + 1, more["encoder_hidden_states"])
        chosen = table[depths]  # (rows, width, hidden)
        with replaced(self._body.embed_positions, lambda *_, **__: chosen):
            hidden: torch.Tensor = self._body(
                input_ids=ids, attention_mask=mask, use_cache=False, **more
            )[0]
        return hidden

    def _positions(self, count: int, source: torch.Tensor) -> torch.Tensor:
        """Return what the decoder adds at each position, as it looks it up for a plain row."""
        import torch

        if self._table is not None and len(self._table) >= count:
            return self._table
        part = self._body.embed_positions
        found: list[torch.Tensor] = []

        def listened(*inputs: Any, **named: Any) -> torch.Tensor:
            found.append(type(part).forward(part, *inputs, **named))
            return found[0]

        ordinary = int(self._body.config.pad_token_id == 0)  # some give padding no position
        ids = torch.full((1, count), ordinary, device=source.device)
        with replaced(part, listened):
            self._body(input_ids=ids, encoder_hidden_states=source[:1], use_cache=False)
        self._table = found[0].reshape(-1, found[0].shape[-1])
        return self._table


class _Stem:
    """What the rows below a stem need of it."""

    def __init__(self, tokens: Ints, layers: list[Any], hidden: torch.Tensor) -> None:
        self.tokens = tokens
        self._layers = layers
        self._hidden = hidden  # (stem, width)
        self._known: dict[tuple[int, int], float] = {}

    def cache(self) -> Any:
        """Return a cache that a forward pass may append to."""
        from transformers import DynamicCache

        return DynamicCache(self._layers)

    def values(self, decoder: PackedDecoder, rows: Ints, targets: Ints) -> torch.Tensor:
        """Return the log-probabilities of targets that the stem predicts, each computed once."""
        import torch

        pairs = list(zip(rows.tolist(), targets.tolist(), strict=True))
        new = list(dict.fromkeys(p for p in pairs if p not in self._known))
        if new:
            where, what = (np.array(side) for side in zip(*new, strict=True))
            found = decoder._values(self._hidden, where, what)
            self._known.update(zip(new, found.tolist(), strict=True))
        return torch.tensor([self._known[p] for p in pairs], device=self._hidden.device)
