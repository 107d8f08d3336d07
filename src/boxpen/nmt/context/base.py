"""What the translation models that read context have in common.

All begin from a trained sentence-level model, a MarianMTModel, and are trained in a second step.
``concat`` puts the context in front of the source. ``thumt`` and ``bert_fused`` have layers that
attend to states of the context beside those of the source: ``ContextEncoder`` and
``ContextDecoder`` hand them these states. ``cadec`` has a second decoder.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import dropout
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    DynamicCache,
    EncoderDecoderCache,
    MarianConfig,
    MarianMTModel,
)
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.models.marian.modeling_marian import (
    MarianAttention,
    MarianDecoder,
    MarianEncoder,
    MarianPreTrainedModel,
)
from transformers.utils.generic import can_return_tuple

from boxpen.errors import NmtError

__all__ = [
    "ContextDecoder", "ContextEncoder", "ContextOutput", "MarianWithContext", "SecondStep",
    "WideAttention", "cross_mask", "draw", "fed_forward", "register_model", "sentence_settings",
]  # fmt: skip


def register_model(model: type[Any]) -> None:
    """Register a model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(model.config_class.model_type, model.config_class, exist_ok=True)
    AutoModelForSeq2SeqLM.register(model.config_class, model, exist_ok=True)


def sentence_settings(base: Any) -> dict[str, Any]:
    """Return the configuration of a sentence-level model for a model that begins from it.

    Raises:
        NmtError: If it is not a plain Marian model.
    """
    config: Any = getattr(base, "config", None)
    if getattr(config, "model_type", None) != MarianConfig.model_type:
        raise NmtError(
            f"the sentence-level model is a {type(base).__name__}, expected a MarianMTModel"
        )
    own = {"model_type", "architectures", "transformers_version", "_name_or_path", "dtype"}
    return {name: value for name, value in config.to_dict().items() if name not in own}


class SecondStep(MarianPreTrainedModel):  # type: ignore[misc]
    """What the second step of training learns, and what it leaves as it is."""

    frozen = False

    def context_parts(self) -> list[nn.Module]:
        """Return the parts that the second step trains."""
        return [self]

    def context_parameters(self) -> list[nn.Parameter]:
        """Return the weights that the second step trains; tied ones once."""
        weights = (weight for part in self.context_parts() for weight in part.parameters())
        return [weight for weight in dict.fromkeys(weights) if weight.requires_grad]

    def freeze_sentence_model(self) -> None:
        """Let only the context's parts learn; the others run without dropout from now on."""
        learnt = self.context_parameters()
        self.requires_grad_(False)
        for weight in learnt:
            weight.requires_grad_(True)
        self.frozen = True
        self.train(self.training)

    def train(self, mode: bool = True) -> Any:
        """Turn dropout on or off; frozen parts have none."""
        super().train(mode)
        parts = self.context_parts()
        if self.frozen and self not in parts:
            for child in self.children():
                child.eval()
            for part in parts:
                part.train(mode)
        return self


class MarianWithContext(SecondStep, MarianMTModel):  # type: ignore[misc]
    """Marian's model with an encoder that reads the context as well."""

    reads: frozenset[str] = frozenset({"context_input_ids"})
    """What it takes besides Marian's inputs, each with its mask."""

    @classmethod
    def with_weights_of(cls, base: MarianMTModel, **settings: Any) -> Any:
        """Return a model that has all weights of a sentence-level model.

        Args:
            base: The trained sentence-level model, neither changed nor shared.
            **settings: Of the new model's configuration, besides the base's.

        Raises:
            NmtError: If the base is not a plain Marian model.
        """
        config = cls.config_class(**sentence_settings(base), **settings)
        model = cls(config).to(device=base.device, dtype=base.dtype)
        found = model.load_state_dict(base.state_dict(), strict=False)
        if found.unexpected_keys:
            raise NmtError(
                f"the sentence-level model has the weight '{found.unexpected_keys[0]}', which a "
                f"{cls.__name__} does not have; expected a plain MarianMTModel"
            )
        model.generation_config = copy.deepcopy(base.generation_config)
        return model.train(base.training)

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: ContextOutput | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Return the logits of every next token, and the loss if labels are given.

        Args:
            input_ids: Source, (batch, source), each row with its end, padded on the right.
            attention_mask: 1 for its tokens and 0 for padding.
            decoder_input_ids: Target after its start token, (batch, target).
            encoder_outputs: Output of this model's encoder, if it was run before.
            labels: Target, (batch, target); -100 is left out of the loss.
            **kwargs: The inputs of ``reads`` with their masks, and what Marian takes.
        """
        masks = {name.replace("input_ids", "attention_mask") for name in self.reads}
        context = {name: kwargs.pop(name, None) for name in self.reads | masks}
        if encoder_outputs is None:
            encoder_outputs = self.model.encoder(
                input_ids=input_ids, attention_mask=attention_mask, **context
            )
        elif not isinstance(encoder_outputs, ContextOutput):
            raise NmtError(
                f"the encoder_outputs are a {type(encoder_outputs).__name__}, expected the "
                "ContextOutput of this model's own encoder"
            )
        if encoder_outputs.joined_mask is not None:
            attention_mask = encoder_outputs.joined_mask
        if encoder_outputs.context_states is not None:
            kwargs["context_states"] = encoder_outputs.context_states
            kwargs["context_mask"] = encoder_outputs.context_mask
        return super().forward(
            attention_mask=attention_mask,
            encoder_outputs=encoder_outputs,
            decoder_input_ids=decoder_input_ids,
            labels=labels,
            **kwargs,
        )


@dataclass
class ContextOutput(BaseModelOutput):  # type: ignore[misc]
    """What the encoder of a ``MarianWithContext`` returns; ``generate`` repeats it for the beams.

    Attributes:
        joined_mask: Of the states, 1 for tokens of context and source, if they are joined.
        context_states: States of the context, (batch, context, width), if they are not.
        context_mask: 1 for its tokens and 0 for padding.
    """

    joined_mask: Tensor | None = None
    context_states: Tensor | None = None
    context_mask: Tensor | None = None


class ContextEncoder(MarianEncoder):  # type: ignore[misc]
    """Marian's encoder with layers that also attend to states of the context."""

    def embedded(self, ids: Tensor) -> Tensor:
        """Return scaled embeddings, (batch, time, width)."""
        found: Tensor = self.embed_tokens(ids) * self.embed_scale
        return found

    def with_context(
        self,
        ids: Tensor,
        attention_mask: Tensor | None,
        states: Tensor,
        mask: Tensor,
        **kwargs: Any,
    ) -> ContextOutput:
        """Encode the source, (batch, source), beside the states of its context."""
        source = self.embedded(ids)
        kwargs["return_dict"] = True
        found = super().forward(
            inputs_embeds=source,
            attention_mask=attention_mask,
            context_states=states,
            context_mask=cross_mask(self.config, source, states, mask),
            **kwargs,
        )
        return ContextOutput(**found, context_states=states, context_mask=mask)


