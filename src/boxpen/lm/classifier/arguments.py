"""Translate training options into Transformers' ``TrainingArguments``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from boxpen.lm.classifier.options import Options

__all__ = ["training_arguments"]

_MOST_STEPS_BETWEEN_LOOKS = 500
_MOST_STEPS_BETWEEN_LINES = 1000


def training_arguments(
    options: Options, *, items: int, learning_rate: float, cuda: bool, folder: Path
) -> Any:
    """Return the ``TrainingArguments`` of a training on one device.

    Args:
        options: The training options.
        items: Number of training items.
        learning_rate: The peak learning rate.
        cuda: Whether a GPU is used; then with bfloat16 if supported, and weights in float32.
        folder: The folder for checkpoints.
    """
    import torch
    from transformers import TrainingArguments

    batches = math.ceil(items / options.batch_size)
    steps = math.ceil(batches / options.accumulate)  # of an epoch
    last = math.ceil(options.epochs * steps)
    every = min(options.every or min(steps, _MOST_STEPS_BETWEEN_LOOKS), last)
    lines = max(1, min(every // 10, _MOST_STEPS_BETWEEN_LINES))
    out = TrainingArguments(
        output_dir=str(folder.resolve()),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch_size,
        per_device_eval_batch_size=2 * options.batch_size,
        gradient_accumulation_steps=options.accumulate,
        learning_rate=learning_rate,
        warmup_steps=int(options.warmup * last),
        weight_decay=options.weight_decay,
        bf16=cuda and torch.cuda.is_bf16_supported(),
        use_cpu=not cuda,
        seed=options.seed,
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        # A divisor, so that no loss is averaged over the moment of a checkpoint.
        logging_steps=max(n for n in range(1, lines + 1) if every % n == 0),
        logging_nan_inf_filter=False,  # it would show another number in the place of nan
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        remove_unused_columns=False,
        label_names=["labels"],
        dataloader_pin_memory=cuda,
    )
    assert out.device is not None, "asking for it settles the number of GPUs"
    out._n_gpu = min(out.n_gpu, 1)  # a batch of candidates cannot be dealt out to several
    return out
