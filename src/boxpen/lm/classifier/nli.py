"""Classifiers of inference: entailment, neutral or contradiction?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.items import LABELS, Entail
from boxpen.lm.classifier.data import Examples, read_nli
from boxpen.lm.classifier.job import train
from boxpen.lm.classifier.trainable import Classifier
from boxpen.lm.options import Options

__all__ = ["Inference", "train_nli"]


def train_nli(
    data: str | Path,
    *,
    base: str,
    out: str | Path,
    valid: str | Path | None = None,
    holdout: float = 0.1,
    exclude: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    label_order: Sequence[str] | None = None,
    tokenizer: str | None = None,
    options: Options | None = None,
    device: str = "auto",
    progress: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Fine-tune a classifier with three labels, or resume an interrupted training.

    Args:
        data: The training data, see ``boxpen.lm.classifier.data.read_nli``.
        base: ``hf:NAME_OR_PATH``, ``gguf:FILE``, a preset, ``new:tiny`` or ``new:small``.
        out: The folder for the model, its log and its held-out items.
        valid: A file with held-out items.
        holdout: Share of the items to hold out where there is no such file.
        exclude: Suites to exclude from training and held-out items.
        columns: Columns with other names.
        label_order: The meaning of labels 0, 1 and 2.
        tokenizer: For ``new:``, the model to take the tokenizer from.
        options: The training options.
        device: ``auto``, ``cpu`` or ``cuda``.
        progress: Whether to show a progress bar on stderr.
        note: Called with messages for the user.

    Returns:
        The result, as in ``result.json``.

    Raises:
        BoxpenError: If the data, the base, the folder or an option cannot be used.
    """

    def read(source: str | Path) -> Examples[Entail]:
        return read_nli(source, columns=columns, label_order=label_order)

    return train(
        Inference, lambda: (read(data), read(valid) if valid is not None else None),
        base=base, out=out,
        tokenizer=tokenizer, holdout=holdout, exclude=exclude, options=options, device=device,
        progress=progress, note=note,
    )  # fmt: skip


class Inference(Classifier):
    """A classifier with a label for every relation of premise and hypothesis."""

    kind = "nli"

    @staticmethod
    def auto(config: Any) -> str:  # noqa: ARG004
        """Return the name of the Auto class for a configuration."""
        return "AutoModelForSequenceClassification"

    @classmethod
    def head(cls, config: Any) -> dict[str, Any]:  # noqa: ARG003
        """Return the labels by name."""
        return {
            "num_labels": len(LABELS),
            "id2label": dict(enumerate(LABELS)),
            "label2id": {name: number for number, name in enumerate(LABELS)},
            "problem_type": "single_label_classification",
        }

    @staticmethod
    def pairs(item: Entail) -> list[tuple[str, str]]:
        """Return the premise with its hypothesis."""
        return [(item.premise, item.hypothesis)]

    @staticmethod
    def gold(item: Entail) -> int:
        """Return the number of the label."""
        return LABELS.index(item.label)

    @staticmethod
    def answers(item: Entail) -> int:  # noqa: ARG004
        """Return how many labels there are."""
        return len(LABELS)

    def scores(self, inputs: dict[str, Any], sizes: Any) -> Any:  # noqa: ARG002
        """Return the logits of the labels."""
        return self.module(**inputs).logits