class ContextDecoder(MarianDecoder):  # type: ignore[misc]
    """Marian's decoder with layers that also attend to states of the context."""

    layer: type[Any]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(self.layer(config, n) for n in range(config.decoder_layers))
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        context_states: Tensor | None = None,
        context_mask: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the states of the target; see Marian's decoder for the other arguments.

        Args:
            input_ids: Target after its start token, (batch, target).
            context_states: From the encoder, (batch, context, width).
            context_mask: Likewise.
            past_key_values: The decoder's cache; the target continues from there.
            inputs_embeds: Embedded tokens instead of ``input_ids``.
            use_cache: Whether to return the cache; by default as configured.
            **kwargs: What Marian's decoder takes.
        """
        if context_states is None:
            raise NmtError(
                "the decoder was given no context_states, expected those of the encoder's output"
            )
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if use_cache is None:
            use_cache = self.config.use_cache
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(
                DynamicCache(config=self.config), DynamicCache(config=self.config)
            )
        if past_key_values is not None:
            _make_room(past_key_values, 2 * len(self.layers))
        return super().forward(
            inputs_embeds=inputs_embeds,
            context_states=context_states,
            context_mask=cross_mask(self.config, inputs_embeds, context_states, context_mask),
            past_key_values=past_key_values,
            use_cache=use_cache,
            **kwargs,
        )


class WideAttention(MarianAttention):  # type: ignore[misc]
    """Marian's attention to states that have another width than those that ask.

    Args:
        config: The model's shape.
        width: Of the states that are attended to.
        heads: Number of heads.
        place: Where a decoder caches its keys and values; None for an encoder.
    """

    def __init__(self, config: Any, width: int, heads: int, place: int | None = None) -> None:
        super().__init__(
            config.d_model,
            heads,
            dropout=config.attention_dropout,
            is_decoder=place is not None,
            config=config,
            layer_idx=place,
        )
        self.k_proj = nn.Linear(width, config.d_model)
        self.v_proj = nn.Linear(width, config.d_model)


def cross_mask(config: Any, queries: Tensor, states: Tensor, mask: Tensor | None) -> Tensor | None:
    """Return which states each query may attend to, as attention expects it."""
    made: Tensor | None = create_bidirectional_mask(
        config=config, inputs_embeds=queries, attention_mask=mask, encoder_hidden_states=states
    )
    return made


def fed_forward(layer: Any, x: Tensor) -> Tensor:
    """Return the output of a layer's feed-forward network, with residual and norm."""
    s = layer.activation_fn(layer.fc1(x))
    s = layer.fc2(dropout(s, layer.activation_dropout, layer.training))
    found: Tensor = layer.final_layer_norm(x + dropout(s, layer.dropout, layer.training))
    return found


def draw(module: nn.Module) -> None:
    """Draw the weights of new parts as for a Transformer that is trained from scratch.

    Xavier-uniform (Glorot & Bengio 2010): Transformers draws all with the standard deviation 0.02,
    with which keys and queries of models as narrow as ours hardly tell positions apart.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)


def _make_room(past: EncoderDecoderCache, layers: int) -> None:
    """Let a decoder keep keys and values of the context behind those of the source.

    Neither changes while a sentence is being translated, and ``generate`` makes a cache with room
    for only one cross-attention per layer.
    """
    cache = past.cross_attention_cache
    made = cache.layer_class_to_replicate or DynamicLayer
    cache.layers.extend(made() for _ in range(layers - len(cache.layers)))
