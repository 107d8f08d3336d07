"""The progress of a training: its position in the data, its validation results, its state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Limits", "Place", "Step", "TrainState", "ValidationResult", "best", "given_up"]

_HIGHER_IS_BETTER = ("accuracy", "bleu")


@dataclass(frozen=True)
class Place:
    """The position of a training in its data: an epoch and steps within it."""

    epoch: int = 0
    steps: int = 0


@dataclass(frozen=True)
class Step:
    """What one step of one process learns from.

    Attributes:
        batches: To be added up.
        tokens: Predictions in this step, over all processes: target tokens, or items.
        after: The position of the training after it.
        epochs: The same as a number: 1.5 is the middle of the second epoch.
    """

    batches: Sequence[dict[str, Tensor]]
    tokens: int
    after: Place
    epochs: float


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a training validates, logs and stops.

    Attributes:
        max_steps: Maximum number of steps.
        max_epochs: Maximum passes over the data.
        max_minutes: Maximum training time, summed over interruptions.
        validate_every: Steps between validations, each with a checkpoint.
        log_every: Steps between lines of the log.
        patience: Validations without improvement before stopping (0: never).
        metric: The field of ``ValidationResult`` that counts as improvement.
        average: Average the weights of this many last validations at the end, and keep the average
            if it beats the best single checkpoint.
        validate_first: Whether to validate before the first step, too.
    """

    max_steps: int | None = None
    max_epochs: int | None = None
    max_minutes: float | None = None
    validate_every: int
    log_every: int
    patience: int
    metric: str = "valid_loss"
    average: int = 1
    validate_first: bool = False


@dataclass(frozen=True)
class ValidationResult:
    """The result of validating at one step.

    Attributes:
        step: The training step; 0 is before the first one.
        valid_loss: Mean cross-entropy of a token or an item, in nats, without smoothing.
        bleu: BLEU of a translation model, if requested.
        signature: Its sacreBLEU signature.
        accuracy: Accuracy of a classifier.
    """

    step: int
    valid_loss: float
    bleu: float | None = None
    signature: str | None = None
    accuracy: float | None = None


def best(results: Sequence[ValidationResult], metric: str) -> ValidationResult:
    """Return the best result, the first one on a tie; there are no weights to keep at step 0."""
    sign = -1 if metric in _HIGHER_IS_BETTER else 1

    def cost(result: ValidationResult) -> float:
        value = getattr(result, metric)
        return sign * value if value is not None and math.isfinite(value) else math.inf

    return min((result for result in results if result.step), key=cost)


def given_up(results: Sequence[ValidationResult], metric: str, patience: int) -> bool:
    """Whether there was no improvement in the last ``patience`` validations; never if it is 0."""
    if not patience or not any(result.step for result in results):
        return False
    return len(results) - 1 - results.index(best(results, metric)) >= patience


@dataclass
class TrainState:
    """The progress of a training: what a checkpoint stores besides weights and RNG state.

    Attributes:
        step: Steps done.
        place: The position in the data.
        epochs: The same position, in epochs.
        tokens: Predictions so far: target tokens, or items.
        seconds: Time spent, including validation but not interruptions.
        validations: The validation results so far.
        log: The last line of the log.
    """

    step: int = 0
    place: Place = field(default_factory=Place)
    epochs: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    validations: list[ValidationResult] = field(default_factory=list)
    log: dict[str, Any] = field(default_factory=dict)

    def as_dict(self, multiple: int) -> dict[str, Any]:
        """Return the contents of ``state.json``, including ``Feed.multiple``."""
        return {
            "step": self.step,
            "place": asdict(self.place),
            "epochs": self.epochs,
            "processes": multiple,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "validations": [asdict(result) for result in self.validations],
        }

    @classmethod
    def from_dict(cls, state: Any, multiple: int) -> TrainState:
        """Read the contents of ``state.json``, adapted to the current ``Feed.multiple``."""
        if not isinstance(state, dict):
            raise TypeError("state.json is not an object")
        for key in ("step", "place", "epochs", "tokens", "seconds", "validations"):
            if key not in state:
                raise LookupError(f"state.json lacks '{key}'")
        place = Place(**state["place"])
        then = state.get("processes", 1)
        counts = {
            "step": state["step"],
            "tokens": state["tokens"],
            "place": place.epoch,
            "steps of its place": place.steps,
            "processes": then,
        }
        for name, value in counts.items():
            least = int(name == "processes")
            if not isinstance(value, int) or value < least:
                raise ValueError(f"its {name} is {value!r}, expected a whole number from {least}")
        if then != multiple:
            # The size of a step has changed; this is the nearest position that skips nothing.
            place = Place(place.epoch, place.steps * then // multiple)
        return cls(
            step=state["step"],
            place=place,
            epochs=float(state["epochs"]),
            tokens=state["tokens"],
            seconds=float(state["seconds"]),
            validations=[ValidationResult(**result) for result in state["validations"]],
        )
