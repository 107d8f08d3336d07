"""Model inputs from pairs: tokens as tensors, with context for models that read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from boxpen.nmt.data.bert_reading import BertReader
    from boxpen.nmt.data.examples import Examples

__all__ = ["IGNORED", "PLAIN", "Batch", "Reads", "batch_of"]

IGNORED = -100
"""The label of what fills up a row."""

Batch = dict[str, "Tensor"]

_CONTEXT = {
    "source": ("context_input_ids", "context_attention_mask"),
    "target": ("context_target_ids", "context_target_attention_mask"),
}


@dataclass(frozen=True)
class Reads:
    """What a model reads besides source and target.

    Attributes:
        sentences: Maximum number of previous sentences.
        source: Whether it reads them in the tokens of the source.
        limit: Maximum tokens of context; sentences that are too far away are left out.
        target: Also their translations.
        bert: Puts context and source together as a BERT reads them, for a model that has one.
    """

    sentences: int = 0
    source: bool = True
    limit: int = 128
    target: bool = False
    bert: BertReader | None = None

    def source_lengths(self, examples: Examples) -> NDArray[np.int64]:
        """Return how much is read on the side of the source, for the size of batches."""
        lengths = examples.source_lengths
        if not self.sentences or not self.source:
            return lengths
        return lengths + examples.context_lengths(self.counts(examples, np.arange(len(examples))))

    def counts(self, examples: Examples, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sentences before each pair are read: the same of both sides."""
        sides = ("source", "target") if self.target else ("source",)
        return examples.context_counts(numbers, self.sentences, self.limit, *sides)


PLAIN = Reads()


def batch_of(
    examples: Examples,
    numbers: NDArray[np.int64],
    *,
    pad: int,
    start: int,
    eos: int = 0,
    reads: Reads = PLAIN,
    pin: bool = False,
) -> Batch:
    """Return pairs as the input of a model, and the labels.

    The decoder reads the target behind its start token. There is a mask even where no source is
    shorter than another: a compiled model would be compiled once more for having none.
    """
    import torch

    source = examples.padded("source", numbers, pad)
    labels = examples.padded("target", numbers, IGNORED)
    read = np.empty_like(labels)
    read[:, 0] = start
    read[:, 1:] = labels[:, :-1]
    read[read == IGNORED] = pad
    arrays = {
        "input_ids": source,
        "attention_mask": _mask(source, examples.source_lengths[numbers]),
        "decoder_input_ids": read,
        "labels": labels,
    }
    if reads.sentences and reads.source:
        counts = reads.counts(examples, numbers)
        for side in ("source", "target") if reads.target else ("source",):
            rows, sizes = examples.padded_context(side, numbers, counts, pad=pad, eos=eos)
            ids, mask = _CONTEXT[side]
            arrays |= {ids: rows, mask: _mask(rows, sizes)}
    if reads.bert is not None:
        arrays["bert_input_ids"], arrays["bert_attention_mask"] = _bert(examples, numbers, reads)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {name: t.pin_memory() if pin else t for name, t in tensors.items()}


def _mask(rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return (np.arange(rows.shape[1]) < sizes[:, None]).astype(np.int64)


def _bert(
    examples: Examples, numbers: NDArray[np.int64], reads: Reads
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return context and source as the rows of BERT, and their mask: ``BertReader.joined``, of all.

    A context stands right before its source in the long row of tokens, so that one piece of it
    fills a row, but for a [SEP] between the two.
    """
    assert reads.bert is not None
    tokenizer = reads.bert.tokenizer
    first = numbers - np.minimum(examples.before[numbers], reads.sentences)
    starts, sizes = examples.starts("bert", numbers), examples.lengths("bert", numbers)
    room = np.maximum(reads.bert.max_length - sizes - 3, 0)
    context = np.minimum(starts - examples.starts("bert", first), room)
    between = (context > 0).astype(np.int64)
    lengths = context + between + sizes + 2
    out = np.full((len(numbers), int(lengths.max())), tokenizer.pad_token_id, np.int64)
    places, rows = np.arange(out.shape[1]), np.arange(len(numbers))
    taken = (places >= 1) & (places < lengths[:, None] - 1)
    taken &= (places != context[:, None] + 1) | (between[:, None] == 0)
    out[taken] = examples.pieces("bert", starts - context, context + sizes)
    out[:, 0] = tokenizer.cls_token_id
    out[rows, lengths - 1] = tokenizer.sep_token_id
    out[rows[between > 0], context[between > 0] + 1] = tokenizer.sep_token_id
    return out, _mask(out, lengths)
