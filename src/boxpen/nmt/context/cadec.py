"""CADec: a sentence-level model translates, and a second decoder corrects with context.

The model of Voita, Sennrich & Titov (2019), "When a Good Translation is Wrong in Context", section
4. A trained sentence-level Transformer, which stays as it is, encodes the current sentence and the
sentences before it, each by itself, and gives a first translation, the draft. The second decoder
writes the translation again. Besides its own prefix it attends to the source side (the encoder's
states of all sentences) and to the target side (the first decoder's states of the draft and of
the context's translations, with the embeddings of their tokens).

    context, source ── encoder ─────────┬──────────────────── source attention ─┐
                                        └─ decoder ── states ── draft attention ┤
    draft, translations of the context ────┘                                    │
    target  y₀ … yₜ ── embedding ── self-attention ─────────────────────────────┴── logits

What is taken from the authors' code where the paper is short (lena-voita/
good-translation-wrong-in-context): a target token is its embedding beside the state that predicts
it; the order of the attentions; the output layer starts as a copy of the sentence-level model's.
Where this departs from it:

- Layers are post-norm, as Marian's (there: pre-norm).
- The second decoder's embedding is a copy that is trained further, tied to the output layer if the
  sentence-level model's is (there: the frozen embedding, and an output layer of its own).
- The second decoder begins as the first, which saves most of its training (there: from nothing).
  So that it does, each head of the source attention has a bias for each distance, with which the
  context is all but hidden at first (there: none; with a bias of 0 the attentions are the same).
- The first pass has no dropout in training (there: that of the current sentence has).
- The first word of a draft is corrupted like the others (there: never).
- A draft that is not given is the greedy one. The authors use a beam of 4 at test time; to have
  that, pass ``draft_ids`` made by ``model.base.generate(..., num_beams=4)[:, 1:]``.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, MarianConfig, MarianMTModel
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.models.marian.modeling_marian import shift_tokens_right
from transformers.utils.generic import can_return_tuple

from boxpen.errors import NmtError
from boxpen.nmt.context.base import SecondStep, register_model, sentence_settings
from boxpen.nmt.context.cadec_first_pass import FirstPass, FirstPassOutput
from boxpen.nmt.context.cadec_layers import CADecDecoder, target_vocabulary

__all__ = ["CADecConfig", "CADecForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    register_model(CADecForConditionalGeneration)


class CADecConfig(MarianConfig):  # type: ignore[misc]
    """The shape of the sentence-level model (Marian's settings), and of what is added.

    Attributes:
        context_sentences: Maximum sentences of context per row.
        cadec_layers: Layers of the second decoder; as many as the first has if not given.

    Raises:
        NmtError: If the numbers do not fit together.
    """

    model_type = "cadec"

    context_sentences: int = 3
    cadec_layers: int | None = None

    def __post_init__(self, **others: Any) -> None:
        super().__post_init__(**others)
        if self.cadec_layers is None:
            self.cadec_layers = self.decoder_layers
        numbers = (self.context_sentences, self.cadec_layers)
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in numbers):
            raise NmtError(
                f"CADec cannot have {self.cadec_layers!r} layers for {self.context_sentences!r} "
                "sentences of context, expected one or more of both"
            )
        if not isinstance(self.eos_token_id, int) or self.eos_token_id == self.pad_token_id:
            raise NmtError(
                f"CADec cannot tell sentences apart that end with {self.eos_token_id} where "
                f"padding is {self.pad_token_id}, expected one token each"
            )


class CADecForConditionalGeneration(SecondStep, GenerationMixin):  # type: ignore[misc]
    """The translation model: the first pass, the second decoder, and the output layer."""

    config_class = CADecConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    reads = frozenset({"context_input_ids", "context_target_ids", "draft_ids"})
    _tied_weights_keys = {"lm_head.weight": "decoder.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: CADecConfig) -> None:
        super().__init__(config)
        self.encoder = FirstPass(config)
        self.decoder = CADecDecoder(config, *FirstPass.widths(config))
        self.lm_head = nn.Linear(config.d_model, target_vocabulary(config), bias=False)
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls, base: MarianMTModel, *, context_sentences: int = 3, layers: int | None = None
    ) -> CADecForConditionalGeneration:
        """Put a second decoder on a trained model, which begins as the first.

        Args:
            base: The sentence-level model; its weights are copied.
            context_sentences: Maximum sentences of context per row.
            layers: Of the second decoder; as many as the first has if not given.

        Raises:
            NmtError: If it is not a plain Marian model.
        """
        settings = sentence_settings(base)
        settings |= {"context_sentences": context_sentences, "cadec_layers": layers}
        model: CADecForConditionalGeneration = cls(CADecConfig(**settings))
        model.to(base.device, base.dtype)
        model.base.load_state_dict(base.state_dict())
        model.decoder.begin_as(base.model.decoder)
        model.lm_head.load_state_dict(base.lm_head.state_dict())
        model.generation_config = copy.deepcopy(base.generation_config)
        return model

    @property
    def base(self) -> MarianMTModel:
        """The sentence-level model."""
        return self.encoder.base

    def context_parts(self) -> list[nn.Module]:
        """Return what the second step of training learns: all of the second decoder."""
        return [self.decoder, self.lm_head]

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: FirstPassOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        **inputs: Any,
    ) -> Seq2SeqLMOutput:
        """Return the logits of every next word, and the loss if labels are given.

        A given translation is scored against the draft that the sentence-level model makes, the
        same for all translations of a source: its score is that of the whole two-pass system, and
        a contrastive pair differs only in the pair itself, as in the paper. In training, give
        the drafts of ``drafts_for_training`` and the references of the context.

        Args:
            input_ids: Source, (batch, source), padded on the right.
            decoder_input_ids: Target after its start token, (batch, target).
            encoder_outputs: The first pass, if it was run before.
            past_key_values: The decoder's cache; the target continues from there.
            labels: Target, (batch, target); -100 is left out of the loss.
            use_cache: Whether to return the cache; without labels by default.
            **inputs: The other inputs of ``FirstPass``, if there are no ``encoder_outputs``.

        Raises:
            NmtError: If context and translations do not fit together, or it is too much.
        """
        first = encoder_outputs
        if first is None:
            first = self.encoder(input_ids=input_ids, **inputs)
        if labels is not None and decoder_input_ids is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if use_cache is None:
            use_cache = labels is None and self.config.use_cache
        states, past_key_values = self.decoder(
            decoder_input_ids,
            (first.last_hidden_state, first.source_mask),
            (first.target_states, first.target_mask),
            past_key_values=past_key_values,
            use_cache=use_cache,
        )
        logits = self.lm_head(states) + self.base.final_logits_bias  # (batch, target, vocabulary)
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            past_key_values=past_key_values,
            encoder_last_hidden_state=first.last_hidden_state,
        )

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Return labels shifted by one behind the start token."""
        config = self.config
        start = config.decoder_start_token_id
        shifted: Tensor = shift_tokens_right(labels, config.pad_token_id, start)
        return shifted

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the embedding of the source."""
        embedding: nn.Embedding = self.base.model.encoder.embed_tokens
        return embedding

    def get_output_embeddings(self) -> nn.Linear:
        """Return the output layer."""
        return self.lm_head

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        # The decoder makes its own, with two places per layer for cross-attention.
        return False
