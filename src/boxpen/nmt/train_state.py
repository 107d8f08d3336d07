"""The progress of a training, and how checkpoints store it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from boxpen.nmt.data.feed import Place
from boxpen.nmt.validation import ValidationResult

__all__ = ["TrainState"]


@dataclass
class TrainState:
    """The progress of a training: what a checkpoint stores besides weights and RNG state.

    Attributes:
        step: Steps done.
        place: The position in the data.
        epochs: The same position, in epochs.
        tokens: Target tokens seen.
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

    def as_dict(self, processes: int) -> dict[str, Any]:
        """Return the contents of ``state.json``, including the number of processes."""
        return {
            "step": self.step,
            "place": asdict(self.place),
            "epochs": self.epochs,
            "processes": processes,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "looks": [asdict(result) for result in self.validations],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], processes: int) -> TrainState:
        """Read the contents of ``state.json``, adapted to the current number of processes.

        Raises:
            KeyError: If a key is missing.
            TypeError: If a value has the wrong type.
            ValueError: If a number is out of range.
        """
        if not isinstance(state, dict):
            raise TypeError("not a JSON object")
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
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"its {name} is {value!r}, expected a whole number from 0")
        if then != processes:
            # The size of a step has changed; this is the nearest position that skips nothing.
            place = Place(place.epoch, place.steps * then // processes)
        return cls(
            step=state["step"],
            place=place,
            epochs=float(state["epochs"]),
            tokens=state["tokens"],
            seconds=float(state["seconds"]),
            validations=[ValidationResult(**result) for result in state["looks"]],
        )
