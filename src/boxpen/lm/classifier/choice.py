"""Multiple-choice models: which of these solutions reaches the goal?

Every candidate is scored by itself, after the goal; a softmax over the candidates of an item makes
them compete. A model with a class for multiple choice uses it; any other gets a classification head
with one label, which is equivalent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.items import Choice
from boxpen.lm.classifier.data import Examples, read_choice
from boxpen.lm.classifier.job import train
from boxpen.lm.classifier.trainable import Classifier
from boxpen.lm.options import Options

__all__ = ["MultipleChoice", "train_choice"]


def train_choice(
    data: str | Path,
    *,
    base: str,
    out: str | Path,
    labels: str | Path | None = None,
    valid: str | Path | None = None,
    valid_labels: str | Path | None = None,
    holdout: float = 0.1,
    exclude: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    label_start: int = 0,
    tokenizer: str | None = None,
    options: Options | None = None,
    device: str = "auto",
    progress: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Fine-tune a multiple-choice model, or resume an interrupted training.

    Args:
        data: The training data, see ``boxpen.lm.classifier.data.read_choice``.
        labels: Its labels, if they are in a separate file.
        valid: A file with held-out items.
        valid_labels: Their labels, likewise.
        label_start: The number of the first candidate.
        base: As for ``train_nli``; so is the rest.

    Returns:
        The result, as in ``result.json``.

    Raises:
        BoxpenError: If the data, the base, the folder or an option cannot be used.
    """

    def read(source: str | Path, beside: str | Path | None) -> Examples[Choice]:
        return read_choice(source, labels=beside, columns=columns, label_start=label_start)

    return train(
        MultipleChoice,
        lambda: (read(data, labels), read(valid, valid_labels) if valid is not None else None),
        base=base, out=out,
        tokenizer=tokenizer, holdout=holdout, exclude=exclude, options=options, device=device,
        progress=progress, note=note,
    )  # fmt: skip


class MultipleChoice(Classifier):
    """A model that scores every candidate of an item by itself."""

    kind = "choice"

    @staticmethod
    def auto(config: Any) -> str:
        """Return the name of the Auto class for a configuration."""
        from transformers import MODEL_FOR_MULTIPLE_CHOICE_MAPPING

        if type(config) in MODEL_FOR_MULTIPLE_CHOICE_MAPPING:
            return "AutoModelForMultipleChoice"
        return "AutoModelForSequenceClassification"

    @classmethod
    def head(cls, config: Any) -> dict[str, Any]:
        """Return the label of a model that has no class for multiple choice."""
        if cls.auto(config) == "AutoModelForMultipleChoice":
            return {}
        return {"num_labels": 1, "id2label": {0: "sensible"}, "label2id": {"sensible": 0}}

    @staticmethod
    def pairs(item: Choice) -> list[tuple[str, str]]:
        """Return the goal with every candidate."""
        goal = " ".join(text for text in (item.context, item.source) if text)
        return [(goal, candidate) for candidate in item.candidates]

    @staticmethod
    def gold(item: Choice) -> int:
        """Return the number of the right candidate."""
        return item.gold

    @staticmethod
    def answers(item: Choice) -> int:
        """Return how many candidates there are."""
        return len(item.candidates)

    def scores(self, inputs: dict[str, Any], sizes: Any) -> Any:
        """Return the scores of the candidates; what fills up a row of fewer is never chosen."""
        import torch

        if type(self.module).__name__.endswith("ForMultipleChoice"):
            # Each candidate as a choice of one: items may have different numbers of candidates.
            inputs = {name: value.unsqueeze(1) for name, value in inputs.items()}
        flat = self.module(**inputs).logits.reshape(-1)  # (candidates of all items,)
        places = torch.arange(int(sizes.max()), device=flat.device)
        there = places < sizes[:, None]  # (items, most candidates)
        out = torch.full(
            there.shape, torch.finfo(flat.dtype).min, device=flat.device, dtype=flat.dtype
        )
        return out.masked_scatter(there, flat)
