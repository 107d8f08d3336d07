"""Transformers' Trainer for items: whole checkpoints, and an order that a restart can repeat."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch.utils.data import Sampler
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback

from boxpen.errors import TrainError
from boxpen.lm.classifier.history import ACCURACY, PREFIX, Goal, checkpoints, whole

__all__ = ["ItemTrainer"]

_STATES = ("optimizer.pt", "scheduler.pt", "rng_state.pth")  # of a checkpoint, beside its weights
_SORTED_TOGETHER = 8  # batches
Scores = Callable[[Any, dict[str, Any]], torch.Tensor]


class ItemTrainer(Trainer):  # type: ignore[misc]
    """Trains a module whose scores of an item, one for each answer, are put through a softmax.

    Args:
        scores: Gives the scores of a batch: (items, answers).
        lengths: The tokens of every training item, by which batches are made.
        log: The log file, one JSON object per line.
        patience: See ``Options``.
        progress: Whether to show a progress bar on stderr.
        goal: The metric that decides which step is best.
        **rest: For ``Trainer``.
    """

    def __init__(
        self,
        *,
        scores: Scores,
        lengths: Sequence[int],
        log: Path,
        patience: int,
        progress: bool,
        goal: Goal = ACCURACY,
        **rest: Any,
    ) -> None:
        super().__init__(
            **rest,
            compute_metrics=_accuracy,
            preprocess_logits_for_metrics=lambda scores, _: scores.argmax(-1),
        )
        self.scores = scores
        self.goal = goal
        # The loss below is the mean of a batch, to be divided by the batches of a step.
        self.model_accepts_loss_kwargs = False
        batch = self.args.train_batch_size * self.args.gradient_accumulation_steps
        self.order = _Order(lengths, batch, self.args.seed)
        for noisy in (PrinterCallback, ProgressCallback):  # both write on stdout
            self.remove_callback(noisy)
        self.add_callback(_TrainingCallback(goal, self.order, log, patience))
        self._bar = _Bar(goal)
        if progress:
            self.add_callback(self._bar)

    def run(self, start: Path | None, out: Path) -> None:
        """Train, from a checkpoint if there is one.

        Args:
            start: The checkpoint.
            out: The folder of the training.

        Raises:
            TrainError: If the memory is full, the folder cannot be written, the checkpoint is
                damaged, or the loss is NaN or Inf.
        """
        if start is not None:
            _check_states(start)
        try:
            self.train(resume_from_checkpoint=str(start) if start else None)
        except torch.OutOfMemoryError:
            raise TrainError(
                "the device is out of memory; use a smaller --batch-size and a larger --accumulate"
            ) from None
        except OSError as error:
            raise TrainError(f"{out} cannot be written: {error.strerror or error}") from error
        finally:
            self._bar.close()  # what is said of an error stands on a line of its own

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,  # noqa: ARG002 (the Trainer hands it over)
    ) -> Any:
        """Return the cross-entropy of a batch, and the scores if wanted."""
        labels = inputs["labels"]
        rest = {name: value for name, value in inputs.items() if name != "labels"}
        scores = self.scores(model, rest).float()  # (items, answers)
        loss = torch.nn.functional.cross_entropy(scores, labels)
        return (loss, {"loss": loss, "scores": scores}) if return_outputs else loss

    def _get_train_sampler(self, *_: Any) -> Sampler[int]:
        return self.order

    def _get_output_dir(self, trial: Any) -> str:  # noqa: ARG002 (the Trainer hands it over)
        return str(self._unfinished)

    @property
    def _unfinished(self) -> Path:
        return Path(self.args.output_dir) / ".unfinished"

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with whole(Path(checkpoint)) if checkpoint else contextlib.nullcontext():
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with whole(Path(checkpoint)) if checkpoint else contextlib.nullcontext():
            super()._load_rng_state(checkpoint)

    def _save_checkpoint(self, *rest: Any) -> None:
        """Save a checkpoint aside and move it in place whole; then drop what is needed no more."""
        folder, step = Path(self.args.output_dir), self.state.global_step
        shutil.rmtree(self._unfinished, ignore_errors=True)
        try:
            super()._save_checkpoint(*rest)
            (self._unfinished / f"{PREFIX}{step}").replace(folder / f"{PREFIX}{step}")
        except (OSError, RuntimeError, SafetensorError) as error:
            shutil.rmtree(self._unfinished, ignore_errors=True)
            last = max(checkpoints(folder), default=0)
            raise TrainError(
                f"the checkpoint of step {step} cannot be written to {folder} ({error}); "
                f"rerun the same command to resume from step {last}"
                if last
                else f"the checkpoint of step {step} cannot be written to {folder} ({error})"
            ) from error
        needed = self._needed()
        for old, place in checkpoints(folder).items():
            if old not in needed:
                shutil.rmtree(place, ignore_errors=True)

    def _needed(self) -> set[int | None]:
        """Return the steps whose checkpoints stay: this one, and the best."""
        return {self.state.global_step, self.goal.best_step(self.state.log_history)}


class _Order(Sampler[int]):
    """Items of similar length together, in an order that follows from the seed and the epoch alone.

    The sampler of Transformers draws from the global generator, whose state at the beginning of an
    epoch is not known to a training that goes on in the middle of it. Items are sorted within a
    few batches only, and the batches are shuffled: where labels go with length, as they often do
    in inference, a wider sort makes batches of one label each.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self.lengths = list(lengths)
        self.batch = batch
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        drawn: list[int] = torch.randperm(len(self), generator=generator).tolist()
        wide = self.batch * _SORTED_TOGETHER
        batches: list[list[int]] = []
        for start in range(0, len(drawn), wide):
            part = sorted(drawn[start : start + wide], key=lambda i: self.lengths[i])
            batches += [part[at : at + self.batch] for at in range(0, len(part), self.batch)]
        # A batch that is not full may only stand last, or all those behind it would be shifted.
        full = [batch for batch in batches if len(batch) == self.batch]
        rest = [batch for batch in batches if len(batch) < self.batch]
        order = torch.randperm(len(full), generator=generator).tolist()
        return (i for batch in [*(full[b] for b in order), *rest] for i in batch)


