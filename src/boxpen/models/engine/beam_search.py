"""Beam search that drops finished sentences from the batch.

The beam search of Transformers keeps running a whole batch until its last sentence is done, which
wastes most of the work in a large batch. Here sentences leave when they are done, which changes no
translation, since nothing is added to a finished one. The hypotheses kept and returned, and when a
sentence is done, are as in Transformers; only the order of hypotheses with equal scores may differ.
Transformers' ``generate`` prepares the search and calls this one (``custom_generate``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.generation import (
    GenerateBeamEncoderDecoderOutput,
    LogitsProcessorList,
    SuppressTokensLogitsProcessor,
)

from boxpen.models.engine.beam_cache import beam_cache

__all__ = ["search_options"]

_NEVER = -1.0e9
"""Added to the score of a hypothesis that must not be chosen, as in Transformers."""
_WORTH_IT = 7 / 8
"""Sentences leave when this share of a batch is left, or less: the rest must be laid out anew."""
_OTHER_WAYS = (
    "cache_implementation",
    "constraints",
    "force_words_ids",
    "low_memory",
    "max_time",
    "prefill_chunk_size",
    "stop_strings",
)
"""Settings of a checkpoint that only the library's own search understands."""
_OF_ROWS = frozenset(
    (
        "ExponentialDecayLengthPenalty",
        "ForcedBOSTokenLogitsProcessor",
        "ForcedEOSTokenLogitsProcessor",
        "InfNanRemoveLogitsProcessor",
        "LogitNormalization",
        "MinLengthLogitsProcessor",
        "MinNewTokensLengthLogitsProcessor",
        "NoBadWordsLogitsProcessor",
        "NoRepeatNGramLogitsProcessor",
        "RepetitionPenaltyLogitsProcessor",
        "SequenceBiasLogitsProcessor",
        "SuppressTokensAtBeginLogitsProcessor",
        "SuppressTokensLogitsProcessor",
    )
)
"""What may change scores while sentences leave: it looks at each row alone."""


def search_options(model: Any, beam: int, forbidden: int | None = None) -> dict[str, Any]:
    """Return what ``generate`` takes to search this way, or in its own way where it must.

    Args:
        model: Any sequence-to-sequence model of Transformers.
        beam: Beam size.
        forbidden: A token that is not produced, instead of those that a checkpoint suppresses; its
            probability is not shared out.
    """
    settings = model.generation_config
    library = {} if forbidden is None else {"suppress_tokens": [forbidden]}
    if beam == 1 or hasattr(model, "_reorder_cache") or settings.use_cache is False:
        return library
    if any(getattr(settings, name, None) not in (None, False) for name in _OTHER_WAYS):
        return library
    if (getattr(settings, "num_beam_groups", None) or 1) > 1:
        return library
    options = {"custom_generate": _search, "forbidden": forbidden}
    cache = beam_cache(model)
    return options if cache is None else {**options, "past_key_values": cache}


def _search(
    model: Any,
    input_ids: Tensor,
    logits_processor: Any,
    stopping_criteria: Any,  # noqa: ARG001 (EOS and the limit of length, which the settings say)
    generation_config: Any,
    forbidden: int | None = None,
    **inputs: Any,
) -> Any:
    """Search as ``generate`` asks; ``inputs`` is what the model reads, with a row for each beam."""
    inputs |= {"use_cache": True, "return_dict": True}
    memory: Cache | None = inputs.pop("past_key_values", None)
    beams = _Beams(input_ids, generation_config)
    look = _look_every(input_ids.device)
    if forbidden is not None:
        others = [p for p in logits_processor if not isinstance(p, SuppressTokensLogitsProcessor)]
        logits_processor = LogitsProcessorList(others)
    may_leave = all(type(one).__name__ in _OF_ROWS for one in logits_processor)
    tokens = input_ids
    while True:
        read = model(decoder_input_ids=tokens, past_key_values=memory, **inputs)
        memory = read.past_key_values
        scores = torch.log_softmax(read.logits[:, -1], dim=-1, dtype=torch.float32)
        del read  # its logits are large
        if forbidden is not None:
            scores[:, forbidden] = -torch.inf
        if logits_processor:
            scores = logits_processor(beams.so_far(), scores)
        parents = beams.step(scores)
        del scores
        if beams.full():
            break
        left = beams.improving.nonzero()[:, 0] if beams.steps % look == 0 else None
        if left is not None and not len(left):
            break
        if left is None or not may_leave or len(left) > _WORTH_IT * len(beams):
            memory.reorder_cache(parents)
        else:
            parents = parents.view(len(beams), -1)[left].flatten()
            inputs = {k: _selected(v, parents) for k, v in inputs.items()}
            _select(memory, parents)
            beams.keep(left)
        tokens = beams.last()
    sequences, totals = beams.found(generation_config.num_return_sequences)
    if not generation_config.return_dict_in_generate:
        return sequences
    return GenerateBeamEncoderDecoderOutput(sequences=sequences, sequences_scores=totals)


def _look_every(device: torch.device) -> int:
    """Return after how many steps to look who is done: a GPU has to be waited for."""
    return 1 if device.type == "cpu" else 4


_OF_SENTENCES = (
    "_followed", "_totals", "_ended", "_ended_scores", "_has_ended", "improving", "_numbers"
)  # fmt: skip
"""Attributes of ``_Beams`` that have a row for each sentence."""


