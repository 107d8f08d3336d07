"""Attention for training on short sentences: several of them share a tile.

A subtitle has ten tokens. The kernels behind scaled_dot_product_attention work on tiles of 64 or
128 queries, so nearly all of a tile is padding, and attention takes a third of a step. Here several
sentences are packed into a row, and a mask keeps them apart, so that there are far fewer tiles.
Only attention sees this; positions, norms and everything else are unchanged.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["MOST", "NAME", "pack", "packed", "together"]

NAME = "boxpen_packed"
TILE = 64
MOST = 8
"""Most sentences in a row; batches are multiples of it."""


def together(length: float) -> int:
    """Return how many sentences of a mean length share a row: a power of two that fills a tile.

    It is one number for a corpus: if it hung on the batch, layers would be compiled again.
    """
    number = MOST
    while number > 1 and number * length > TILE:
        number //= 2
    return number


def pack(model: Any, source: float, target: float) -> None:
    """Let the sentences of a model share rows in training.

    Args:
        model: An encoder and a decoder of Transformers.
        source: Mean length of its sources.
        target: Of its targets.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, _mask)
    model.set_attn_implementation(NAME)
    for part, length in ((model.get_encoder(), source), (model.get_decoder(), target)):
        for module in part.modules():
            if hasattr(module, "is_causal"):
                module.together = together(length)


def _mask(**asked: Any) -> Tensor | None:
    """Return a mask as Transformers asks for it.

    Its own function looks whether a mask hides anything at all, and for the answer the whole GPU
    is waited for, three times a step. Here nobody looks: what fills up a source is hidden, even if
    nothing does, and a target is filled up behind, where no token before it can see.
    """
    from transformers.masking_utils import sdpa_mask

    given: Tensor | None = asked.get("attention_mask")
    if torch.is_grad_enabled() and given is not None:
        if asked.get("allow_is_bidirectional_skip"):
            return given[:, None, None].bool()
        if asked.get("allow_is_causal_skip") and asked["q_length"] == asked["kv_length"]:
            return None
    found: Tensor | None = sdpa_mask(**asked)
    return found


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

    together = module.together
    weighs = attention_mask is not None and attention_mask.dtype != torch.bool
    if not module.training or together == 1 or query.shape[0] % together or weighs:
        found: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling,
            is_causal=is_causal, **others,
        )  # fmt: skip
        return found
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    out = packed(
        query, key, value, attention_mask, together,
        causal=causal and attention_mask is None, dropout=dropout, scale=scaling,
    )  # fmt: skip
    return out.transpose(1, 2).contiguous(), None


def packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    together: int,
    *,
    causal: bool,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """Return attention, computed for several sentences at a time.

    Args:
        query: (batch, heads, time, width).
        key: (batch, heads, length, width).
        value: Likewise.
        mask: True where a query may look: (batch, 1, time or 1, length).
        together: How many; the batch is a multiple of it.
        causal: Whether a query may only look at keys up to its own place.
        dropout: Share of the weights that are set to zero.
        scale: Of the scores; the usual one if None.
    """
    batch, heads, time, width = query.shape
    length, rows = key.shape[2], batch // together
    number = torch.arange(together, device=query.device)
    # (sentence, time, sentence, length): whether they are of one sentence
    seen = (number[:, None] == number)[:, None, :, None].expand(-1, time, -1, length)
    if mask is not None:
        open_to = mask[:, 0].expand(-1, time, -1).reshape(rows, together, time, 1, length)
        seen = seen & open_to
    elif causal:
        places = torch.arange(length, device=query.device)
        seen = seen & (places <= places[:time, None])[None, :, None]
    out = torch.nn.functional.scaled_dot_product_attention(
        _joined(query, together),
        _joined(key, together),
        _joined(value, together),
        attn_mask=seen.reshape(-1, 1, together * time, together * length),
        dropout_p=dropout,
        scale=scale,
    )
    parted = out.reshape(rows, heads, together, time, width).transpose(1, 2)
    return parted.reshape(batch, heads, time, width)


def _joined(tensor: Tensor, together: int) -> Tensor:
    """Put sentences behind each other: (rows, heads, sentences x time, width)."""
    batch, heads, time, width = tensor.shape
    parts = tensor.reshape(batch // together, together, heads, time, width).transpose(1, 2)
    return parts.reshape(batch // together, heads, together * time, width)
