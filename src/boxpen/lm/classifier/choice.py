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
from boxpen.lm.classifier.data import read_choice
from boxpen.lm.classifier.job import Job, train
from boxpen.lm.classifier.options import Options
from boxpen.lm.classifier.task import Task

__all__ = ["CHOICE", "train_choice"]


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
        BoxpenError: If the data, the base, the folder or an option is not as it must be.
    """
    job = Job(
        task=CHOICE, base=base, tokenizer=tokenizer, out=Path(out), options=options or Options(),
        device=device, progress=progress, note=note,
    )  # fmt: skip
    job.check()

    def read(source: str | Path, beside: str | Path | None) -> Any:
        return read_choice(source, labels=beside, columns=columns, label_start=label_start)

    return train(
        job,
        read(data, labels),
        read(valid, valid_labels) if valid is not None else None,
        holdout=holdout,
        exclude=exclude,
    )


def _pairs(item: Choice) -> list[tuple[str, str]]:
    goal = " ".join(text for text in (item.context, item.source) if text)
    return [(goal, candidate) for candidate in item.candidates]


def _auto(config: Any) -> str:
    from transformers import MODEL_FOR_MULTIPLE_CHOICE_MAPPING

    if type(config) in MODEL_FOR_MULTIPLE_CHOICE_MAPPING:
        return "AutoModelForMultipleChoice"
    return "AutoModelForSequenceClassification"


def _head(config: Any) -> dict[str, Any]:
    if _auto(config) == "AutoModelForMultipleChoice":
        return {}
    return {"num_labels": 1, "id2label": {0: "sensible"}, "label2id": {"sensible": 0}}


def _collate(tokenizer: Any, features: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one long batch of all candidates; ``sizes`` has the number of candidates per item."""
    import torch

    batch = tokenizer.pad([pair for f in features for pair in f["pairs"]], return_tensors="pt")
    return {
        **batch,
        "sizes": torch.tensor([len(f["pairs"]) for f in features]),
        "labels": torch.tensor([f["labels"] for f in features]),
    }


def _scores(module: Any, batch: dict[str, Any]) -> Any:
    import torch

    sizes = batch["sizes"]
    inputs = {name: value for name, value in batch.items() if name != "sizes"}
    if type(module).__name__.endswith("ForMultipleChoice"):
        # Each candidate as a choice of one: items may have different numbers of candidates.
        inputs = {name: value.unsqueeze(1) for name, value in inputs.items()}
    flat = module(**inputs).logits.reshape(-1)  # (candidates of all items,)
    places = torch.arange(int(sizes.max()), device=flat.device)
    there = places < sizes[:, None]  # (items, most candidates)
    out = torch.full(there.shape, torch.finfo(flat.dtype).min, device=flat.device, dtype=flat.dtype)
    return out.masked_scatter(there, flat)


CHOICE = Task(
    name="choice",
    auto=_auto,
    head=_head,
    pairs=_pairs,
    gold=lambda item: int(item.gold),
    answers=lambda item: len(item.candidates),
    collate=_collate,
    scores=_scores,
)
