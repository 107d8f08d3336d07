"""RNNSearch: an LSTM encoder and decoder joined by additive attention, as a Transformers model.

The model of Bahdanau et al. (2015) in the form in which He et al. (2020) tested it: 4 layers of
LSTM, 512 wide. Where it departs from the paper of 2015, it does so to let cuDNN run a whole
sentence in one call instead of one word at a time:

- The encoder is a stack of bidirectional LSTMs, half the width in either direction (there: one
  layer of gated units). Residual connections join the upper layers.
- The decoder follows GNMT (Wu et al. 2016): the state of its *lowest* layer, which has just read
  the previous word, asks for the context; the context goes into every layer above and into the
  output. In the original the context goes back into the recurrence, so that step t must wait for
  the attention of step t - 1; here attention knows what it looked at before only by the words
  that came of it.
- The score is the additive one, v · tanh(W s + U h), which gives RNNSearch its character and, in
  the comparison of Britz et al. (2017), beats dot products by a little. Its price is a tensor of
  target x source x width per sentence; at the length of sentences the recurrence costs more.
- The decoder starts from the mean of the source's states, as in Nematus (there: from the first
  state of the backward LSTM), because that can be had from the states and their mask alone.
- The output layer reads the top layer, the context and the previous word through one tanh layer
  (there: a maxout layer), and is tied to the target's embedding.

    source   x₁ … xₛ ── embedding ── BiLSTM ── BiLSTM + … ─────────── h₁ … hₛ
                                                                       │ attention
    target   y₀ … yₜ ── embedding ── LSTM ──┬─ s ──────────────────────┤
                                            └─[s, c]─ LSTM + … ─ tanh [·, c, e(y)] ── logits
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.models.marian.modeling_marian import shift_tokens_right
from transformers.utils.generic import can_return_tuple

from boxpen.errors import NmtError
from boxpen.nmt.architectures.rnnsearch_layers import (
    RNNSearchDecoder,
    RNNSearchEncoder,
    RNNSearchState,
)

__all__ = ["RNNSearchConfig", "RNNSearchForConditionalGeneration", "register"]


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(RNNSearchConfig.model_type, RNNSearchConfig, exist_ok=True)
    AutoModelForSeq2SeqLM.register(
        RNNSearchConfig, RNNSearchForConditionalGeneration, exist_ok=True
    )


class RNNSearchConfig(PreTrainedConfig):  # type: ignore[misc]
    """The shape of a model.

    Attributes:
        vocab_size: Tokens of the source.
        decoder_vocab_size: Tokens of the target, if it has a vocabulary of its own.
        hidden_size: Width of embeddings and states; even, for half of it reads backwards.
        num_hidden_layers: LSTM layers of the encoder, and of the decoder.
        dropout: Share of what goes into a layer that is set to zero in training.
        share_encoder_decoder_embeddings: One embedding for source and target.
        tie_word_embeddings: One matrix for the target's embedding and the output layer.
        pad_token_id: Fills up rows.
        eos_token_id: Ends a sentence.
        decoder_start_token_id: What the decoder reads first.

    Raises:
        NmtError: If the numbers do not fit together.
    """

    model_type = "rnnsearch"
    keys_to_ignore_at_inference = ("past_key_values",)

    vocab_size: int = 32_000
    decoder_vocab_size: Any = None
    hidden_size: int = 512
    num_hidden_layers: int = 4
    dropout: float | int = 0.2
    share_encoder_decoder_embeddings: bool = False
    tie_word_embeddings: bool = True
    pad_token_id: int = 0
    eos_token_id: int = 1
    decoder_start_token_id: int = 0
    use_cache: bool = True
    is_encoder_decoder: bool = True

    def __post_init__(self, **others: Any) -> None:
        width, layers = self.hidden_size, self.num_hidden_layers
        if width < 2 or width % 2 or layers < 1:
            raise NmtError(
                f"RNNSearch cannot have {layers} layers {width} wide, expected one or more layers "
                "of an even width"
            )
        self.decoder_vocab_size = target = self.decoder_vocab_size or self.vocab_size
        tied = self.tie_word_embeddings
        if self.share_encoder_decoder_embeddings and (target != self.vocab_size or not tied):
            raise NmtError(
                f"RNNSearch cannot share an embedding between {self.vocab_size} source and "
                f"{target} target tokens with tie_word_embeddings={tied}, expected one vocabulary "
                "and tied weights"
            )
        super().__post_init__(**others)


class RNNSearchForConditionalGeneration(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """The translation model: an encoder, a decoder, and the output layer."""

    config_class = RNNSearchConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    _is_stateful = True  # what the decoder has read cannot be taken back
    _tied_weights_keys = {"lm_head.weight": "decoder.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: RNNSearchConfig) -> None:
        super().__init__(config)
        if config.share_encoder_decoder_embeddings:
            self._tied_weights_keys = dict.fromkeys(
                ("lm_head.weight", "decoder.embed_tokens.weight"), "encoder.embed_tokens.weight"
            )
        self.encoder = RNNSearchEncoder(config)
        self.decoder = RNNSearchDecoder(config)
        self.lm_head = nn.Linear(config.hidden_size, config.decoder_vocab_size, bias=False)
        self.post_init()

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: RNNSearchState | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **others: Any,  # noqa: ARG002
    ) -> Seq2SeqLMOutput:
        """Return the logits of every next word, and the loss if labels are given.

        Args:
            input_ids: Source, (batch, source), padded on the right.
            attention_mask: 1 for its tokens and 0 for padding, (batch, source).
            decoder_input_ids: Target after its start token, (batch, target); padding comes last,
                so that it needs no mask.
            encoder_outputs: Output of the encoder, if it was run before.
            past_key_values: The decoder's state; the target continues from there.
            labels: Target, (batch, target); -100 is left out of the loss.
            use_cache: Whether to return the decoder's state; without labels by default.
            output_attentions: Whether to return the weights of the attention.
            num_items_in_batch: What the summed loss is divided by, if not by the labels of this
                call (gradients may be summed over several).
            **others: What other models take.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        if labels is not None and decoder_input_ids is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if use_cache is None:
            use_cache = labels is None and self.config.use_cache
        decoded = self.decoder(
            input_ids=decoder_input_ids,
            encoder_hidden_states=encoder_outputs[0],
            encoder_attention_mask=attention_mask,
            past_key_values=past_key_values,
            use_cache=use_cache,
            output_attentions=output_attentions,
        )
        logits = self.lm_head(decoded.last_hidden_state)  # (batch, target, vocab)
        return Seq2SeqLMOutput(
            loss=None if labels is None else _loss(logits, labels, num_items_in_batch),
            logits=logits,
            past_key_values=decoded.past_key_values,
            cross_attentions=decoded.cross_attentions,
            encoder_last_hidden_state=encoder_outputs[0],
        )

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Return labels shifted by one behind the start token."""
        config = self.config
        start = config.decoder_start_token_id
        shifted: Tensor = shift_tokens_right(labels, config.pad_token_id, start)
        return shifted

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the embedding of the source."""
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the embedding of the source."""
        self.encoder.embed_tokens = value

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the decoder makes its own at the first step of a generation

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the weights of a module.

        Embeddings are scaled by √width where they are read, so a standard deviation of 1/√width
        gives the LSTMs inputs, and the tied output layer logits, that are neither large nor small.
        """
        if isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=self.config.hidden_size**-0.5)
        elif isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.LSTM):
            for name, weight in module.named_parameters():
                init.copy_(weight, _lstm_weight(name, weight))


def _loss(logits: Tensor, labels: Tensor, items: Tensor | int | None) -> Tensor:
    """Return the cross-entropy of a word in float32."""
    flat = logits.flatten(0, 1).float(), labels.to(logits.device).flatten()
    if items is None:
        return functional.cross_entropy(*flat, ignore_index=-100)
    return functional.cross_entropy(*flat, ignore_index=-100, reduction="sum") / items


def _lstm_weight(name: str, weight: Tensor) -> Tensor:
    """Draw weights of an LSTM: its four gates lie one below the other.

    Recurrent matrices are orthogonal, so that what is remembered neither fades nor grows at once;
    gates of forgetting begin open (Józefowicz et al. 2015).
    """
    gates = torch.zeros_like(weight, memory_format=torch.contiguous_format).chunk(4)
    for number, gate in enumerate(gates):
        if name.startswith("weight_hh"):
            nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            nn.init.xavier_uniform_(gate)
        elif name.startswith("bias_ih") and number == 1:
            nn.init.ones_(gate)
    return torch.cat(gates)
