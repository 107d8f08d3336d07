"""Training of language models and classifiers: by epochs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxpen.errors import ModelError, TrainError
from boxpen.lm.feed import ItemFeed
from boxpen.lm.folder import OutFolder, tokenizer_digest
from boxpen.lm.options import Options
from boxpen.lm.trainable import HELD_OUT, Features, Trainable
from boxpen.training import loop
from boxpen.training.device import check_device
from boxpen.training.state import Limits, TrainState, ValidationResult

__all__ = ["ItemTraining", "Plan", "Trained", "check_start"]

_MOST_STEPS_BETWEEN_VALIDATIONS = 500
_MOST_STEPS_BETWEEN_LINES = 1000
_CLIP = 1.0


def check_start(out: str | Path, device: str) -> None:
    """Fail early, before any data is read, if a training cannot work."""
    OutFolder(Path(out)).check()
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"training needs {error.name}; install it with: pip install 'boxpen[hf]'"
        ) from None
    check_device(device)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is trained, on what, and how; for the rest see ``train_nli``."""

    make: Callable[[], Trainable]
    train: Sequence[Any]
    held_out: Sequence[Any]
    files: Mapping[str, bytes]  # of the folder: what is held out
    report: Callable[[Trained], dict[str, Any]]  # makes the result
    learning_rate: float
    options: Options
    data: str  # what the data is: items or sentences
    metric: str  # the field of ValidationResult that counts
    device: str
    progress: bool
    note: Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    loss: float  # held-out, in nats per prediction
    loss_before: float
    predictions: int
    right: dict[int, bool]  # of a classifier: by the place of a held-out item
    used: tuple[int, int]  # for training and held out
    cut: int
    empty: int  # left out, with nothing to predict
    steps: dict[str, Any]  # best_step, steps, stopped_early and processes of the result
    device: str


