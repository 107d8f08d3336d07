"""The parts of a BERT-fused model: Marian's encoder and decoder, with an attention to BERT.

Every layer looks in two directions at once and takes the mean of what it sees (Zhu et al. 2020,
section 4): an encoder layer at its own sentence and at what BERT made of it, a decoder
layer at the encoder and at BERT. Names of weights are Marian's, so that a trained sentence-level
model fits in; ``bert_attn`` and ``bert`` are new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from transformers import BertModel
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.marian.modeling_marian import (
    MarianAttention,
    MarianDecoder,
    MarianDecoderLayer,
    MarianEncoder,
    MarianEncoderLayer,
)
from transformers.utils.output_capturing import OutputRecorder

from boxpen.errors import NmtError

if TYPE_CHECKING:
    from boxpen.nmt.context.bert_fused import BertFusedConfig

__all__ = ["BertAttention", "BertFusedDecoder", "BertFusedEncoder", "EncodedWithBert", "shares"]


def shares(drawn: float, p_net: float) -> tuple[float, float]:
    """Return the share of a layer's own attention and that of the attention to BERT (drop-net).

    Args:
        drawn: Uniform in [0, 1].
        p_net: How often one of the two stands alone, either as often as the other.
    """
    if drawn < p_net / 2:
        return 0.0, 1.0
    if drawn > 1 - p_net / 2:
        return 1.0, 0.0
    return 0.5, 0.5


@dataclass
class EncodedWithBert(BaseModelOutput):  # type: ignore[misc]
    """What an encoder returns: its states, and those of BERT, at which the decoder looks too.

    ``generate`` repeats all of them for the beams.

    Attributes:
        bert_states: (batch, BERT's tokens, BERT's width).
        bert_attention_mask: 1 for tokens and 0 for padding, (batch, BERT's tokens).
    """

    bert_states: Tensor | None = None
    bert_attention_mask: Tensor | None = None


class BertAttention(MarianAttention):  # type: ignore[misc]
    """Attention whose keys and values are BERT's states, of BERT's width."""

    def __init__(self, config: BertFusedConfig, heads: int, layer_idx: int | None = None) -> None:
        super().__init__(
            config.d_model,
            heads,
            dropout=config.attention_dropout,
            is_decoder=layer_idx is not None,
            config=config,
            layer_idx=layer_idx,
        )
        self.k_proj = nn.Linear(config.bert_config.hidden_size, config.d_model)
        self.v_proj = nn.Linear(config.bert_config.hidden_size, config.d_model)

    def draw(self) -> None:
        """Draw the weights anew, as where a Transformer is trained from scratch.

        Transformers draws them with the standard deviation 0.02, with which keys and queries of
        models as narrow as ours hardly tell one place from another.
        """
        for part in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)


class BertFusedEncoderLayer(MarianEncoderLayer):  # type: ignore[misc]
    """½ (attention to the sentence + attention to BERT), then the feed-forward network."""

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        self.bert_attn = BertAttention(config, config.encoder_attention_heads)
        self.p_net = config.p_net

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        bert_states: Tensor,
        bert_mask: Tensor | None,
        **others: Any,
    ) -> Tensor:
        """Return the states of the next layer, (batch, source, width)."""
        own, _ = self.self_attn(hidden_states, attention_mask=attention_mask, **others)
        bert, _ = self.bert_attn(
            hidden_states, key_value_states=bert_states, attention_mask=bert_mask, **others
        )
        fused = self.self_attn_layer_norm(hidden_states + _mixed(self, own, bert))
        return _feed_forward(self, fused)


class BertFusedDecoderLayer(MarianDecoderLayer):  # type: ignore[misc]
    """Attention to the words before, ½ (to the encoder + to BERT), the feed-forward network."""

    def __init__(self, config: BertFusedConfig, layer_idx: int) -> None:
        super().__init__(config, layer_idx)
        # Keys of BERT are remembered behind those of the encoder: see _room_for_bert.
        place = config.decoder_layers + layer_idx
        self.bert_attn = BertAttention(config, config.decoder_attention_heads, place)
        self.p_net = config.p_net

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        encoder_hidden_states: Tensor,
        bert_states: Tensor,
        bert_mask: Tensor | None,
        encoder_attention_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool | None = None,  # noqa: ARG002
        **others: Any,
    ) -> Tensor:
        """Return the states of the next layer, (batch, target, width)."""
        before, _ = self.self_attn(
            hidden_states,
            past_key_values=past_key_values,
            attention_mask=attention_mask,
            **others,
        )
        before = dropout(before, p=self.dropout, training=self.training)
        hidden_states = self.self_attn_layer_norm(hidden_states + before)
        source, _ = self.encoder_attn(
            hidden_states,
            key_value_states=encoder_hidden_states,
            attention_mask=encoder_attention_mask,
            past_key_values=past_key_values,
            **others,
        )
        bert, _ = self.bert_attn(
            hidden_states,
            key_value_states=bert_states,
            attention_mask=bert_mask,
            past_key_values=past_key_values,
            **others,
        )
        fused = self.encoder_attn_layer_norm(hidden_states + _mixed(self, source, bert))
        return _feed_forward(self, fused)


class BertFusedEncoder(MarianEncoder):  # type: ignore[misc]
    """Marian's encoder with BERT inside, which is never trained and never drops anything out."""

    _can_record_outputs = {  # noqa: RUF012
        "hidden_states": BertFusedEncoderLayer,
        "attentions": OutputRecorder(MarianAttention, index=1, layer_name="self_attn"),
    }

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(
            BertFusedEncoderLayer(config) for _ in range(config.encoder_layers)
        )
        self.bert = BertModel(config.bert_config, add_pooling_layer=False)
        self.post_init()
        self.train()  # freezes BERT

    def train(self, mode: bool = True) -> BertFusedEncoder:
        """Set the encoder to training or not; BERT stays frozen, and without dropout.

        Loading sets every weight free again, and ends with ``eval``, which comes here.
        """
        super().train(mode)
        self.bert.requires_grad_(False).eval()
        return self

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        bert_input_ids: Tensor | None = None,
        bert_attention_mask: Tensor | None = None,
        return_dict: bool | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> EncodedWithBert:
        """Return the states of a source, and those of BERT.

        Args:
            input_ids: Source, (batch, source).
            attention_mask: 1 for its tokens and 0 for padding.
            inputs_embeds: Embeddings in place of the source.
            bert_input_ids: [CLS] context [SEP] source [SEP] in BERT's tokens, (batch, its length).
            bert_attention_mask: 1 for them and 0 for what fills up; by BERT's padding if None.
            return_dict: The result is never a tuple, which could not name BERT's states.
            **kwargs: What Marian's encoder takes.

        Raises:
            NmtError: If BERT has nothing to read, more than it can take, or another number of
                rows than the source has.
        """
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids) * self.embed_scale
        ids = self._readable(bert_input_ids, rows=len(inputs_embeds))
        if bert_attention_mask is None:
            bert_attention_mask = (ids != self.bert.config.pad_token_id).long()
        with torch.no_grad():
            read = self.bert(input_ids=ids, attention_mask=bert_attention_mask)
        states = read.last_hidden_state
        encoded = super().forward(
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            bert_states=states,
            bert_mask=_mask(self, inputs_embeds, states, bert_attention_mask),
            **kwargs,
        )
        return EncodedWithBert(
            last_hidden_state=encoded.last_hidden_state,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions,
            bert_states=states,
            bert_attention_mask=bert_attention_mask,
        )

    def _readable(self, ids: Tensor | None, rows: int) -> Tensor:
        if ids is None:
            raise NmtError(
                "a BERT-fused model was given no bert_input_ids, expected what BERT reads "
                "(boxpen.nmt.context.bert_reading.BertReader makes it)"
            )
        most = self.bert.config.max_position_embeddings
        if ids.ndim != 2 or len(ids) != rows or not 0 < ids.shape[1] <= most:
            raise NmtError(
                f"bert_input_ids have the shape {tuple(ids.shape)}, expected {rows} rows, as the "
                f"source has, of 1 to {most} tokens, as many as this BERT takes"
            )
        return ids


