"""Attention for training on short sentences: several of them share a tile.

A subtitle has ten tokens. The kernels behind scaled_dot_product_attention work on tiles of 64 or
128 queries, so nearly all of a tile is padding, and attention takes a third of a step. Here eight
sentences stand behind each other in a row, and a mask keeps them apart: eight times fewer tiles.
Nothing but attention sees it; positions, norms and all the rest go on as they were.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["NAME", "TOGETHER", "packed", "register"]

NAME = "boxpen_packed"
TOGETHER = 8
"""Sentences in a row. Kernels want masks whose rows are a multiple of eight long."""
LIMIT = 32
"""Longer sentences fill a tile well enough."""


def register() -> None:
    """Let Transformers know this attention; to do so twice does no harm."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attend as Transformers asks for it; queries and keys are (batch, heads, time, width)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    fits = query.shape[0] % TOGETHER == 0 and max(query.shape[2], key.shape[2]) <= LIMIT
    if not module.training or not fits:
        found: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling,
            is_causal=is_causal, **others,
        )  # fmt: skip
        return found
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    out = packed(
        query, key, value, attention_mask,
        causal=causal and attention_mask is None, dropout=dropout, scale=scaling,
    )  # fmt: skip
    return out.transpose(1, 2).contiguous(), None


def packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    causal: bool,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """Return attention, computed for several sentences at a time.

    Args:
        query: (batch, heads, time, width); the batch is a multiple of ``TOGETHER``.
        key: (batch, heads, length, width).
        value: Likewise.
        mask: True where a query may look: (batch, 1, time or 1, length).
        causal: Whether a query may only look at keys up to its own place.
        dropout: Share of the weights that are set to zero.
        scale: Of the scores; the usual one if None.
    """
    batch, heads, time, width = query.shape
    length, rows = key.shape[2], batch // TOGETHER
    together = torch.arange(TOGETHER, device=query.device)
    # (sentence, time, sentence, length): whether they are of one sentence
    seen = (together[:, None] == together)[:, None, :, None].expand(-1, time, -1, length)
    if mask is not None:
        open_to = mask[:, 0].expand(-1, time, -1).reshape(rows, TOGETHER, time, 1, length)
        seen = seen & open_to
    elif causal:
        places = torch.arange(length, device=query.device)
        seen = seen & (places <= places[:time, None])[None, :, None]
    out = torch.nn.functional.scaled_dot_product_attention(
        _joined(query, rows),
        _joined(key, rows),
        _joined(value, rows),
        attn_mask=seen.reshape(-1, 1, TOGETHER * time, TOGETHER * length),
        dropout_p=dropout,
        scale=scale,
    )
    parted = out.reshape(rows, heads, TOGETHER, time, width).transpose(1, 2)
    return parted.reshape(batch, heads, time, width)


def _joined(tensor: Tensor, rows: int) -> Tensor:
    """Put sentences behind each other: (rows, heads, sentences x time, width)."""
    _, heads, time, width = tensor.shape
    parts = tensor.reshape(rows, TOGETHER, heads, time, width).transpose(1, 2)
    return parts.reshape(rows, heads, TOGETHER * time, width)
