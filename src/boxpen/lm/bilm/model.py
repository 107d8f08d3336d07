"""A bidirectional language model (ELMo, Peters et al. 2018) as a Transformers model.

Two models that know nothing of each other but the input layer and the softmax:

    read            <S>   the   box   </S>
    forward          └──>  the   box   </S>      log p(wᵢ | w₍<ᵢ₎)
    backward   <S>   the   box   <──┘            log p(wᵢ | w₍>ᵢ₎)

Every word is predicted once by either; the forward model predicts also the end, the backward model
the beginning. Each sentence begins with empty memories (ELMo was trained on a stream of sentences,
and carried them over).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers import initialization as init
from transformers.utils import ModelOutput

from boxpen.errors import ModelError
from boxpen.lm.bilm.config import BiLMConfig
from boxpen.lm.bilm.layers import CharacterCNN, Direction, Highway
from boxpen.lm.bilm.softmax import log_probabilities

__all__ = ["BiLMForLanguageModeling", "BiLMOutput", "register"]

_NONE = -100


def register() -> None:
    """Register the model with Transformers' Auto classes; doing so twice is harmless."""
    AutoConfig.register(BiLMConfig.model_type, BiLMConfig, exist_ok=True)
    AutoModel.register(BiLMConfig, BiLMForLanguageModeling, exist_ok=True)


@dataclass
class BiLMOutput(ModelOutput):  # type: ignore[misc]
    """What a model returns.

    Attributes:
        loss: Mean of both directions' negative log-likelihood, in nats per predicted token.
        tokens: How many tokens each direction predicted.
        forward_log_probabilities: (batch, time), each at the token that is predicted; nan where
            none was asked for.
        backward_log_probabilities: Likewise.
        last_hidden_state: Without labels: the states of both directions, (batch, time, 2 width).
    """

    loss: Tensor | None = None
    tokens: Tensor | None = None
    forward_log_probabilities: Tensor | None = None
    backward_log_probabilities: Tensor | None = None
    last_hidden_state: Tensor | None = None


