"""BERT-fused NMT: every layer of a Transformer also looks at what a frozen BERT made of the text.

The model of Zhu et al. (2020), "Incorporating BERT into Neural Machine Translation" (ICLR). For
documents BERT reads the sentence with the one before it, and nothing else changes: the context
comes in through BERT alone.

    [CLS] context [SEP] source [SEP] ── BERT (frozen) ── H_B ──┬───────────────────┐
                                                               │ ½                 │ ½
    source   x₁ … xₛ ── embedding ── ½ attention to itself + … ┘ ── FFN ── H_E     │
    target   y₀ … yₜ ── embedding ── attention to itself ── ½ attention to H_E + … ┘ ── FFN

The attentions to BERT are drawn at random, as in the paper; a trained model is disturbed when the
mean is taken with them, and must be trained on. What helps it over is *drop-net*: with the rate
p_net a layer takes, instead of the mean, one of its two attentions alone, either as often. The
trained attention alone is a way on which the sentence-level model still works, and the new one
alone must learn to carry a layer by itself, so that the model cannot leave BERT aside. Translation
always takes the mean. The authors train with p_net = 1 (``--encoder-bert-dropout-ratio 0.5`` in
github.com/bert-nmt/bert-nmt, where the ratio is half of p_net): never with the mean.

As in their code, dropout acts on either attention before they are mixed, every layer draws for
itself, and BERT reads both sentences as its segment 0. New weights are Xavier-uniform. BERT runs
without dropout in training too, and its weights are saved with the model.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import BertConfig, BertModel, MarianConfig, MarianMTModel
from transformers.models.marian.modeling_marian import MarianModel

from boxpen.errors import NmtError
from boxpen.nmt.context.base import MarianWithContext, draw, register_model
from boxpen.nmt.context.bert_fused_layers import BertFusedDecoder, BertFusedEncoder

__all__ = ["BertFusedConfig", "BertFusedForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    register_model(BertFusedForConditionalGeneration)


class BertFusedConfig(MarianConfig):  # type: ignore[misc]
    """The shape of a model: Marian's settings, and two more.

    Attributes:
        bert_config: The shape of BERT: a BertConfig, or its settings as a dictionary.
        p_net: How often a layer takes one of its attentions alone in training, 0 to 1.

    Raises:
        NmtError: If BERT is not an encoder, or p_net is out of range.
    """

    model_type = "bert_fused"
    sub_configs_defaults = {"bert_config": BertConfig}  # noqa: RUF012

    bert_config: Any = None
    p_net: float | int = 1.0

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the settings."""
        if self.bert_config is None or isinstance(self.bert_config, dict):
            self.bert_config = BertConfig(**(self.bert_config or {}))
        super().__post_init__(**kwargs)
        if not isinstance(self.bert_config, BertConfig) or self.bert_config.is_decoder:
            found = getattr(self.bert_config, "model_type", type(self.bert_config).__name__)
            raise NmtError(
                f"the bert_config of a BERT-fused model is that of a {found} with is_decoder="
                f"{getattr(self.bert_config, 'is_decoder', None)}, expected a BERT encoder"
            )
        if not 0 <= self.p_net <= 1:
            raise NmtError(f"p_net is {self.p_net}, expected a rate from 0 to 1")


class BertFusedForConditionalGeneration(MarianWithContext):
    """The translation model."""

    config_class = BertFusedConfig
    reads = frozenset({"bert_input_ids"})

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        # Made a second time, so that a seed draws the same weights as in earlier versions.
        self.model = MarianModel(config)
        self.model.encoder = BertFusedEncoder(config)
        self.model.decoder = BertFusedDecoder(config)
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls, base: MarianMTModel, bert: BertModel, p_net: float = 1.0
    ) -> BertFusedForConditionalGeneration:
        """Make a model from a trained sentence-level model and a BERT of the source language.

        The attentions to BERT are new and random (see ``torch.manual_seed``). The two given models
        are neither changed nor shared.

        Args:
            base: All its weights are copied.
            bert: Likewise, except those above its last layer.
            p_net: How often a layer takes one of its attentions alone in training.

        Raises:
            NmtError: If the base is not a plain Marian model, or p_net is out of range.
        """
        model: BertFusedForConditionalGeneration = cls.with_weights_of(
            base, bert_config=bert.config.to_dict(), p_net=p_net
        )
        weights = bert.state_dict()
        model.bert.load_state_dict({n: w for n, w in weights.items() if not n.startswith("pooler")})
        layers: list[Any] = [*model.model.encoder.layers, *model.model.decoder.layers]
        for attention in (layer.bert_attn for layer in layers):
            for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                draw(getattr(attention, part))
        return model

    @property
    def bert(self) -> BertModel:
        """BERT as it is in the model."""
        return self.model.encoder.bert

    def context_parameters(self) -> list[nn.Parameter]:
        """Return what the second step of training learns: everything but BERT.

        The sentence-level weights go on learning, for they must get used to the mean.
        """
        self.bert.requires_grad_(False)  # loading sets all weights free
        return super().context_parameters()
