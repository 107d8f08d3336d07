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

from torch import nn
from transformers import MarianConfig, MarianMTModel

from boxpen.errors import NmtError
from boxpen.nmt.context.base import MarianWithContext, draw, register_model
from boxpen.nmt.context.thumt_layers import ThumtDecoder, ThumtEncoder

__all__ = ["ThumtConfig", "ThumtForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    register_model(ThumtForConditionalGeneration)


class ThumtConfig(MarianConfig):  # type: ignore[misc]
    """The shape of a model: Marian's, and the number of layers that encode the context.

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


class ThumtForConditionalGeneration(MarianWithContext):
    """The translation model: Marian's, whose layers also attend to the sentences before."""

    config_class = ThumtConfig

    def __init__(self, config: ThumtConfig) -> None:
        super().__init__(config)
        self.model.encoder = ThumtEncoder(config)
        self.model.decoder = ThumtDecoder(config)
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls, base: MarianMTModel, *, context_layers: int = 1
    ) -> ThumtForConditionalGeneration:
        """Return a model with all weights of a trained sentence-level model.

        Until it learns, it translates as the base does, whatever the context; new weights are
        random (see ``torch.manual_seed``).

        Raises:
            NmtError: If the base is not a plain Marian model.
        """
        model: ThumtForConditionalGeneration = cls.with_weights_of(
            base, context_layers=context_layers
        )
        draw(model.model.encoder.context_encoder)
        for layer in model._layers():
            layer.context_attention.begin(layer.self_attn_layer_norm)
        return model

    def context_parts(self) -> list[nn.Module]:
        """Return the parts that read the context, which the second step trains."""
        attentions = (layer.context_attention for layer in self._layers())
        return [self.model.encoder.context_encoder, *attentions]

    def _layers(self) -> list[Any]:
        return [*self.model.encoder.layers, *self.model.decoder.layers]
