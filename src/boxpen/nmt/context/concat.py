"""Concatenation: a Transformer that reads the context and the source as one sequence.

The "2-to-1" model of Tiedemann & Scherrer (2017), "Neural Machine Translation with Extended
Context": nothing in the network is new. The previous sentences come before the source, each
followed by its end token; the target is the translation of the source alone. All weights are
trained further, since a sentence-level model has never seen two sentences in a row.

    context   c₁ … cₖ /       joined   c₁ … cₖ / x₁ … xₛ / ‖ padding
    source    x₁ … xₛ /

The source follows its own context immediately and padding comes last, so that the positions of a
row do not depend on the other rows of its batch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel
from transformers.models.marian.modeling_marian import MarianEncoder

from boxpen.errors import NmtError
from boxpen.nmt.context.base import ContextOutput, MarianWithContext, register_model

__all__ = ["ConcatConfig", "ConcatForConditionalGeneration", "given_or_none", "joined", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    register_model(ConcatForConditionalGeneration)


class ConcatConfig(MarianConfig):  # type: ignore[misc]
    """The shape of a model: Marian's, under another name."""

    model_type = "concat"


class ConcatForConditionalGeneration(MarianWithContext):
    """The translation model: Marian's, whose encoder joins context and source."""

    config_class = ConcatConfig

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
        model: ConcatForConditionalGeneration = cls.with_weights_of(base)
        return model


class ConcatEncoder(MarianEncoder):  # type: ignore[misc]
    """Marian's encoder over context and source as one sequence."""

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> ContextOutput:
        """Return the states of the joined sequence, with its mask.

        Args:
            input_ids: Source, (batch, source).
            attention_mask: 1 for its tokens and 0 for padding.
            context_input_ids: The sentences before, oldest first, each with its end,
                (batch, context); a row without any is a single end token, as is every row if None.
            context_attention_mask: 1 for its tokens and 0 for padding.
            **kwargs: What Marian's encoder takes.
        """
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
        kwargs["return_dict"] = True
        found = super().forward(input_ids=ids, attention_mask=mask, **kwargs)
        return ContextOutput(**found, joined_mask=mask)


def joined(
    context: Tensor, context_mask: Tensor, source: Tensor, mask: Tensor, *, pad: int, most: int
) -> tuple[Tensor, Tensor]:
    """Put the context of each row in front of its source, with padding only behind both.

    Args:
        context: Tokens, (rows, context).
        context_mask: 1 for tokens and 0 for padding.
        source: Tokens, (rows, source).
        mask: 1 for tokens and 0 for padding.
        pad: The padding token.
        most: Maximum tokens per row; longer rows lose the beginning of the context.

    Returns:
        Tokens and their mask. Their width follows from the given widths alone, so that nothing
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
    """Return context and mask; without context, rows of a single end token."""
    if context is None:
        context, mask = source.new_full((len(source), 1), eos), None
    return context, torch.ones_like(context) if mask is None else mask