class _Beams:
    """Hypotheses of some sentences: those that are followed, and the best that have ended.

    Args:
        prompt: What the decoder reads first; rows behind each other are beams of a sentence.
        settings: Of ``generate``.

    Attributes:
        improving: Sentences for which a better hypothesis may still end.
        steps: Taken so far.
    """

    def __init__(self, prompt: Tensor, settings: Any) -> None:
        width, device = settings.num_beams, prompt.device
        shape = len(prompt) // width, width
        self._eos = settings._eos_token_tensor.to(device)
        self._penalty, self._early = settings.length_penalty, settings.early_stopping
        self._prompt, self._limit = prompt.shape[1], int(settings.max_length)
        self.steps = 0
        pad = settings._pad_token_tensor
        fill = int(self._eos[0] if pad is None else pad)
        self._followed = torch.full((*shape, self._limit), fill, device=device)
        self._followed[:, :, : self._prompt] = prompt.view(*shape, -1)
        self._totals = torch.zeros(shape, device=device)
        self._totals[:, 1:] = _NEVER  # or every beam would find the same
        self._ended = self._followed.clone()
        self._ended_scores = torch.full(shape, _NEVER, device=device)
        self._has_ended = torch.zeros(shape, dtype=torch.bool, device=device)
        self.improving = torch.ones(shape[0], dtype=torch.bool, device=device)
        # Sentences that have left, and which of the batch the others are.
        self._all = self._ended.clone(), self._ended_scores.clone()
        self._numbers = torch.arange(shape[0], device=device)

    def __len__(self) -> int:
        return len(self._totals)

    @property
    def _length(self) -> int:
        return self._prompt + self.steps

    def so_far(self) -> Tensor:
        """Return what is followed, a row for each beam."""
        return self._followed[:, :, : self._length].flatten(0, 1)

    def last(self) -> Tensor:
        """Return the last tokens of what is followed, (rows, 1)."""
        return self._followed[:, :, self._length - 1].reshape(-1, 1)

    def full(self) -> bool:
        """Whether everything is as long as it may be."""
        return self._length >= self._limit

    def step(self, scores: Tensor) -> Tensor:
        """Follow the best continuations, and keep the best that have ended.

        Args:
            scores: log p of every next token, (rows, vocabulary).

        Returns:
            The row that each surviving hypothesis continues.
        """
        sentences, width = self._totals.shape
        most = max(2, 1 + len(self._eos)) * width  # so many that enough of them go on
        # The best of all beams are among the best of each.
        scores, tokens = scores.topk(min(most, scores.shape[1]))
        scores = (scores.view(sentences, width, -1) + self._totals[:, :, None]).flatten(1)
        totals, places = scores.topk(min(most, scores.shape[1]))
        parents = places // tokens.shape[1]
        tokens = tokens.view(sentences, -1).gather(1, places)
        at, self.steps = self._length, self.steps + 1
        ends = torch.isin(tokens, self._eos) | self.full()
        # Those that go on
        followed, best = (totals + ends * _NEVER).topk(width)
        before, self._totals = self._followed, followed
        chosen = parents.gather(1, best)
        self._followed = _along(before, chosen)
        self._followed[:, :, at] = tokens.gather(1, best)
        # Those that end, of the best alone: the others are there to go on.
        ends, parents, tokens = ends[:, :width], parents[:, :width], tokens[:, :width]
        ending = _along(before, parents)
        ending[:, :, at] = tokens
        value = totals[:, :width] / self.steps**self._penalty
        value += (~(ends & self.improving[:, None])) * _NEVER
        both = torch.cat([self._ended_scores, value], dim=1)
        self._ended_scores, best = both.topk(width)
        self._ended = _along(torch.cat([self._ended, ending], dim=1), best)
        self._has_ended = torch.cat([self._has_ended, ends], dim=1).gather(1, best)
        self._look()
        rows = torch.arange(sentences, device=chosen.device)[:, None] * width
        return (rows + chosen).flatten()

    def _look(self) -> None:
        """See for which sentences a better hypothesis may still end."""
        length = self.steps
        if self._early == "never" and self._penalty > 0:
            length = self._limit - self._prompt
        whole = self._has_ended.all(1)
        hoped = self._totals[:, 0] / length**self._penalty
        self.improving &= ~whole | (hoped > self._ended_scores[:, -1])
        if self._early is True:
            self.improving &= ~whole

    def keep(self, left: Tensor) -> None:
        """Keep only some sentences."""
        self._put()
        for name in _OF_SENTENCES:
            setattr(self, name, getattr(self, name)[left])

    def found(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the best hypotheses of every sentence, and their scores."""
        self._put()
        sequences, scores = (kept[:, :number].flatten(0, 1) for kept in self._all)
        return sequences[:, : self._length], scores

    def _put(self) -> None:
        for kept, now in zip(self._all, (self._ended, self._ended_scores), strict=True):
            kept[self._numbers] = now


def _along(hypotheses: Tensor, beams: Tensor) -> Tensor:
    """Return the hypotheses of some beams, (sentences, beams, length)."""
    return hypotheses.gather(1, beams[:, :, None].expand(-1, -1, hypotheses.shape[2]))


def _selected(value: Any, rows: Tensor) -> Any:
    """Return some rows of what a model reads.

    Tensors have a row for each beam, those in what an encoder returns too. Tuples in that, as the
    states of all its layers, have not, and no decoder reads them.
    """
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, Mapping):
        tensors = {name: one for name, one in value.items() if isinstance(one, Tensor)}
        return type(value)(**{name: one.index_select(0, rows) for name, one in tensors.items()})
    return value


def _select(memory: Cache, rows: Tensor) -> None:
    """Let a cache keep some rows."""
    parts = [memory]
    if isinstance(memory, EncoderDecoderCache):
        parts = [memory.self_attention_cache, memory.cross_attention_cache]
    for part in parts:
        part.batch_select_indices(rows)
