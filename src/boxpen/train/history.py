"""What a training log says: the best look at what is held out, and whether to stop."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from boxpen.train.errors import TrainError

__all__ = ["ACCURACY", "LOSS", "Goal", "History", "read_history", "whole"]

_SHOWN = ("step", "epoch", "loss", "learning_rate", "grad_norm")


@dataclass(frozen=True)
class Goal:
    """What a training goes by: a number that every look at the held-out side has.

    A history is the log of Transformers' Trainer. A look before the first step tells where a
    training began; it is no choice, for no weights are kept of it.

    Attributes:
        name: What the log calls the number.
        told: What a person calls it.
        highest: Whether more of it is better.
        beside: What else the log has of a look.
    """

    name: str
    told: str
    highest: bool
    beside: tuple[str, ...] = ()

    def best_step(self, history: Sequence[Mapping[str, Any]]) -> int | None:
        """Return the step of the best look, the first of equals; None before any."""
        looks = self._looks(history)
        sign = -1 if self.highest else 1
        return min(looks, key=lambda look: (sign * look[1], look[0]))[0] if looks else None

    def given_up(self, history: Sequence[Mapping[str, Any]], patience: int) -> bool:
        """Tell whether the last ``patience`` looks brought nothing; never with a patience of 0."""
        best = self.best_step(history)
        if not patience or best is None:
            return False
        return sum(step > best for step, _ in self._looks(history)) >= patience

    def over(self, history: History, patience: int) -> bool:
        """Tell whether a training ends here."""
        return history.step >= history.last or self.given_up(history.log, patience)

    def before(self, history: Sequence[Mapping[str, Any]]) -> float:
        """Return the number of the look before the first step."""
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
    """How far a training has come: its step, the last step there is, and its log."""

    step: int
    last: int
    log: list[dict[str, Any]]


def read_history(checkpoint: Path) -> History:
    """Return how far a checkpoint has come.

    Raises:
        TrainError: If it is damaged.
    """
    with whole(checkpoint):
        state = json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
        return History(int(state["global_step"]), int(state["max_steps"]), state["log_history"])


@contextlib.contextmanager
def whole(checkpoint: Path) -> Iterator[None]:
    """Turn whatever the reading of a checkpoint raises into one sentence.

    Args:
        checkpoint: Its folder, or that of the best weights.

    Raises:
        TrainError: If it cannot be read.
    """
    try:
        yield
    except Exception as error:  # every library has errors of its own for a damaged file
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise  # PyTorch's, which this file does without
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TrainError(
            f"{checkpoint} is damaged ({reason}); remove {checkpoint.parent}, and the same command "
            "begins anew"
        ) from error
