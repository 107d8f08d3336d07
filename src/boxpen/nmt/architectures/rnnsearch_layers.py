"""The parts of RNNSearch: encoder, decoder with attention, and what a decoder remembers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from transformers.cache_utils import Cache
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
)

from boxpen.errors import NmtError
from boxpen.models.engine.cudnn import run_lstm

__all__ = ["RNNSearchDecoder", "RNNSearchEncoder", "RNNSearchState"]


class RNNSearchEncoder(nn.Module):
    """Bidirectional LSTM layers over the source."""

    main_input_name = "input_ids"  # Transformers asks for it

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.scale = width**0.5
        self.embed_tokens = nn.Embedding(config.vocab_size, width)
        self.layers = nn.ModuleList(
            nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
            for _ in range(config.num_hidden_layers)
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        **others: Any,  # noqa: ARG002
    ) -> BaseModelOutput:
        """Return the states of a source, (batch, source, width); zero where it is filled up.

        Rows are packed, so that no LSTM reads what fills them up: going backwards, it would come
        first.

        Raises:
            NmtError: If a row is not filled up on its right.
        """
        lengths = _lengths(input_ids, attention_mask)
        packed = pack_padded_sequence(
            self.embed_tokens(input_ids) * self.scale,
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        x = packed.data  # (tokens, width)
        for number, layer in enumerate(self.layers):
            y = run_lstm(layer, _with(packed, self.dropout(x)))[0].data
            x = x + y if number else y
        states, _ = pad_packed_sequence(
            _with(packed, x), batch_first=True, total_length=input_ids.shape[1]
        )
        return BaseModelOutput(last_hidden_state=states)


class RNNSearchDecoder(nn.Module):
    """LSTM layers over the target; the lowest looks into the source for all others."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, layers = config.hidden_size, config.num_hidden_layers
        self.scale = width**0.5
        self.embed_tokens = nn.Embedding(config.decoder_vocab_size, width)
        self.start = nn.Linear(width, 2 * layers * width)
        self.layers = nn.ModuleList(
            nn.LSTM(2 * width if number else width, width, batch_first=True)
            for number in range(layers)
        )
        self.attention = AdditiveAttention(width)
        self.readout = nn.Linear(3 * width, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        input_ids: Tensor,
        encoder_hidden_states: Tensor,
        encoder_attention_mask: Tensor | None = None,
        past_key_values: RNNSearchState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        **others: Any,  # noqa: ARG002
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Return hidden states, (batch, target, width), of which the output layer makes logits.

        Raises:
            NmtError: If what is remembered is not this decoder's.
        """
        if past_key_values is not None and not isinstance(past_key_values, RNNSearchState):
            raise NmtError(
                f"RNNSearch was given a {type(past_key_values).__name__} as its past_key_values, "
                "expected an RNNSearchState, which it makes itself"
            )
        source = encoder_hidden_states
        mask = _mask(source, encoder_attention_mask)
        state = RNNSearchState() if past_key_values is None else past_key_values
        hidden, cell, keys = state.hidden, state.cell, state.keys
        if hidden is None or cell is None or keys is None:
            hidden, cell = self._first(source, mask)
            keys = self.attention.keys(source)
        ends = []
        embedded = self.dropout(self.embed_tokens(input_ids) * self.scale)

        def run(number: int, read: Tensor) -> Tensor:
            begin = (hidden[number : number + 1], cell[number : number + 1])
            out: Tensor
            out, end = run_lstm(self.layers[number], read, begin)
            ends.append(end)
            return out

        x = run(0, embedded)  # (batch, target, width)
        context, weights = self.attention(x, keys, source, mask)
        for number in range(1, len(self.layers)):
            x = x + run(number, self.dropout(torch.cat([x, context], dim=-1)))
        out = torch.tanh(self.readout(torch.cat([x, context, embedded], dim=-1)))
        out = self.dropout(out)
        if use_cache:
            state.hidden, state.cell = (torch.cat(part) for part in zip(*ends, strict=True))
            state.keys = keys
            state.length += input_ids.shape[1]
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=out,
            past_key_values=state if use_cache else None,
            cross_attentions=(weights[:, None],) if output_attentions else None,
        )

    def _first(self, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states before the first word, each (layers, batch, width)."""
        share = mask.to(source.dtype) / mask.sum(1, keepdim=True).clamp(min=1)
        mean = torch.bmm(share[:, None], source)[:, 0]  # (batch, width)
        drawn = torch.tanh(self.start(mean)).view(len(source), 2, len(self.layers), -1)
        hidden, cell = drawn.permute(1, 2, 0, 3).contiguous()
        return hidden, cell


class RNNSearchState(Cache):  # type: ignore[misc]
    """What the decoder must remember to go on after the words that it has read.

    Transformers calls it the cache and reorders it with the beams. It does not
    grow with the target.

    Attributes:
        hidden: Output of every layer, (layers, batch, width); None before the first word.
        cell: Memory of every layer, (layers, batch, width).
        keys: The source, projected for attention once, (batch, source, width).
        length: Words read.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.hidden: Tensor | None = None
        self.cell: Tensor | None = None
        self.keys: Tensor | None = None
        self.length = 0

    def get_seq_length(self, layer_idx: int = 0) -> int:  # noqa: ARG002
        """Return how many words were read."""
        return self.length

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i go on from what row ``beam_idx[i]`` remembers."""
        self.batch_select_indices(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows, in this order."""
        if self.hidden is None or self.cell is None or self.keys is None:
            return
        indices = indices.to(self.hidden.device)
        self.hidden = self.hidden.index_select(1, indices)
        self.cell = self.cell.index_select(1, indices)
        self.keys = self.keys.index_select(0, indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every row."""
        if self.hidden is not None:
            rows = torch.arange(self.hidden.shape[1], device=self.hidden.device)
            self.batch_select_indices(rows.repeat_interleave(repeats))

    def reset(self) -> None:
        """Forget everything."""
        self.hidden = self.cell = self.keys = None
        self.length = 0


class AdditiveAttention(nn.Module):
    """Bahdanau et al. (2015), A.1.2: score v · tanh(W s + U h), context Σ softmax(score) h."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def keys(self, source: Tensor) -> Tensor:
        """Return U h, which is the same at every step, (batch, source, width)."""
        return self.key(source)  # type: ignore[no-any-return]

    def forward(
        self, states: Tensor, keys: Tensor, source: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return contexts, (batch, target, width), and weights, (batch, target, source)."""
        query = self.query(states)
        scores = self.score(torch.tanh(query[:, :, None] + keys[:, None])).squeeze(-1)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))  # no softmax in halves
        scores = scores.masked_fill(~mask[:, None], torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).to(source.dtype)
        context: Tensor = torch.bmm(weights, source)
        return context, weights


def _lengths(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return the lengths of rows, on the CPU, where packing wants them.

    Raises:
        NmtError: If a row is not filled up on its right.
    """
    rows, width = input_ids.shape
    if attention_mask is None:
        return torch.full((rows,), width)
    mask = attention_mask.bool().long()
    lengths, unbroken = torch.stack([mask.sum(1), mask.cumprod(1).sum(1)]).cpu()
    if not torch.equal(lengths, unbroken):
        row = int((lengths != unbroken).nonzero()[0, 0])
        raise NmtError(
            f"the attention mask of row {row} has a 0 before a 1, expected sources that are "
            "filled up on the right only"
        )
    least: Tensor = lengths.clamp(min=1)  # an empty row cannot be packed; nothing looks at it
    return least


def _mask(source: Tensor, attention_mask: Tensor | None) -> Tensor:
    if attention_mask is None:
        return torch.ones(source.shape[:2], dtype=torch.bool, device=source.device)
    return attention_mask.to(source.device).bool()


def _with(packed: PackedSequence, data: Tensor) -> PackedSequence:
    """Return the same rows with other data in them."""
    return PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
