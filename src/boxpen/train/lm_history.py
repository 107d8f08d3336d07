"""What the log of a language model's training says; a look is better with less held-out loss."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["best_look", "given_up", "lines", "loss_before"]

_SHOWN = ("step", "epoch", "loss", "learning_rate", "grad_norm", "valid_loss")


def best_look(history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the step with the least held-out loss, the first of equals; None before any."""
    looks = _looks(history)
    return min(looks, key=lambda look: (look[1], look[0]))[0] if looks else None


def given_up(history: Sequence[Mapping[str, Any]], patience: int) -> bool:
    """Tell whether the last ``patience`` looks brought nothing; never with a patience of 0."""
    best = best_look(history)
    if not patience or best is None:
        return False
    return sum(step > best for step, _ in _looks(history)) >= patience


def loss_before(history: Sequence[Mapping[str, Any]]) -> float:
    """Return the held-out loss before the first step."""
    return next(float(e["valid_loss"]) for e in history if "valid_loss" in e and not e["step"])


def lines(history: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the log file: no timings, which differ every time."""
    for entry in history:
        if "loss" in entry or "valid_loss" in entry:
            yield json.dumps({name: entry[name] for name in _SHOWN if name in entry}) + "\n"


def _looks(history: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """Return steps and losses; the look before the first step has no checkpoint."""
    return [(e["step"], e["valid_loss"]) for e in history if "valid_loss" in e and e["step"]]
