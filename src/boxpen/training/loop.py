"""The training loop: steps, validation, checkpoints, resuming and the final model.

A killed training resumes from its last checkpoint as if nothing had happened: the order of the data
follows from the seed, and checkpoints store the state of the optimiser and the random generators.
"""

from __future__ import annotations

import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from boxpen.ahead import ahead
from boxpen.errors import TrainError
from boxpen.training.arithmetic import fast_arithmetic, set_rng_state
from boxpen.training.checkpoints import averaged, load_weights, whole
from boxpen.training.feed import Feed
from boxpen.training.folder import RunFolder
from boxpen.training.learner import Learner, Learnt
from boxpen.training.processes import Processes
from boxpen.training.state import (
    Limits,
    TrainState,
    ValidationResult,
    best,
    given_up,
)

if TYPE_CHECKING:
    import torch

__all__ = ["AHEAD", "Training", "Watch"]

AHEAD = 64
"""Batches to prefetch: enough to go on while the order of the next epoch is made."""
Watch = Callable[[TrainState], None]


class Training(ABC):
    """One training in one process; several processes are started by ``torchrun``.

    A kind of training supplies what ``build`` sets, the learning rate, validation and the result.

    Args:
        folder: Its folder.
        device: ``auto``, ``cpu`` or ``cuda``.
        seed: Random seed for weights and dropout.
        watch: Called before the first step, when nothing is logged yet, and after every line of
            the log and every validation. The state it gets is updated with every step.
        note: Called with messages for the user.

    Attributes:
        limits: When it validates, logs and stops.
        learner: The model and its optimiser.
        feed: Its data.
    """

    unit: str = "tokens"
    """What is predicted."""
    advice: ClassVar[str]
    """What may help if the loss is NaN or Inf."""
    limits: Limits
    learner: Learner
    feed: Feed

    def __init__(
        self,
        folder: RunFolder,
        *,
        device: str,
        seed: int,
        watch: Watch = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        # Batches of many shapes would cut the memory of a GPU into pieces that fit no other.
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
        self.processes = Processes(device)
        self.folder, self.checkpoints, self.seed = folder, folder.checkpoints, seed
        self.watch, self.note = watch, note if self.chief else _silent
        self.state = TrainState()
        self._begun = 0.0

    @abstractmethod
    def build(self) -> None:
        """Set ``limits``, ``learner`` and ``feed``."""

    @abstractmethod
    def begin(self) -> None:
        """Record the settings of a new training in its folder."""

    @abstractmethod
    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step, from 1, when this share of the training is done."""

    @abstractmethod
    def validate(self, step: int) -> ValidationResult:
        """Evaluate the model on held-out data."""

    @abstractmethod
    def result(
        self, best: ValidationResult, chosen: ValidationResult, averaged: list[int]
    ) -> dict[str, Any]:
        """Return the result of a finished training, whose final weights are loaded.

        Args:
            best: The best validation.
            chosen: That of the final weights.
            averaged: The steps whose weights were averaged; empty if those of ``best`` were kept.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the finished model and its tokenizer into a folder."""

    @abstractmethod
    def size(self) -> str:
        """Return how much there is to learn from, such as ``500 pairs``."""

    def more(self, finished: dict[str, Any]) -> str:  # noqa: ARG002
        """Return a hint if more is asked for than a finished training did."""
        return ""

    @property
    def chief(self) -> bool:
        """Whether this process writes files and runs validation."""
        return self.processes.chief

    def run(self) -> dict[str, Any]:
        """Train to the end, from the start or from a checkpoint, and return the result.

        Raises:
            BoxpenError: If the folder belongs to another training, a checkpoint cannot be written,
                or the loss is NaN or Inf. Only one of several processes reports it.
        """
        if finished := self.processes.once(self.folder.result):
            self.note(f"{self.folder.folder} is finished; nothing was done{self.more(finished)}")
            return finished
        with ExitStack() as held:
            self.processes.once(lambda: held.enter_context(self.folder.alone()))
            self.processes.once(self.folder.check)
            return self._run()

    def _run(self) -> dict[str, Any]:
        import torch

        with fast_arithmetic(self.processes.device):
            torch.manual_seed(self.seed)
            self.build()
            if self.processes.rank:  # the same weights, but different dropout
                torch.manual_seed(self.seed + 1_000_003 * self.processes.rank)
            self.processes.once(self.begin)
            self.processes.each(self._resume)
            self._train()
            return self.processes.once(self._finish)

    def _resume(self) -> None:
        """Resume from the last checkpoint, if there is one."""
        last = self.checkpoints.last()
        if last is not None:
            with whole(last):
                self.learner.restore(last)
                saved = json.loads((last / "state.json").read_text("utf-8"))
                self.state = TrainState.from_dict(saved, self.feed.multiple)
            self.note(f"resuming from step {self.state.step}")
        if self.chief:
            self.folder.rewind(-1 if last is None else self.state.step)

    def _train(self) -> None:
        """Do steps until the end."""
        state, limits = self.state, self.limits
        if self._over():
            return
        self._begun = time.monotonic() - state.seconds
        self.note(self._told())
        if limits.validate_first and not state.step:
            self._validate()
        if self.chief:
            self.watch(state)
        pending: list[Learnt] = []  # losses on the device, looked at when a line is logged
        seen, since = 0, time.monotonic()
        depth = max(2, AHEAD // self.feed.accumulate)
        with closing(ahead(self.feed.steps(state.place), depth=depth)) as steps:
            for step in steps:
                rate = self.rate(state.step + 1, self._done())
                pending.append(self.learner.step(step, rate))
                state.step += 1
                state.place, state.epochs = step.after, step.epochs
                state.tokens += step.tokens
                seen += step.tokens
                validate, over = state.step % limits.validate_every == 0, self._over()
                if validate or over or state.step % limits.log_every == 0:
                    self._log(pending, seen, since)
                    pending, seen, since = [], 0, time.monotonic()
                    over = over or self._over()
                if validate or over:
                    self._validate()
                    self._checkpoint()
                    since = time.monotonic()
                    over = over or self._over()
                if over:
                    return

    def _told(self) -> str:
        """Describe the training: the first line of the log may take minutes to appear."""
        weights = self.learner.model.parameters()
        parameters = sum(weight.numel() for weight in weights if weight.requires_grad)
        where = f"on {self.learner.device.type}"
        if self.processes.count > 1:
            where += f" in {self.processes.count} processes"
        return f"training: {parameters:,} parameters, {self.size()}, {where}"

    def _log(self, pending: list[Learnt], seen: int, since: float) -> None:
        import torch

        state = self.state
        summed = torch.stack([learnt.loss for learnt in pending]).sum()
        loss = float(self.processes.summed(summed)) / seen
        seconds = time.monotonic() - since  # now that the device has done it all
        state.seconds = self.processes.once(self._elapsed)
        self.processes.once(lambda: self._check_finite("loss", loss))
        state.log = {
            "step": state.step,
            "epoch": state.epochs,
            "loss": round(loss, 6),
            "learning_rate": self.learner.optimizer.param_groups[0]["lr"],
            "gradient": round(float(pending[-1].gradient), 6),
            self.unit: state.tokens,
            f"{self.unit}_per_second": round(seen / seconds) if seconds else 0,
            "seconds": round(state.seconds, 1),
        }
        if self.chief:
            self.folder.log(state.log)
            self.watch(state)

    def _validate(self) -> None:
        state = self.state
        result, state.seconds = self.processes.once(self._seen)
        state.validations.append(result)
        if self.chief:
            self.watch(state)

    def _seen(self) -> tuple[ValidationResult, float]:
        """Return the validation result and the time elapsed after it."""
        rng_state = self.learner.rng_state()
        result = self._evaluated()
        set_rng_state(rng_state, self.learner.device)
        self._check_finite("held-out loss", result.valid_loss)
        seconds = self._elapsed()
        entry = {name: value for name, value in asdict(result).items() if value is not None}
        self.folder.log({**entry, "seconds": round(seconds, 1)})
        return result, seconds

    def _evaluated(self) -> ValidationResult:
        self.learner.model.eval()
        with self.learner.precision():
            result = self.validate(self.state.step)
        self.learner.model.train()
        return result

    def _check_finite(self, name: str, found: float) -> None:
        if math.isfinite(found):
            return
        if not self.state.step:
            raise TrainError(
                f"the {name} is {found} before the first step, expected a finite number"
            )
        raise TrainError(f"the {name} is {found} at step {self.state.step}; {self.advice}")

    def _checkpoint(self) -> None:
        rng_states = self.processes.gathered(self.learner.rng_state())
        self.processes.once(lambda: self._keep(rng_states))

    def _keep(self, rng_states: list[dict[str, torch.Tensor]]) -> None:
        """Write a checkpoint, with the RNG state of every process."""
        state = self.state

        def write(folder: Path) -> None:
            self.learner.save(folder, rng_states)
            saved = json.dumps(state.as_dict(self.feed.multiple))
            (folder / "state.json").write_text(saved, "utf-8")

        self.checkpoints.save(state.step, write, {*self._recent(), self._best().step})

    def _best(self) -> ValidationResult:
        return best(self.state.validations, self.limits.metric)

    def _recent(self) -> list[int]:
        """Return the steps whose weights are averaged at the end."""
        steps = [result.step for result in self.state.validations if result.step]
        return steps[-self.limits.average :]

    def _finish(self) -> dict[str, Any]:
        """Keep the best checkpoint or the average of the last ones, whichever is better."""
        model, found, recent = self.learner.model, self._best(), self._recent()
        chosen, mean = found, False
        weights = self.checkpoints.weights(found.step)
        if len(recent) > 1:
            average = averaged([self.checkpoints.at(step) for step in recent])
            load_weights(model, average)
            of_mean = self._evaluated()
            if best([found, of_mean], self.limits.metric) is of_mean:
                chosen, mean, weights = of_mean, True, average
        with whole(self.checkpoints.at(found.step)):
            load_weights(model, weights)
        model.eval()
        with self.learner.precision():
            result = self.result(found, chosen, recent if mean else [])
        self.folder.finish(self.save, result)
        return result

    def _over(self) -> bool:
        state, limits = self.state, self.limits
        if limits.max_steps is not None and state.step >= limits.max_steps:
            return True
        if limits.max_epochs is not None and state.place.epoch >= limits.max_epochs:
            return True
        if self._minutes() >= (limits.max_minutes or math.inf):
            return True
        return given_up(state.validations, limits.metric, limits.patience)

    def _minutes(self) -> float:
        # Several processes must agree: for them the clock of the chief counts, which they are told
        # with every line of the log.
        alone = self._begun and self.processes.count == 1
        return (self._elapsed() if alone else self.state.seconds) / 60

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _done(self) -> float:
        """Return the completed share of the training."""
        limits = self.limits
        shares = [
            self.state.step / limits.max_steps if limits.max_steps else 0.0,
            self._minutes() / limits.max_minutes if limits.max_minutes else 0.0,
        ]
        return max(shares)


def _silent(_: str) -> None: ...
