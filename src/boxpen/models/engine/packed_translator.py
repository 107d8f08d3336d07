"""Run decoders of translation models on prefix trees.

They take no position ids. Most look positions up in a part of their own, ``embed_positions``, which
is made to answer with the depths of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boxpen.models.engine.head import replaced
from boxpen.models.engine.packed import PackedDecoder

if TYPE_CHECKING:
    import torch

__all__ = ["PackedTranslator"]


class PackedTranslator(PackedDecoder):
    """The decoder of a translation model, told its positions by the part that looks them up."""

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
