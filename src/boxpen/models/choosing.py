"""Multiple-choice models: one logit per candidate, preceded by its context if there is one.

Two forms are in use: ``…ForMultipleChoice``, and ``…ForSequenceClassification`` with one output.
Candidates are scored one by one; the best logit wins, as the softmax over them would have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from boxpen.models.pairs import PairModel

if TYPE_CHECKING:
    import torch

__all__ = ["ChoiceModel"]


class ChoiceModel(PairModel):
    """A model that rates candidates."""

    kind = "choice"
    outputs = (0,)

    def values(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the logits themselves."""
        return logits

    def _logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        if type(self.module).__name__.endswith("ForMultipleChoice"):
            inputs = {name: array.unsqueeze(1) for name, array in inputs.items()}
        return super()._logits(inputs)  # (batch, 1)
