"""Concatenation: a Transformer that reads the context and the source as one sequence.

The "2-to-1" model of Tiedemann & Scherrer (2017), "Neural Machine Translation with Extended
Context": nothing in the network is new. The previous sentences come before the source, each
followed by its end token; the target is the translation of the source alone. All weights are
trained further, since a sentence-level model has never seen two sentences in a row.

    context   c₁ … cₖ /       joined   c₁ … cₖ / x₁ … xₛ / ‖ padding
    source    x₁ … xₛ /

Rows are joined compactly: the source follows its own context at once and padding stands only
behind, so that the positions of a row do not depend on the other rows of its batch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.models.marian.modeling_marian import MarianEncoder
from transformers.utils.generic import can_return_tuple

from boxpen.errors import NmtError

__all__ = [
    "ConcatConfig",
    "ConcatForConditionalGeneration",
    "given_or_none",
    "joined",
    "register",
    "with_weights_of",
]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(ConcatConfig.model_type, ConcatConfig, exist_ok=True)
    AutoModelForSeq2SeqLM.register(ConcatConfig, ConcatForConditionalGeneration, exist_ok=True)


class ConcatConfig(MarianConfig):  # type: ignore[misc]
    """The shape of a model: Marian's, under another name."""

    model_type = "concat"


class ConcatForConditionalGeneration(MarianMTModel):  # type: ignore[misc]
    """The translation model: Marian's, whose encoder joins context and source."""

    config_class = ConcatConfig
    reads = frozenset({"context_input_ids"})

    def __init__(self, config: ConcatConfig) -> None:
        super().__init__(config)
        self.model.encoder = ConcatEncoder(config)
        self.post_init()

    @classmethod
    def from_sentence_model(cls, base: MarianMTModel) -> ConcatForConditionalGeneration:
        """Return a model with all weights of a trained sentence-level model.

        Raises:
            NmtError: If the base is not a plain Marian model.
        """
        model: ConcatForConditionalGeneration = with_weights_of(base, cls)
        return model

    def context_parameters(self) -> list[nn.Parameter]:
        """Return what the second step of training learns: everything."""
        return [weight for weight in self.parameters() if weight.requires_grad]

    def freeze_sentence_model(self) -> None:
        """Do nothing: no part of this model reads the context alone."""

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: JoinedOutput | None = None,
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
        elif not isinstance(encoder_outputs, JoinedOutput):
            raise NmtError(
                f"the encoder_outputs are a {type(encoder_outputs).__name__}, expected the "
                "JoinedOutput of this model's own encoder, which marks the padding"
            )
        return super().forward(
            attention_mask=encoder_outputs.joined_attention_mask,
            encoder_outputs=encoder_outputs,
            decoder_input_ids=decoder_input_ids,
            labels=labels,
            **kwargs,
        )


class ConcatEncoder(MarianEncoder):  # type: ignore[misc]
    """Marian's encoder over context and source as one sequence."""

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> JoinedOutput:
        """Return the states of the joined sequence, with its mask."""
        if input_ids is None:
            raise NmtError("the encoder was given no input_ids, expected the tokens of the source")
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        context, context_mask = given_or_none(
            context_input_ids, context_attention_mask, input_ids, self.config.eos_token_id
        )
        ids, mask = joined(
            context, context_mask, input_ids, attention_mask,
            pad=self.config.pad_token_id, most=self.config.max_position_embeddings,
        )  # fmt: skip
        found = super().forward(
            input_ids=ids,
            attention_mask=mask,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        return JoinedOutput(**found, joined_attention_mask=mask)


@dataclass
class JoinedOutput(BaseModelOutput):  # type: ignore[misc]
    """What the encoder returns.

    Attributes:
        joined_attention_mask: 1 for the tokens of context and source, 0 behind them.
    """

    joined_attention_mask: Tensor | None = None


def joined(
    context: Tensor, context_mask: Tensor, source: Tensor, mask: Tensor, *, pad: int, most: int
) -> tuple[Tensor, Tensor]:
    """Put the context of each row in front of its source, with padding only behind both.

    Args:
        context: Tokens, (rows, context).
        context_mask: 1 for tokens and 0 for padding.
        source: Tokens, (rows, source).
        mask: 1 for tokens and 0 for padding.
        pad: What fills up rows.
        most: Maximum tokens per row; longer rows lose the beginning of the context.

    Returns:
        Tokens and their mask; how wide they are follows from the widths alone, so that no one
        waits for a GPU to count.

    Raises:
        NmtError: If a source alone is too wide, or the numbers of rows differ.
    """
    if len(context) != len(source):
        raise NmtError(
            f"there are {len(context)} rows of context and {len(source)} of source, expected one "
            "context for each source"
        )
    if source.shape[1] > most:
        raise NmtError(f"a source is {source.shape[1]} tokens wide, expected {most} or fewer")
    ids = torch.cat([context, source], dim=1)
    kept = torch.cat([context_mask, mask], dim=1).bool()
    # The source is never cut, so what is too much is context, and the first tokens are the oldest.
    extra = kept.sum(1, keepdim=True) - most
    kept &= kept.cumsum(1) > extra
    order = (~kept).long().argsort(dim=1, stable=True)[:, :most]  # tokens in order, then the rest
    kept = kept.gather(1, order)
    return ids.gather(1, order).masked_fill(~kept, pad), kept.long()


def given_or_none(
    context: Tensor | None, mask: Tensor | None, source: Tensor, eos: int
) -> tuple[Tensor, Tensor]:
    """Return context and mask; without context, rows of only the token that ends sentences.

    Args:
        context: Tokens, (rows, context), or None.
        mask: 1 for tokens and 0 for padding, or None if nothing is padding.
        source: Tokens, (rows, source).
        eos: The token that ends sentences.
    """
    if context is None:
        context, mask = source.new_full((len(source), 1), eos), None
    return context, torch.ones_like(context) if mask is None else mask


def with_weights_of(base: MarianMTModel, kind: type[Any], **settings: Any) -> Any:
    """Make a context-aware model of a kind that has all weights of a sentence-level model.

    Args:
        base: The trained sentence-level model.
        kind: A class of models built on Marian's, with the same names of weights and more.
        **settings: Of the new model's configuration, besides the base's.

    Raises:
        NmtError: If the base is not a plain Marian model.
    """
    if getattr(base.config, "model_type", None) != MarianConfig.model_type:
        raise NmtError(
            f"the sentence-level model is a {type(base).__name__}, expected a MarianMTModel"
        )
    own = {"model_type", "architectures", "transformers_version", "_name_or_path", "dtype"}
    shape = {name: value for name, value in base.config.to_dict().items() if name not in own}
    model = kind(kind.config_class(**shape, **settings)).to(device=base.device, dtype=base.dtype)
    found = model.load_state_dict(base.state_dict(), strict=False)
    if found.unexpected_keys:
        raise NmtError(
            f"the sentence-level model has '{found.unexpected_keys[0]}', which a {kind.__name__} "
            "has not; expected a plain MarianMTModel"
        )
    model.generation_config = copy.deepcopy(base.generation_config)
    return model.train(base.training)
