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

import copy
from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, BertConfig, BertModel, MarianMTModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.models.marian.configuration_marian import MarianConfig
from transformers.models.marian.modeling_marian import MarianModel

from boxpen.errors import NmtError
from boxpen.nmt.context.bert_fused_layers import (
    BertAttention,
    BertFusedDecoder,
    BertFusedEncoder,
    EncodedWithBert,
)

__all__ = ["BertFusedConfig", "BertFusedForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(BertFusedConfig.model_type, BertFusedConfig, exist_ok=True)
    AutoModelForSeq2SeqLM.register(
        BertFusedConfig, BertFusedForConditionalGeneration, exist_ok=True
    )


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


class BertFusedModel(MarianModel):  # type: ignore[misc]
    """The encoder and the decoder, without the output layer."""

    config_class = BertFusedConfig

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        self.encoder = BertFusedEncoder(config)
        self.decoder = BertFusedDecoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        bert_input_ids: Tensor | None = None,
        bert_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the states of the decoder, as Marian does.

        Raises:
            NmtError: If ``encoder_outputs`` are not those of this encoder.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(
                input_ids=input_ids,
                attention_mask=attention_mask,
                inputs_embeds=inputs_embeds,
                bert_input_ids=bert_input_ids,
                bert_attention_mask=bert_attention_mask,
            )
        if not isinstance(encoder_outputs, EncodedWithBert):
            raise NmtError(
                f"a BERT-fused model was given a {type(encoder_outputs).__name__} as its "
                "encoder_outputs, expected what its own encoder returns, with BERT's states"
            )
        return super().forward(
            attention_mask=attention_mask,
            encoder_outputs=encoder_outputs,
            bert_states=encoder_outputs.bert_states,
            bert_attention_mask=encoder_outputs.bert_attention_mask,
            **kwargs,
        )


class BertFusedForConditionalGeneration(MarianMTModel):  # type: ignore[misc]
    """The translation model."""

    config_class = BertFusedConfig
    reads = frozenset({"bert_input_ids"})
    """What it takes beside Marian's inputs, each with its mask."""

    def __init__(self, config: BertFusedConfig) -> None:
        super().__init__(config)
        self.model = BertFusedModel(config)
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls, base: MarianMTModel, bert: BertModel, p_net: float = 1.0
    ) -> BertFusedForConditionalGeneration:
        """Make a model from a trained sentence-level model and a BERT of the source language.

        The attentions to BERT are new and random (see ``torch.manual_seed``). The two given models
        are neither changed nor shared.

        Args:
            base: All its weights are taken over.
            bert: Likewise; what it has above its last layer is left out.
            p_net: How often a layer takes one of its attentions alone in training.

        Raises:
            NmtError: If the two have the wrong type, or p_net is out of range.
        """
        if not isinstance(base, MarianMTModel) or not isinstance(bert, BertModel):
            raise NmtError(
                f"a BERT-fused model cannot be made of a {type(base).__name__} and a "
                f"{type(bert).__name__}, expected a MarianMTModel and a BertModel"
            )
        own = {"model_type", "architectures", "transformers_version", "dtype"}
        settings = {k: v for k, v in base.config.to_dict().items() if k not in own}
        shape = bert.config.to_dict()
        config = BertFusedConfig(**settings, bert_config=shape, p_net=p_net)
        model = cls(config)
        weights = base.state_dict() | {
            f"model.encoder.bert.{name}": weight
            for name, weight in bert.state_dict().items()
            if not name.startswith("pooler.")
        }
        missing, strange = model.load_state_dict(weights, strict=False)
        lost = strange + [name for name in missing if ".bert_attn." not in name]
        if lost:
            raise NmtError(
                f"a BERT-fused model cannot be made of a {type(base).__name__}: the weight "
                f"'{lost[0]}' is of one of them only"
            )
        for module in model.modules():
            if isinstance(module, BertAttention):
                module.draw()
        model.generation_config = copy.deepcopy(base.generation_config)
        return model.to(device=base.device, dtype=base.dtype)  # type: ignore[no-any-return]

    @property
    def bert(self) -> BertModel:
        """BERT as it is in the model."""
        return self.model.encoder.bert

    def context_parameters(self) -> list[nn.Parameter]:
        """Return what the second step of training learns: everything but BERT.

        The sentence-level weights go on learning, for they must get used to the mean.
        """
        frozen = {id(weight) for weight in self.bert.parameters()}
        positions = (self.model.encoder.embed_positions, self.model.decoder.embed_positions)
        frozen |= {id(place.weight) for place in positions}
        return [weight for weight in self.parameters() if id(weight) not in frozen]

    def freeze_sentence_model(self) -> None:
        """Freeze what the second step does not learn: BERT, and that it is from the beginning.

        With other context-aware models this is the whole sentence-level model.
        """
        learnt = {id(weight) for weight in self.context_parameters()}
        for weight in self.parameters():
            weight.requires_grad_(id(weight) in learnt)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        bert_input_ids: Tensor | None = None,
        bert_attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Return the logits of every next word, and the loss if labels are given.

        Args:
            input_ids: Source, (batch, source), padded on the right.
            attention_mask: 1 for its tokens and 0 for padding.
            decoder_input_ids: Target after its start token, (batch, target).
            bert_input_ids: [CLS] context [SEP] source [SEP] in BERT's tokens; not needed where
                ``encoder_outputs`` are given.
            bert_attention_mask: 1 for them and 0 for what fills up; by BERT's padding if None.
            labels: Target, (batch, target); -100 is left out of the loss.
            **kwargs: What else a MarianMTModel takes.
        """
        return super().forward(
            input_ids=input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            labels=labels,
            bert_input_ids=bert_input_ids,
            bert_attention_mask=bert_attention_mask,
            **kwargs,
        )
