"""The training objective: cross-entropy of the targets with label smoothing."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from boxpen.nmt.architectures.attention import MOST
from boxpen.nmt.architectures.compiled import eager
from boxpen.nmt.data.inputs import IGNORED

__all__ = ["Objective", "cross_entropy"]


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

    def forward(self, labels: Tensor, **inputs: Tensor) -> Tensor:
        """Return the summed cross-entropy of the labels."""
        body = getattr(self.model, "model", None)
        if body is None or type(self.model).__name__ != "MarianMTModel":
            return cross_entropy(
                self.model(**inputs, use_cache=False).logits, labels, self.smoothing
            )
        # Marian adds a bias that is not a parameter, and zero in models trained here. Adding it
        # in float32 would double the logits, the largest tensor of all.
        odd = self.compiled and labels.shape[0] % MOST > 0  # the last batch of an epoch
        with eager(self.model) if odd else nullcontext():
            states = body(**inputs, use_cache=False).last_hidden_state
        return self._loss(states, self.model.lm_head.weight, labels, self.smoothing)


def _loss(states: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return cross_entropy(nn.functional.linear(states, weight), labels, smoothing)


def _fused_loss(states: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Return the same loss, written so that a compiled pass reads the logits only once."""
    logits = nn.functional.linear(states, weight).flatten(0, 1).float()
    labels = labels.flatten()
    spread = smoothing / logits.shape[1]
    hit = torch.arange(logits.shape[1], device=labels.device) == labels[:, None]
    wanted = torch.where(hit, 1 - smoothing + spread, spread)
    losses = logits.logsumexp(-1) - (logits * wanted).sum(-1)
    return losses.masked_fill(labels == IGNORED, 0.0).sum()
