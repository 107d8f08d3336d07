"""Training logs and checkpoints: the best step so far, and whether to stop."""

from __future__ import annotations

import contextlib
import errno
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from boxpen.errors import TrainError

__all__ = [
    "ACCURACY",
    "LOSS",
    "PREFIX",
    "Goal",
    "History",
    "checkpoints",
    "last_checkpoint",
    "read_history",
    "whole",
]

PREFIX = "checkpoint-"
"""Of the folder of a checkpoint, before its step."""

_SHOWN = ("step", "epoch", "loss", "learning_rate", "grad_norm")
# Of a file or folder that is not as it must be; an OSError with another number tells nothing of it.
_OF_DAMAGE = (None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
# What PyTorch says in errors that have no type of their own, and safetensors of a file.
_OF_THE_MACHINE = re.compile(
    r"\bCUDA (error|driver|device|GPUs|enabled|out of)|NVIDIA driver|\bCUDNN_|\bcuDNN error|"
    r"\bCUBLAS_|(allocate|enough|out of) memory|Permission denied"
)


@dataclass(frozen=True)
class Goal:
    """The metric that decides which step is best, logged at every evaluation.

    A history is the log of Transformers' Trainer. An evaluation before the first step shows where
    the training began; it cannot be chosen as best, since its weights are not saved.

    Attributes:
        name: The metric's name in the log.
        told: The metric's name in messages.
        highest: Whether higher is better.
        beside: Other numbers that the log has for an evaluation.
    """

    name: str
    told: str
    highest: bool
    beside: tuple[str, ...] = ()

    def best_step(self, history: Sequence[Mapping[str, Any]]) -> int | None:
        """Return the step of the best evaluation, the first one on a tie; None before any."""
        looks = self._looks(history)
        sign = -1 if self.highest else 1
        return min(looks, key=lambda look: (sign * look[1], look[0]))[0] if looks else None

    def given_up(self, history: Sequence[Mapping[str, Any]], patience: int) -> bool:
        """Whether the last ``patience`` evaluations brought no improvement; never if it is 0."""
        best = self.best_step(history)
        if not patience or best is None:
            return False
        return sum(step > best for step, _ in self._looks(history)) >= patience

    def over(self, history: History, patience: int) -> bool:
        """Whether a training ends here."""
        return history.step >= history.last or self.given_up(history.log, patience)

    def before(self, history: Sequence[Mapping[str, Any]]) -> float:
        """Return the metric before the first step."""
        return next(float(e[self.name]) for e in history if self.name in e and not e["step"])

    def lines(self, history: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Yield the lines of the log file: no timings, which differ every time."""
        names = (*_SHOWN, *self.beside, self.name)
        for entry in history:
            if "loss" in entry or self.name in entry:
                yield json.dumps({name: entry[name] for name in names if name in entry}) + "\n"

    def _looks(self, history: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
        return [
            (int(e["step"]), float(e[self.name])) for e in history if self.name in e and e["step"]
        ]


ACCURACY = Goal("eval_accuracy", "held-out accuracy", highest=True, beside=("eval_loss",))
"""That of classifiers."""
LOSS = Goal("valid_loss", "held-out loss", highest=False)
"""That of language models."""


class History(NamedTuple):
    """The progress of a training: its step, its last step, and its log."""

    step: int
    last: int
    log: list[dict[str, Any]]


def checkpoints(folder: Path) -> dict[int, Path]:
    """Return the whole checkpoints of a folder by their steps, in order."""
    found = {p.name.removeprefix(PREFIX): p for p in folder.glob(f"{PREFIX}*") if p.is_dir()}
    return {int(step): found[step] for step in sorted((s for s in found if s.isdigit()), key=int)}


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last whole checkpoint of a folder, or None."""
    return next(reversed(checkpoints(folder).values()), None)


def read_history(checkpoint: Path) -> History:
    """Return the progress of a checkpoint.

    Raises:
        TrainError: If it is damaged, or cannot be read.
    """
    with whole(checkpoint):
        state = json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
        return History(int(state["global_step"]), int(state["max_steps"]), state["log_history"])


@contextlib.contextmanager
def whole(checkpoint: Path, *, last: bool = True) -> Iterator[None]:
    """Turn any error in reading a checkpoint into a one-sentence message.

    Args:
        checkpoint: Its folder, or that of the best weights.
        last: Whether a training resumes from it. If not, later checkpoints depend on it and are
            useless without it.

    Raises:
        TrainError: If it cannot be read.
    """
    try:
        yield
    except Exception as error:  # every library has errors of its own for a damaged file
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if _of_the_machine(error):
            raise TrainError(f"{checkpoint} cannot be read ({reason}); it may be intact") from error
        raise TrainError(
            f"{checkpoint} is damaged ({reason}); {_way_out(checkpoint, last)}"
        ) from error


def _of_the_machine(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, tells of rights, memory, devices or packages."""
    while error is not None:
        if isinstance(error, ImportError | MemoryError):
            return True
        if isinstance(error, OSError) and error.errno not in _OF_DAMAGE:
            return True
        if _OF_THE_MACHINE.search(str(error)):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _way_out(checkpoint: Path, last: bool) -> str:
    """Return what to remove, and what rerunning the command does then."""
    if not last:
        return (
            "there is no other copy of the best weights, so remove "
            f"{checkpoint.parent} and rerun the same command to start over"
        )
    own = checkpoint.name.removeprefix(PREFIX)
    before = [p for step, p in checkpoints(checkpoint.parent).items() if step < int(own)]
    then = f"resume after {before[-1].name}" if before else "start over"
    return f"remove this folder and rerun the same command to {then}"