class BertFusedDecoder(MarianDecoder):  # type: ignore[misc]
    """Marian's decoder, whose layers look at the encoder and at BERT."""

    _can_record_outputs = {  # noqa: RUF012
        "hidden_states": BertFusedDecoderLayer,
        "attentions": OutputRecorder(MarianAttention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(MarianAttention, index=1, layer_name="encoder_attn"),
    }

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(
            BertFusedDecoderLayer(config, number) for number in range(config.decoder_layers)
        )
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        bert_states: Tensor | None = None,
        bert_attention_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the states behind each word of a target, as Marian's decoder does.

        Args:
            input_ids: Target after its start token, (batch, target).
            bert_states: What BERT made of the context and the source.
            bert_attention_mask: 1 for its tokens and 0 for padding.
            past_key_values: The decoder's cache; the target continues from there.
            inputs_embeds: Embeddings in place of the target.
            use_cache: Whether to remember; as the configuration says if None.
            **kwargs: What else Marian's decoder takes.
        """
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if use_cache is None:
            use_cache = self.config.use_cache
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(), DynamicCache())
        if past_key_values is not None:
            _room_for_bert(past_key_values, self.config.decoder_layers)
        return super().forward(
            inputs_embeds=inputs_embeds,
            past_key_values=past_key_values,
            use_cache=use_cache,
            bert_states=bert_states,
            bert_mask=_mask(self, inputs_embeds, bert_states, bert_attention_mask),
            **kwargs,
        )


def _mixed(layer: Any, own: Tensor, bert: Tensor) -> Tensor:
    """Return the mean of two attentions, or in training sometimes one of them.

    Both are computed either way: processes that train together wait for a gradient of every
    weight, if only of zeros. Each has its own dropout, as in the authors' code.
    """
    of_own, of_bert = 0.5, 0.5
    if layer.training:
        of_own, of_bert = shares(float(torch.rand(())), layer.p_net)
    own = dropout(own, p=layer.dropout, training=layer.training)
    bert = dropout(bert, p=layer.dropout, training=layer.training)
    return of_own * own + of_bert * bert


def _feed_forward(layer: Any, hidden_states: Tensor) -> Tensor:
    inner = layer.activation_fn(layer.fc1(hidden_states))
    inner = dropout(inner, p=layer.activation_dropout, training=layer.training)
    out = dropout(layer.fc2(inner), p=layer.dropout, training=layer.training)
    normed: Tensor = layer.final_layer_norm(hidden_states + out)
    return normed


def _mask(part: Any, asking: Tensor, states: Tensor | None, mask: Tensor | None) -> Tensor | None:
    """Return which of BERT's states each place may look at, in the form attention wants it."""
    made: Tensor | None = create_bidirectional_mask(
        config=part.config,
        inputs_embeds=asking,
        attention_mask=mask,
        encoder_hidden_states=states,
    )
    return made


def _room_for_bert(cache: EncoderDecoderCache, layers: int) -> None:
    """Let a cache of ``layers`` cross-attentions remember twice as many.

    BERT's keys and values are those of a second cross-attention; ``generate`` makes a cache that
    has room for one of each layer.
    """
    made = cache.cross_attention_cache.layer_class_to_replicate or DynamicLayer
    places = cache.cross_attention_cache.layers
    places.extend(made() for _ in range(2 * layers - len(places)))
