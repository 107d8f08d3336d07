"""What a training log says: the best look at the held-out items, and whether to stop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["History", "best_step", "given_up", "read_history", "shown"]

_SHOWN = ("step", "epoch", "loss", "learning_rate", "grad_norm", "eval_loss", "eval_accuracy")


class History(NamedTuple):
    """How far a training has come: its step, the last step there is, and its log."""

    step: int
    last: int
    log: list[dict[str, Any]]


def best_step(history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the step with the highest held-out accuracy, the first of equals; None before any."""
    looks = _looks(history)
    return max(looks, key=lambda look: (look[1], -look[0]))[0] if looks else None


def given_up(history: Sequence[Mapping[str, Any]], patience: int) -> bool:
    """Tell whether the last ``patience`` looks brought nothing; never with a patience of 0."""
    best = best_step(history)
    if not patience or best is None:
        return False
    return sum(step > best for step, _ in _looks(history)) >= patience


def read_history(checkpoint: Path) -> History:
    """Return how far a checkpoint has come."""
    state = json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
    return History(int(state["global_step"]), int(state["max_steps"]), state["log_history"])


def shown(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is kept of an entry of the log: no timings, which differ every time."""
    if "loss" not in entry and "eval_accuracy" not in entry:
        return None
    return {name: entry[name] for name in _SHOWN if name in entry}


def _looks(history: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    return [(int(e["step"]), float(e["eval_accuracy"])) for e in history if "eval_accuracy" in e]
