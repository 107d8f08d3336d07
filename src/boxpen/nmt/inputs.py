"""What a model reads of pairs: tokens as tensors, with what stands before if it wants that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from boxpen.nmt.context.bert_reading import BertReader
    from boxpen.nmt.examples import Examples

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
        sentences: So many sentences before, at most.
        source: Whether it reads them in the tokens of the source.
        limit: So many tokens of them, at most; sentences that are too far away are left out.
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
        import numpy as np

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
    import numpy as np
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
    import numpy as np

    return (np.arange(rows.shape[1]) < sizes[:, None]).astype(np.int64)


def _bert(
    examples: Examples, numbers: NDArray[np.int64], reads: Reads
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return context and source as the rows of BERT, and their mask."""
    import numpy as np

    assert reads.bert is not None
    rows = [
        reads.bert.joined(
            examples.before_tokens("bert", int(number), reads.sentences).tolist(),
            examples.tokens("bert", int(number)).tolist(),
        )
        for number in numbers
    ]
    lengths = np.asarray([len(row) for row in rows])
    out = np.full((len(rows), int(lengths.max())), reads.bert.tokenizer.pad_token_id, np.int64)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return out, _mask(out, lengths)
