"""The parts of the THUMT document-level Transformer: its encoder and decoder, layer by layer.

Each layer is Marian's, with the gated attention to the context after self-attention.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import MarianConfig
from transformers.cache_utils import Cache
from transformers.masking_utils import create_bidirectional_mask
from transformers.models.marian.modeling_marian import (
    MarianAttention,
    MarianDecoderLayer,
    MarianEncoderLayer,
)
from transformers.utils.output_capturing import OutputRecorder

from boxpen.errors import NmtError
from boxpen.nmt.context.base import (
    ContextDecoder,
    ContextEncoder,
    ContextOutput,
    draw,
    fed_forward,
)
from boxpen.nmt.context.concat import given_or_none, joined

__all__ = ["ThumtDecoder", "ThumtEncoder"]


class ContextAttention(nn.Module):
    """Attention to the context with a gate on its residual connection.

    With s = attention(x, context): λ = σ(Wₓ x + Wₛ s), and the output is the layer norm of
    λ ⊙ x + (1 - λ) ⊙ s (section 2.4 of the paper; its code has no bias in the gate either). Their
    code leaves s without dropout, but keeps dropout in the frozen sublayers; here those run
    without, so s has it.

    Args:
        config: The shape of the model.
        heads: Of the attention.
        layer: Where a decoder caches its keys and values; None for an encoder.
    """

    def __init__(self, config: MarianConfig, heads: int, layer: int | None = None) -> None:
        super().__init__()
        width = config.d_model
        self.attention = MarianAttention(
            width,
            heads,
            dropout=config.attention_dropout,
            is_decoder=layer is not None,
            config=config,
            layer_idx=layer,
        )
        self.gate_input = nn.Linear(width, width, bias=False)
        self.gate_context = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.dropout = config.dropout

    def forward(
        self, x: Tensor, states: Tensor, mask: Tensor | None, past: Cache | None = None
    ) -> Tensor:
        """Return x, (batch, time, width), with what it takes from the states of the context."""
        s, _ = self.attention(x, key_value_states=states, attention_mask=mask, past_key_values=past)
        s = functional.dropout(s, self.dropout, self.training)
        gate = torch.sigmoid(self.gate_input(x) + self.gate_context(s))  # 1: only x
        found: Tensor = self.norm(gate * x + (1 - gate) * s)
        return found

    @torch.no_grad()
    def begin(self, norm: nn.LayerNorm) -> None:
        """Draw weights with which the sublayer changes nothing as yet.

        The attention puts out 0 and the gate is even, so the residual is x / 2; its own norm does
        not see the half. That norm takes the weights of the norm before and leaves it none: then x
        has mean 0 and variance 1, is so again, and gets the scale and the offset that the next
        sublayer expects.

        Args:
            norm: The one whose output is x.
        """
        draw(self)
        for part in (self.attention.out_proj, self.gate_input, self.gate_context):
            part.weight.zero_()
        self.norm.load_state_dict(norm.state_dict())
        norm.weight.fill_(1)
        norm.bias.zero_()


class ContextLayers(nn.Module):
    """Self-attention over the context: one layer of an encoder, or more."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(
            [MarianEncoderLayer(config) for _ in range(config.context_layers)]
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states of embedded tokens, (batch, context, width)."""
        seen = create_bidirectional_mask(config=self.config, inputs_embeds=x, attention_mask=mask)
        x = functional.dropout(x, self.config.dropout, self.training)
        for layer in self.layers:
            x = layer(x, seen)
        return x


class ThumtEncoderLayer(MarianEncoderLayer):  # type: ignore[misc]
    """A layer of the encoder: self-attention, attention to the context, feed-forward."""

    def __init__(self, config: MarianConfig) -> None:
        super().__init__(config)
        self.context_attention = ContextAttention(config, config.encoder_attention_heads)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        context_states: Tensor,
        context_mask: Tensor | None,
        **kwargs: Any,
    ) -> Tensor:
        """Return the states after this layer, (batch, source, width)."""
        x = hidden_states
        s, _ = self.self_attn(x, attention_mask=attention_mask, **kwargs)
        x = self.self_attn_layer_norm(x + functional.dropout(s, self.dropout, self.training))
        x = self.context_attention(x, context_states, context_mask)
        return fed_forward(self, x)


class ThumtDecoderLayer(MarianDecoderLayer):  # type: ignore[misc]
    """A layer of the decoder: self-attention, attention to context and source, feed-forward."""

    def __init__(self, config: MarianConfig, layer: int) -> None:
        super().__init__(config, layer_idx=layer)
        self.context_attention = ContextAttention(
            config, config.decoder_attention_heads, layer=config.decoder_layers + layer
        )

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        encoder_hidden_states: Tensor,
        encoder_attention_mask: Tensor | None,
        context_states: Tensor,
        context_mask: Tensor | None,
        past_key_values: Cache | None = None,
        use_cache: bool | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Tensor:
        """Return the states after this layer, (batch, target, width)."""
        x, past = hidden_states, past_key_values
        s, _ = self.self_attn(x, past_key_values=past, attention_mask=attention_mask, **kwargs)
        x = self.self_attn_layer_norm(x + functional.dropout(s, self.dropout, self.training))
        x = self.context_attention(x, context_states, context_mask, past)
        s, _ = self.encoder_attn(
            x,
            key_value_states=encoder_hidden_states,
            attention_mask=encoder_attention_mask,
            past_key_values=past,
            **kwargs,
        )
        x = self.encoder_attn_layer_norm(x + functional.dropout(s, self.dropout, self.training))
        return fed_forward(self, x)


class ThumtEncoder(ContextEncoder):
    """The encoder of the source, and of the context beside it."""

    _can_record_outputs = {  # noqa: RUF012
        "hidden_states": ThumtEncoderLayer,
        "attentions": OutputRecorder(MarianAttention, index=1, layer_name="self_attn"),
    }

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.context_encoder = ContextLayers(config)
        self.layers = nn.ModuleList(ThumtEncoderLayer(config) for _ in range(config.encoder_layers))
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> ContextOutput:
        """Return the states of source and context; see ``ConcatEncoder`` for the arguments.

        A context that is longer than the positions loses its beginning.
        """
        if input_ids is None:
            raise NmtError("the encoder was given no input_ids, expected the tokens of the source")
        context, mask = given_or_none(
            context_input_ids, context_attention_mask, input_ids, self.config.eos_token_id
        )
        nothing = input_ids[:, :0]
        context, mask = joined(
            context, mask, nothing, nothing,
            pad=self.config.pad_token_id, most=self.config.max_position_embeddings,
        )  # fmt: skip
        embedded = self.embedded(context) + self.embed_positions(context.shape)
        states = self.context_encoder(embedded, mask)
        return self.with_context(input_ids, attention_mask, states, mask, **kwargs)


class ThumtDecoder(ContextDecoder):
    """The decoder, which attends to the context and to the source."""

    layer = ThumtDecoderLayer
