"""THUMT's document-level Transformer: attention to the context in every layer, behind a gate.

Zhang, Luan, Sun, Zhai, Xu, Zhang & Liu (EMNLP 2018), "Improving the Transformer Translation Model
with Document-Level Context". A small encoder of its own, one layer of self-attention on the
source's embedding, reads the sentences before. Every layer of the encoder and of the decoder asks
it, after self-attention:

    encoder layer   self-attention ── attention to context, gated ── feed-forward
    decoder layer   self-attention ── attention to context, gated ── to source ── feed-forward

The gate λ = σ(Wₓ x + Wₛ s) weighs the layer's state x against what it found in the context, s:
λ ⊙ x + (1 - λ) ⊙ s, followed by a layer norm, as after every sublayer.

It is trained in two steps: first the parameters of a sentence-level Transformer, on all sentences
there are; then those of the context alone, on documents, while the others stay as they are. So the
fresh parts must not disturb the model into which they are put. The attention's output begins at 0
and the gate at ½: a half of x goes into the norm, which does not see halves. What is left is the
norm itself. A fresh one behind the old one would take away the scale and the offset, γ and β, that
the old one gives and a frozen layer expects, and no weights of a norm can give them back to every
x. But γ and β can move: the old norm hands them on to the new one and keeps none. Then the new one
begins with the old one's output, and the model with that of its base. (The original starts from
random weights and a plain norm.)
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils.generic import can_return_tuple

from boxpen.errors import NmtError
from boxpen.nmt.context.concat import with_weights_of
from boxpen.nmt.context.thumt_layers import (
    ContextOutput,
    ThumtDecoder,
    ThumtEncoder,
    draw,
)

__all__ = ["ThumtConfig", "ThumtForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(ThumtConfig.model_type, ThumtConfig, exist_ok=True)
    AutoModelForSeq2SeqLM.register(ThumtConfig, ThumtForConditionalGeneration, exist_ok=True)


class ThumtConfig(MarianConfig):  # type: ignore[misc]
    """The shape of a model: Marian's, and how many layers encode the context.

    Attributes:
        context_layers: The paper found one as good as more.

    Raises:
        NmtError: If there is none.
    """

    model_type = "thumt"
    context_layers: int = 1

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if not isinstance(self.context_layers, int) or self.context_layers < 1:
            raise NmtError(
                f"context_layers is {self.context_layers!r}, expected a whole number from 1"
            )


class ThumtForConditionalGeneration(MarianMTModel):  # type: ignore[misc]
    """The translation model: Marian's, whose layers look at the sentences before as well."""

    config_class = ThumtConfig
    reads = frozenset({"context_input_ids"})

    def __init__(self, config: ThumtConfig) -> None:
        super().__init__(config)
        self.model.encoder = ThumtEncoder(config)
        self.model.decoder = ThumtDecoder(config)
        self.frozen = False
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls, base: MarianMTModel, *, context_layers: int = 1
    ) -> ThumtForConditionalGeneration:
        """Return a model with all weights of a trained sentence-level model.

        Until it learns, it translates as the base does, whatever the context; fresh weights are
        drawn as ``torch.manual_seed`` says.

        Raises:
            NmtError: If the base is not a plain Marian model.
        """
        model: ThumtForConditionalGeneration = with_weights_of(
            base, cls, context_layers=context_layers
        )
        draw(model.model.encoder.context_encoder)
        for layer in model._layers():
            layer.context_attention.begin(layer.self_attn_layer_norm)
        return model

    def context_parameters(self) -> list[nn.Parameter]:
        """Return what the second step of training learns: all that has to do with the context."""
        return [weight for part in self._context_parts() for weight in part.parameters()]

    def freeze_sentence_model(self) -> None:
        """Let only the context's parts learn; the others run without dropout from now on."""
        self.requires_grad_(False)
        for weight in self.context_parameters():
            weight.requires_grad_(True)
        self.frozen = True
        self.train(self.training)

    def train(self, mode: bool = True) -> ThumtForConditionalGeneration:
        """Turn dropout on or off; what is frozen has none."""
        super().train(mode)
        if self.frozen:
            self.model.eval()
            for part in self._context_parts():
                part.train(mode)
        return self

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: ContextOutput | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Return the logits of every next token, and the loss if labels are given.

        Args:
            input_ids: Source, (batch, source), each row with its end, padded on the right.
            attention_mask: 1 for its tokens and 0 for padding.
            context_input_ids: The sentences before, oldest first, each with its end,
                (batch, context); a row without any is the single token that ends sentences, and so
                is every row if None.
            context_attention_mask: Likewise for the context.
            decoder_input_ids: Target after its start token, (batch, target).
            encoder_outputs: What the encoder made of context and source, if it was run before.
            labels: Target, (batch, target); -100 is left out of the loss.
            **kwargs: What Marian takes.
        """
        if encoder_outputs is None:
            encoder_outputs = self.model.encoder(
                input_ids, attention_mask, context_input_ids, context_attention_mask
            )
        elif not isinstance(encoder_outputs, ContextOutput):
            raise NmtError(
                f"the encoder_outputs are a {type(encoder_outputs).__name__}, expected the "
                "ContextOutput of this model's own encoder, with the states of the context"
            )
        return super().forward(
            attention_mask=attention_mask,
            encoder_outputs=encoder_outputs,
            decoder_input_ids=decoder_input_ids,
            context_states=encoder_outputs.context_states,
            context_states_mask=encoder_outputs.context_states_mask,
            labels=labels,
            **kwargs,
        )

    def _layers(self) -> list[Any]:
        return [*self.model.encoder.layers, *self.model.decoder.layers]

    def _context_parts(self) -> list[nn.Module]:
        return [
            self.model.encoder.context_encoder,
            *(layer.context_attention for layer in self._layers()),
        ]
