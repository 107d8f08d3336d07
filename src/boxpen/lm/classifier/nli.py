"""Classifiers of inference: entailment, neutral or contradiction?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.items import LABELS, Entail
from boxpen.lm.classifier.data import read_nli
from boxpen.lm.classifier.job import Job, train
from boxpen.lm.classifier.options import Options
from boxpen.lm.classifier.task import Task

__all__ = ["NLI", "train_nli"]


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
        out: The folder of the model, its log and its held-out items.
        valid: Held-out items of another file.
        holdout: The share of the items that is held out where there is no such file.
        exclude: Suites whose premises must not be learnt from, nor tested on.
        columns: Other names of the columns.
        label_order: What labels 0, 1 and 2 mean.
        tokenizer: For ``new:``, the model whose tokenizer is taken.
        options: The knobs.
        device: ``auto``, ``cpu`` or ``cuda``.
        progress: Whether a bar is shown on stderr.
        note: Takes what a person may want to know on the way.

    Returns:
        The result, as in ``result.json``.

    Raises:
        BoxpenError: If the data, the base, the folder or an option is not as it must be.
    """
    reading = {"columns": columns, "label_order": label_order}
    job = Job(
        task=NLI, base=base, tokenizer=tokenizer, out=Path(out), options=options or Options(),
        device=device, progress=progress, note=note,
    )  # fmt: skip
    job.check()
    return train(
        job,
        read_nli(data, **reading),  # type: ignore[arg-type]
        read_nli(valid, **reading) if valid is not None else None,  # type: ignore[arg-type]
        holdout=holdout,
        exclude=exclude,
    )


def _pairs(item: Entail) -> list[tuple[str, str]]:
    return [(item.premise, item.hypothesis)]


def _gold(item: Entail) -> int:
    return LABELS.index(item.label)


def _head(_: Any) -> dict[str, Any]:
    names = dict(enumerate(LABELS))
    return {
        "num_labels": len(LABELS),
        "id2label": names,
        "label2id": {name: number for number, name in names.items()},
        "problem_type": "single_label_classification",
    }


def _collate(tokenizer: Any, features: list[dict[str, Any]]) -> dict[str, Any]:
    import torch

    batch = tokenizer.pad([f["pairs"][0] for f in features], return_tensors="pt")
    return {**batch, "labels": torch.tensor([f["labels"] for f in features])}


def _scores(module: Any, batch: dict[str, Any]) -> Any:
    return module(**batch).logits  # (items, labels)


NLI = Task(
    name="nli",
    auto=lambda _: "AutoModelForSequenceClassification",
    head=_head,
    pairs=_pairs,
    gold=_gold,
    answers=lambda _: len(LABELS),
    collate=_collate,
    scores=_scores,
)
