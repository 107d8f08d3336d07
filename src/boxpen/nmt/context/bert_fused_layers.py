"""The parts of a BERT-fused model: Marian's encoder and decoder, with an attention to BERT.

Every layer attends in two directions at once and takes the mean (Zhu et al. 2020, section 4): an
encoder layer to its own sentence and to BERT's states of it, a decoder layer to the encoder and to
BERT. Names of weights are Marian's, so that a trained sentence-level model fits in; ``bert_attn``
and ``bert`` are new.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from transformers import BertModel
from transformers.cache_utils import EncoderDecoderCache
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
    WideAttention,
    fed_forward,
)

__all__ = ["BertFusedDecoder", "BertFusedEncoder", "shares"]


def shares(drawn: float, p_net: float) -> tuple[float, float]:
    """Return the share of a layer's own attention and that of the attention to BERT (drop-net).

    Args:
        drawn: Uniform in [0, 1].
        p_net: How often one of the two is taken alone, either as often as the other.
    """
    if drawn < p_net / 2:
        return 0.0, 1.0
    if drawn > 1 - p_net / 2:
        return 1.0, 0.0
    return 0.5, 0.5


class BertFusedEncoderLayer(MarianEncoderLayer):  # type: ignore[misc]
    """½ (attention to the sentence + attention to BERT), then the feed-forward network."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        width = config.bert_config.hidden_size
        self.bert_attn = WideAttention(config, width, config.encoder_attention_heads)
        self.p_net = config.p_net

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
        own, _ = self.self_attn(x, attention_mask=attention_mask, **kwargs)
        bert, _ = self.bert_attn(
            x, key_value_states=context_states, attention_mask=context_mask, **kwargs
        )
        return fed_forward(self, self.self_attn_layer_norm(x + _mixed(self, own, bert)))


class BertFusedDecoderLayer(MarianDecoderLayer):  # type: ignore[misc]
    """Attention to the words before, ½ (to the encoder + to BERT), the feed-forward network."""

    def __init__(self, config: Any, layer: int) -> None:
        super().__init__(config, layer)
        width, place = config.bert_config.hidden_size, config.decoder_layers + layer
        self.bert_attn = WideAttention(config, width, config.decoder_attention_heads, place)
        self.p_net = config.p_net

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        encoder_hidden_states: Tensor,
        encoder_attention_mask: Tensor | None,
        context_states: Tensor,
        context_mask: Tensor | None,
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Tensor:
        """Return the states after this layer, (batch, target, width)."""
        x, kwargs["past_key_values"] = hidden_states, past_key_values
        before, _ = self.self_attn(x, attention_mask=attention_mask, **kwargs)
        x = self.self_attn_layer_norm(x + dropout(before, self.dropout, self.training))
        source, _ = self.encoder_attn(
            x,
            key_value_states=encoder_hidden_states,
            attention_mask=encoder_attention_mask,
            **kwargs,
        )
        bert, _ = self.bert_attn(
            x, key_value_states=context_states, attention_mask=context_mask, **kwargs
        )
        return fed_forward(self, self.encoder_attn_layer_norm(x + _mixed(self, source, bert)))


class BertFusedEncoder(ContextEncoder):
    """Marian's encoder with BERT inside, which is never trained and has no dropout."""

    _can_record_outputs = {  # noqa: RUF012
        "hidden_states": BertFusedEncoderLayer,
        "attentions": OutputRecorder(MarianAttention, index=1, layer_name="self_attn"),
    }

    def __init__(self, config: Any) -> None:
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
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        bert_input_ids: Tensor | None = None,
        bert_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> ContextOutput:
        """Return the states of a source, and those of BERT.

        Args:
            input_ids: Source, (batch, source).
            attention_mask: 1 for its tokens and 0 for padding.
            bert_input_ids: [CLS] context [SEP] source [SEP] in BERT's tokens, (batch, its length).
            bert_attention_mask: 1 for them and 0 for padding; by BERT's padding token if None.
            **kwargs: What Marian's encoder takes.

        Raises:
            NmtError: If BERT has nothing to read, more than it can take, or another number of
                rows than the source has.
        """
        ids, rows, most = bert_input_ids, len(input_ids), self.bert.config.max_position_embeddings
        if ids is None:
            raise NmtError(
                "a BERT-fused model was given no bert_input_ids, expected what BERT reads "
                "(boxpen.nmt.data.bert_reading.BertReader makes it)"
            )
        if ids.ndim != 2 or len(ids) != rows or not 0 < ids.shape[1] <= most:
            raise NmtError(
                f"bert_input_ids have the shape {tuple(ids.shape)}, expected {rows} rows, as the "
                f"source has, of 1 to {most} tokens, as many as this BERT takes"
            )
        mask = bert_attention_mask
        if mask is None:
            mask = (ids != self.bert.config.pad_token_id).long()
        with torch.no_grad():
            states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.with_context(input_ids, attention_mask, states, mask, **kwargs)


class BertFusedDecoder(ContextDecoder):
    """Marian's decoder, whose layers attend to the encoder and to BERT."""

    layer = BertFusedDecoderLayer


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
