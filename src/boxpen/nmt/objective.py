"""What a training makes small: the cross-entropy of the targets, with smoothed labels."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from boxpen.nmt.attention import MOST
from boxpen.nmt.compiled import eager

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from boxpen.nmt.prepared import Examples

__all__ = ["IGNORED", "Batch", "Objective", "batch_of", "cross_entropy"]

IGNORED = -100
"""The label of what fills up a row."""

Batch = dict[str, Tensor]


def batch_of(
    examples: Examples, numbers: NDArray[np.int64], *, pad: int, start: int, pin: bool = False
) -> Batch:
    """Return pairs as the input of a model, and the labels.

    The decoder reads the target behind its start token. There is a mask even where no source is
    shorter than another: a compiled model would be compiled once more for having none.
    """
    import numpy as np

    source = examples.padded("source", numbers, pad)
    labels = examples.padded("target", numbers, IGNORED)
    lengths = examples.source_lengths[numbers]
    read = np.empty_like(labels)
    read[:, 0] = start
    read[:, 1:] = labels[:, :-1]
    read[read == IGNORED] = pad
    mask = (np.arange(source.shape[1]) < lengths[:, None]).astype(np.int64)
    arrays = {
        "input_ids": source, "attention_mask": mask, "decoder_input_ids": read, "labels": labels,
    }  # fmt: skip
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {name: t.pin_memory() if pin else t for name, t in tensors.items()}


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Return the summed cross-entropy of labels, in float32 whatever the logits are."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1).float(),
        labels.flatten(),
        ignore_index=IGNORED,
        label_smoothing=smoothing,
        reduction="sum",
    )


class Objective(nn.Module):
    """A model as a function from a batch to its loss, as processes that train together want it.

    Args:
        model: A sequence-to-sequence model.
        smoothing: Share of the probability that is spread over all tokens.
        compiled: Whether the loss goes through torch.compile.
    """

    def __init__(self, model: Any, smoothing: float, *, compiled: bool = False) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.compiled = compiled
        self._loss = torch.compile(_fused_loss, dynamic=True) if compiled else _loss

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, decoder_input_ids: Tensor, labels: Tensor
    ) -> Tensor:
        """Return the summed cross-entropy of the labels."""
        inputs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "decoder_input_ids": decoder_input_ids,
            "use_cache": False,
        }
        body = getattr(self.model, "model", None)
        if body is None or type(self.model).__name__ != "MarianMTModel":
            return cross_entropy(self.model(**inputs).logits, labels, self.smoothing)
        # Marian adds a bias that is no parameter and zero in a model of our own; in float32 it
        # would double the logits, which are the largest thing there is.
        odd = self.compiled and input_ids.shape[0] % MOST > 0  # the last batch of an epoch
        with eager(self.model) if odd else nullcontext():
            states = body(**inputs).last_hidden_state
        return self._loss(states, self.model.lm_head.weight, labels, self.smoothing)


def _loss(states: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return cross_entropy(nn.functional.linear(states, weight), labels, smoothing)


def _fused_loss(states: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Return the same, written so that a compiler reads the logits once on either way."""
    logits = nn.functional.linear(states, weight).flatten(0, 1).float()
    labels = labels.flatten()
    spread = smoothing / logits.shape[1]
    hit = torch.arange(logits.shape[1], device=labels.device) == labels[:, None]
    wanted = torch.where(hit, 1 - smoothing + spread, spread)
    losses = logits.logsumexp(-1) - (logits * wanted).sum(-1)
    return losses.masked_fill(labels == IGNORED, 0.0).sum()
