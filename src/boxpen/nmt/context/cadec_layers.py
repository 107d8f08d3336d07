"""The second decoder of CADec: between source attention and feed-forward, it reads the draft.

y₀ … yₜ ── self-attention ── source attention ── draft attention ── feed-forward ── × N
                              │                   │
         source states of the current and     decoder states of the draft and of the
         the context sentences                context's translations
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MarianConfig
from transformers import initialization as init
from transformers.activations import ACT2FN
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.models.marian.modeling_marian import (
    MarianAttention,
    MarianPreTrainedModel,
    MarianSinusoidalPositionalEmbedding,
)

from boxpen.nmt.context.base import WideAttention, cross_mask, fed_forward

__all__ = ["CADecDecoder", "target_vocabulary"]

TRACE = -5.0
"""What is added to the scores of the context's words at first: they weigh e⁵ = 150 times less."""


def target_vocabulary(config: MarianConfig) -> int:
    """Return how many tokens the target has."""
    shared = config.share_encoder_decoder_embeddings
    return int(config.vocab_size if shared else config.decoder_vocab_size)


class CADecDecoder(MarianPreTrainedModel):  # type: ignore[misc]
    """A stack of layers that read a prefix, the source side and the target side.

    Args:
        config: The model's shape.
        source_width: Of the states of the source side.
        target_width: Of the states of the target side.
    """

    def __init__(self, config: Any, source_width: int, target_width: int) -> None:
        super().__init__(config)
        self.embed_scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.embed_tokens = nn.Embedding(
            target_vocabulary(config), config.d_model, config.pad_token_id
        )
        self.embed_positions = MarianSinusoidalPositionalEmbedding(
            config.max_position_embeddings, config.d_model
        )
        self.layers = nn.ModuleList(
            CADecLayer(config, number, source_width, target_width)
            for number in range(config.cadec_layers)
        )
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        source: tuple[Tensor, Tensor],
        target: tuple[Tensor, Tensor],
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool = False,
    ) -> tuple[Tensor, EncoderDecoderCache | None]:
        """Return the states of the top layer, and what is remembered.

        Args:
            input_ids: Target after its start token, (batch, time). What fills it up stands
                behind it, where no word of it looks.
            source: States, (batch, source, source width), and their mask, (batch, source).
            target: States, (batch, target, target width), and their mask, (batch, target).
            past_key_values: The cache; the prefix continues from there.
            use_cache: Whether to remember.
        """
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        past = past_key_values.get_seq_length() if past_key_values is not None else 0
        states = self.embed_tokens(input_ids) * self.embed_scale
        masks = {
            "causal_mask": create_causal_mask(
                config=self.config,
                inputs_embeds=states,
                attention_mask=None,
                past_key_values=past_key_values and past_key_values.self_attention_cache,
            ),
            "source_mask": cross_mask(self.config, states, *source),
            "target_mask": cross_mask(self.config, states, *target),
        }
        states = states + self.embed_positions(states.shape[:-1], past)
        states = nn.functional.dropout(states, self.config.dropout, self.training)
        for layer in self.layers:
            states = layer(states, source[0], target[0], past_key_values=past_key_values, **masks)
        return states, past_key_values

    @torch.no_grad()
    def begin_as(self, decoder: Any) -> None:
        """Take over the layers of another decoder, and read no draft at first.

        Source attention reads the states as before, whatever their distance. What the draft adds
        is 0, and the norm behind it takes over the scale of the norm before, which is left with
        1 and 0: so long as there is no context, this decoder then begins exactly as the other.
        The other has learnt to look for words in one sentence. It would take those of the context
        for words to be translated, so the context is hidden from it but for a trace, from which
        it can be learnt.
        """
        self.embed_tokens.load_state_dict(decoder.embed_tokens.state_dict())
        layers: Any = self.layers
        for layer, old in zip(layers, decoder.layers, strict=False):
            for name in ("self_attn", "self_attn_layer_norm", "fc1", "fc2", "final_layer_norm"):
                getattr(layer, name).load_state_dict(getattr(old, name).state_dict())
            for name in ("q_proj", "out_proj"):
                part = getattr(layer.source_attn, name)
                part.load_state_dict(getattr(old.encoder_attn, name).state_dict())
            for name in ("k_proj", "v_proj"):
                wide, narrow = getattr(layer.source_attn, name), getattr(old.encoder_attn, name)
                wide.weight.zero_()
                wide.weight[:, : narrow.in_features] = narrow.weight
                wide.bias.copy_(narrow.bias)
            for weight in layer.target_attn.out_proj.parameters():
                weight.zero_()
            layer.target_attn_layer_norm.load_state_dict(old.encoder_attn_layer_norm.state_dict())
            layer.source_attn_layer_norm.reset_parameters()
            layer.source_attn.distance_bias.zero_()[:, 1:] = TRACE

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the weights as for a Transformer that is trained from scratch (Glorot & Bengio)."""
        super()._init_weights(module)
        if isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.Embedding) and module.weight.requires_grad:
            init.normal_(module.weight, std=self.config.d_model**-0.5)


class CADecLayer(GradientCheckpointingLayer):  # type: ignore[misc]
    """Self-attention, attention to either side, feed-forward; each with a residual, then a norm."""

    def __init__(self, config: Any, number: int, source_width: int, target_width: int) -> None:
        super().__init__()
        width = config.d_model
        self.dropout, self.activation_dropout = config.dropout, config.activation_dropout
        self.activation_fn = ACT2FN[config.activation_function]
        self.self_attn = MarianAttention(
            width,
            config.decoder_attention_heads,
            dropout=config.attention_dropout,
            is_decoder=True,
            is_causal=True,
            config=config,
            layer_idx=number,
        )
        self.self_attn_layer_norm = nn.LayerNorm(width)
        # Two cross-attentions per layer, each with its own place in the cache.
        heads = config.decoder_attention_heads
        self.source_attn = DistanceAttention(config, source_width, heads, 2 * number)
        self.source_attn_layer_norm = nn.LayerNorm(width)
        self.target_attn = WideAttention(config, target_width, heads, 2 * number + 1)
        self.target_attn_layer_norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, config.decoder_ffn_dim)
        self.fc2 = nn.Linear(config.decoder_ffn_dim, width)
        self.final_layer_norm = nn.LayerNorm(width)

    def forward(
        self,
        states: Tensor,
        source_states: Tensor,
        target_states: Tensor,
        causal_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
    ) -> Tensor:
        """Return states, (batch, time, width), one layer up."""
        cache = {"past_key_values": past_key_values}
        new, _ = self.self_attn(states, attention_mask=causal_mask, **cache)
        states = self.self_attn_layer_norm(states + self._dropped(new))
        new, _ = self.source_attn(states, source_states, attention_mask=source_mask, **cache)
        states = self.source_attn_layer_norm(states + self._dropped(new))
        new, _ = self.target_attn(states, target_states, attention_mask=target_mask, **cache)
        states = self.target_attn_layer_norm(states + self._dropped(new))
        return fed_forward(self, states)

    def _dropped(self, new: Tensor) -> Tensor:
        return nn.functional.dropout(new, self.dropout, self.training)


class DistanceAttention(WideAttention):
    """Attention to sentences of several distances, with a bias for each.

    States end with a one-hot vector of their distance. Each head adds to the scores of a state the
    bias of its distance, whatever the query.
    """

    def __init__(self, config: Any, width: int, heads: int, place: int) -> None:
        super().__init__(config, width, heads, place)
        self.distance_bias = nn.Parameter(torch.zeros(heads, width - config.d_model))

    def forward(
        self, states: Tensor, others: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> Any:
        """Return what is read of the other states, (batch, time, width)."""
        distances = others[..., -self.distance_bias.shape[1] :]
        bias = (distances @ self.distance_bias.T).transpose(1, 2)[:, :, None]
        if attention_mask is None:
            mask = bias  # (batch, heads, 1, length)
        elif attention_mask.dtype == torch.bool:
            mask = bias.masked_fill(~attention_mask, -torch.inf)
        else:
            mask = bias + attention_mask
        return super().forward(states, others, attention_mask=mask, **kwargs)