class _TrainingCallback(TrainerCallback):  # type: ignore[misc]
    """Sets the order of every epoch, writes the log, and stops early."""

    def __init__(self, goal: Goal, order: _Order, log: Path, patience: int) -> None:
        self.goal = goal
        self.order = order
        self.log = log
        self.patience = patience

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        # What was logged after the last checkpoint will come again.
        self.log.write_text("".join(self.goal.lines(state.log_history)), "utf-8")

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        self.order.epoch = int(state.epoch or 0)

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        if state.global_step >= state.max_steps:
            control.should_evaluate = True  # the last weights may be the best

    def on_log(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        entry = state.log_history[-1]
        for name, told in (("loss", "loss"), (self.goal.name, self.goal.told)):
            if not math.isfinite(entry.get(name, 0.0)):
                raise TrainError(_no_number(told, entry[name], entry["step"]))
        with self.log.open("a", encoding="utf-8") as stream:
            stream.writelines(self.goal.lines([entry]))

    def on_evaluate(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        if self.goal.given_up(state.log_history, self.patience):
            control.should_training_stop = True


class _Bar(TrainerCallback):  # type: ignore[misc]
    """A progress bar on stderr, with the latest loss and held-out metric."""

    def __init__(self, goal: Goal) -> None:
        self.names = {"loss": "loss", goal.name: goal.told}
        self.bar: Any = None
        self.latest: dict[str, str] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        from tqdm import tqdm

        self.bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            file=sys.stderr,
            unit="step",
            mininterval=0.1 if sys.stderr.isatty() else 30,  # a log file needs no film
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        entry = state.log_history[-1]
        self.latest |= {self.names[k]: f"{entry[k]:.3f}" for k in self.names if k in entry}
        self.bar.set_postfix(self.latest, refresh=False)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _check_states(checkpoint: Path) -> None:
    """Reject a checkpoint without its states: the Trainer would go on with new ones, silently."""
    with whole(checkpoint):
        for name in _STATES:
            if not (checkpoint / name).is_file():
                raise FileNotFoundError(f"it has no {name}")


def _no_number(told: str, found: float, step: int) -> str:
    if not step:
        return f"the {told} is {found} before the first step, expected a finite number"
    return (
        f"the {told} is {found} at step {step}; a lower --learning-rate or a longer --warmup may "
        "help, with another --out"
    )


def _accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions == prediction.label_ids).mean())}