class BiLMForLanguageModeling(PreTrainedModel):  # type: ignore[misc]
    """The language model: an input layer, two directions, and one softmax for both."""

    config_class = BiLMConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__(config)
        self.characters: CharacterCNN | None = None
        self.pieces: nn.Embedding | None = None
        if config.input == "characters":
            self.characters = CharacterCNN(config)
        else:
            self.pieces = nn.Embedding(config.vocab_size, config.hidden_size)
        self.forwards = Direction(config)
        self.backwards = Direction(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_log_probabilities: bool = False,
        num_items_in_batch: Tensor | int | None = None,
        return_dict: bool | None = None,
        **others: Any,  # noqa: ARG002
    ) -> BiLMOutput | tuple[Any, ...]:
        """Return the loss where labels are given, and log-probabilities where they are wanted.

        Args:
            input_ids: Sentences between <S> and </S>, padded on the right: the numbers of
                pieces, (batch, time), or the characters of words, (batch, time, characters).
            attention_mask: 1 for tokens and 0 for padding, (batch, time).
            labels: The numbers of the same tokens in the softmax, (batch, time); -100 for those
                that are not predicted. Where </S> is, the backward model predicts <S>; the label
                at <S> itself is not looked at.
            output_log_probabilities: Whether those of the labels are returned.
            num_items_in_batch: What the summed loss is divided by, if not by the tokens of this
                call (gradients may be summed over several).
            return_dict: False for a tuple.
            **others: What other models take.
        """
        lengths = self._lengths(input_ids, attention_mask)
        forwards, backwards = self._states(input_ids, lengths)
        if labels is None:
            output = BiLMOutput(last_hidden_state=torch.cat([forwards, backwards], dim=-1))
            return _returned(output, return_dict)
        ahead, behind = self._targets(labels.to(lengths.device), lengths)
        # What predicts a token is the state of its neighbour.
        ahead_rows, ahead_values = self._predicted(forwards, ahead, step=-1)
        behind_rows, behind_values = self._predicted(backwards, behind, step=1)
        tokens = torch.tensor(len(ahead_values), device=lengths.device)
        items = tokens.clamp(min=1) if num_items_in_batch is None else num_items_in_batch
        output = BiLMOutput(
            loss=-(ahead_values.sum() + behind_values.sum()) / 2 / items, tokens=tokens
        )
        if output_log_probabilities:
            output.forward_log_probabilities = _spread(ahead, ahead_rows, ahead_values)
            output.backward_log_probabilities = _spread(behind, behind_rows, behind_values)
        return _returned(output, return_dict)

    def get_input_embeddings(self) -> nn.Embedding | None:
        """Return the embedding of pieces; words that are spelt have none."""
        return self.pieces

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the embedding of pieces."""
        self.pieces = value

    def get_output_embeddings(self) -> nn.Linear:
        """Return the softmax layer."""
        return self.lm_head

    def set_output_embeddings(self, value: nn.Linear) -> None:
        """Replace the softmax layer."""
        self.lm_head = value

    def save_pretrained(
        self,
        save_directory: str | Path,
        is_main_process: bool = True,
        state_dict: dict[str, Tensor] | None = None,
        **options: Any,
    ) -> None:
        """Save the model.

        On a GPU the weights of an LSTM lie in one piece of memory, which safetensors refuses; each
        is copied into its own.
        """
        given = self.state_dict() if state_dict is None else state_dict
        apart = {name: tensor.detach().cpu().clone() for name, tensor in given.items()}
        super().save_pretrained(save_directory, is_main_process, apart, **options)

    def _lengths(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        rows, width = input_ids.shape[:2]
        spelt = self.characters is not None
        if input_ids.dim() != 2 + spelt:
            raise ModelError(
                f"a bidirectional model of {self.config.input} was given input_ids of "
                f"{input_ids.dim()} dimensions, expected {2 + spelt}"
            )
        if attention_mask is None:
            return torch.full((rows,), width, device=input_ids.device)
        mask = attention_mask.to(input_ids.device).bool().long()
        if not torch.equal(mask.cumprod(1), mask):
            raise ModelError(
                "the attention mask has a 0 before a 1, expected rows that are filled up on the "
                "right only"
            )
        lengths: Tensor = mask.sum(1)
        return lengths

    def _states(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return what either direction has read up to every token, (batch, time, width)."""
        if self.characters is not None:
            x = self.characters(input_ids)
        else:
            assert self.pieces is not None
            x = self.pieces(input_ids)
        # Each row is turned round within its length, so that what fills it up stays behind.
        order = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        turned = torch.where(order < lengths[:, None], lengths[:, None] - 1 - order, order)
        rows = torch.arange(len(x), device=x.device)[:, None]
        return self.forwards(x), self.backwards(x[rows, turned])[rows, turned]

    def _targets(self, labels: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return what each direction is asked for, at the place where it stands."""
        order = torch.arange(labels.shape[1], device=labels.device).expand(labels.shape)
        last = order == lengths[:, None] - 1
        ahead = labels.masked_fill((order == 0) | (order >= lengths[:, None]), _NONE)
        ended = ((ahead != _NONE) & last).any(1)
        behind = ahead.masked_fill(last, _NONE)
        behind[:, 0] = torch.where(ended, self.config.bos_token_id, _NONE)
        return ahead, behind

    def _predicted(
        self, states: Tensor, targets: Tensor, *, step: int
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Return the places of targets, and the log-probability of each."""
        row, column = (targets != _NONE).nonzero(as_tuple=True)
        values = log_probabilities(
            states[row, column + step],
            self.lm_head.weight,
            self.lm_head.bias,
            targets[row, column],
        )
        return (row, column), values

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the weights of a module, as in ELMo, except for the LSTMs."""
        if isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=1.0 if self.pieces is None else 0.1)
        elif isinstance(module, nn.Linear | nn.Conv1d):
            init.normal_(module.weight, std=module.weight[0].numel() ** -0.5)
            init.zeros_(module.bias)
        elif isinstance(module, Highway):
            init.constant_(module.gate.bias, -2.0)  # let words pass at first
        elif isinstance(module, nn.LSTM):
            for name, weight in module.named_parameters():
                init.copy_(weight, _lstm_weight(name, weight))


def _returned(output: BiLMOutput, return_dict: bool | None) -> BiLMOutput | tuple[Any, ...]:
    return tuple(output.to_tuple()) if return_dict is False else output


def _spread(targets: Tensor, places: tuple[Tensor, Tensor], values: Tensor) -> Tensor:
    out = torch.full(targets.shape, torch.nan, dtype=values.dtype, device=values.device)
    return out.index_put(places, values)


def _lstm_weight(name: str, weight: Tensor) -> Tensor:
    """Draw weights of an LSTM: its four gates lie one below the other; that of forgetting opens."""
    new = torch.zeros_like(weight, memory_format=torch.contiguous_format)
    if name.startswith("weight_hr"):
        return nn.init.xavier_uniform_(new)
    for number, gate in enumerate(new.chunk(4)):
        if name.startswith("weight"):
            nn.init.xavier_uniform_(gate)
        elif name.startswith("bias_ih") and number == 1:
            nn.init.ones_(gate)
    return new