class ItemTraining(loop.Training):
    """One training on sentences or items that are already split."""

    advice = "a lower --learning-rate or a longer --warmup may help, with another --out"
    folder: OutFolder

    def __init__(self, folder: OutFolder, plan: Plan) -> None:
        self._bar = _Bar(self)
        super().__init__(
            folder,
            device=plan.device,
            seed=plan.options.seed,
            watch=self._bar.show if plan.progress else _ignore,
            note=plan.note,
        )
        self.plan, self.options = plan, plan.options
        self.unit = "items" if plan.metric == "accuracy" else "tokens"

    def run(self) -> dict[str, Any]:
        """Train to the end, from the start or from a checkpoint, and return the result.

        Raises:
            BoxpenError: If the memory is full, the folder cannot be written, a checkpoint is
                damaged, or the loss is NaN or Inf.
        """
        import torch

        from boxpen.models.engine.quiet import quiet

        try:
            with quiet(silent=False):
                return super().run()
        except torch.OutOfMemoryError:
            raise TrainError(
                "the device is out of memory; use a smaller --batch-size and a larger --accumulate"
            ) from None
        finally:
            self._bar.close()  # so that an error message starts on a line of its own

    def build(self) -> None:
        """Make the model, its optimiser and its data."""
        import torch

        from boxpen.lm.objective import Objective
        from boxpen.training.learner import Learner

        plan, options, device = self.plan, self.options, self.processes.device
        cuda = device.type == "cuda"
        self.trainable = self.processes.each(plan.make)
        self.train = self._features(plan.train, "for training")
        self.tested = self._features(plan.held_out, "held out")
        self.held_out = sorted(self.tested.features, key=lambda feature: feature.length)
        self.feed = ItemFeed(
            self.trainable,
            self.train.features,
            options,
            pin=cuda,
            rank=self.processes.rank,
            world=self.processes.count,
        )
        module = self.trainable.module.to(device).train()
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        groups: list[dict[str, Any]] = [  # biases and norms, which are vectors, are not decayed
            {"params": [weight for weight in weights if weight.ndim > 1]},
            {"params": [weight for weight in weights if weight.ndim < 2], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(
            groups,
            lr=plan.learning_rate,
            weight_decay=options.weight_decay,
            fused=cuda,
        )
        bf16 = cuda and torch.cuda.is_bf16_supported()
        self.learner = Learner(
            module, Objective(self.trainable), optimizer, self.processes, clip=_CLIP, bf16=bf16
        )
        steps = len(self.feed.groups(0))
        last = math.ceil(options.epochs * steps)
        every = min(options.every or min(steps, _MOST_STEPS_BETWEEN_VALIDATIONS), last)
        lines = max(1, min(every // 10, _MOST_STEPS_BETWEEN_LINES))
        self.limits = Limits(
            max_steps=last,
            validate_every=every,
            # A divisor, so that no loss is averaged over the moment of a checkpoint.
            log_every=max(n for n in range(1, lines + 1) if every % n == 0),
            patience=options.patience,
            metric=plan.metric,
            validate_first=plan.metric == "valid_loss",
        )

    def _features(self, data: Sequence[Any], what: str) -> Features:
        def some() -> Features:
            found = self.trainable.features(data, self.options.max_length)
            if not found.features:
                raise TrainError(
                    f"none of the {len(data):,} {self.plan.data} {what} has a token to predict"
                )
            return found

        return self.processes.each(some)

    def begin(self) -> None:
        """Record the settings, what is held out and the tokenizer."""
        self.folder.begin(self.plan.files, tokenizer_digest(self.trainable.tokenizer))

    def rate(self, step: int, done: float) -> float:  # noqa: ARG002
        """Return the learning rate: it rises in the warmup, then falls to zero on a line."""
        before, last = step - 1, self.limits.max_steps or 1
        warmup = int(self.options.warmup * last)
        share = before / warmup if before < warmup else (last - before) / max(1, last - warmup)
        return self.plan.learning_rate * share

    def validate(self, step: int) -> ValidationResult:
        """Return loss, and accuracy of a classifier, on the held-out side."""
        nats, predictions, right = self._evaluate()
        accuracy = sum(right) / len(right) if right else None
        return ValidationResult(step, nats / predictions, accuracy=accuracy)

    def _evaluate(self) -> tuple[float, int, list[bool]]:
        import torch

        nats, predictions, right = 0.0, 0, []
        size = 2 * self.options.batch_size
        with torch.no_grad():
            for start in range(0, len(self.held_out), size):
                batch = self.trainable.batch(self.held_out[start : start + size], HELD_OUT)
                found, count, answers = self.trainable.evaluate(self.learner.moved(batch))
                nats += found
                predictions += count
                right += answers
        return nats, predictions, right

    def result(
        self,
        best: ValidationResult,
        chosen: ValidationResult,  # noqa: ARG002
        averaged: list[int],  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the result of a finished training."""
        nats, predictions, right = self._evaluate()
        places = [feature.place for feature in self.held_out]
        steps = {
            "best_step": best.step,
            "steps": self.state.step,
            "stopped_early": self.state.step < (self.limits.max_steps or 0),
            "processes": self.processes.count,
        }
        return self.plan.report(
            Trained(
                loss=nats / predictions,
                loss_before=self.state.validations[0].valid_loss,
                predictions=predictions,
                right=dict(zip(places, right, strict=False)),
                used=(len(self.train.features), len(self.held_out)),
                cut=self.train.cut + self.tested.cut,
                empty=self.train.empty + self.tested.empty,
                steps=steps,
                device=self.learner.device.type,
            )
        )

    def save(self, folder: Path) -> None:
        """Write the finished model and its tokenizer."""
        self.trainable.module.cpu()
        self.trainable.save(folder)

    def size(self) -> str:
        """Return how many sentences or items there are."""
        return f"{len(self.train.features):,} {self.plan.data}"


class _Bar:
    """A progress bar on stderr, with the latest loss and held-out metric."""

    def __init__(self, training: ItemTraining) -> None:
        self.training = training
        self.bar: Any = None

    def show(self, state: TrainState) -> None:
        """Show the state of the training."""
        from tqdm import tqdm

        limits = self.training.limits
        if self.bar is None:
            self.bar = tqdm(
                total=limits.max_steps,
                initial=state.step,
                file=sys.stderr,
                unit="step",
                mininterval=0.1 if sys.stderr.isatty() else 30,  # a log file needs few lines
            )
        latest = {"loss": f"{state.log['loss']:.3f}"} if state.log else {}
        if state.validations:
            name = "accuracy" if limits.metric == "accuracy" else "loss"
            latest[f"held-out {name}"] = f"{getattr(state.validations[-1], limits.metric):.3f}"
        self.bar.set_postfix(latest, refresh=False)
        self.bar.update(state.step - self.bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self.bar is not None:
            self.bar.close()


def _ignore(_: TrainState) -> None: ...
