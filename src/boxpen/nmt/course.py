"""How far a training has come, and how a checkpoint keeps that."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from boxpen.nmt.feed import Place
from boxpen.nmt.validation import ValidationResult

__all__ = ["Course"]


@dataclass
class Course:
    """How far a training has come; what a checkpoint keeps besides weights.

    Attributes:
        step: Steps done.
        place: Where it stands in the data.
        epochs: The same as a number.
        tokens: Target tokens learnt from.
        seconds: Time spent, interruptions left out, validation included.
        validations: The validation results so far.
        log: The line that was logged last.
    """

    step: int = 0
    place: Place = field(default_factory=Place)
    epochs: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    validations: list[ValidationResult] = field(default_factory=list)
    log: dict[str, Any] = field(default_factory=dict)

    def state(self, processes: int) -> dict[str, Any]:
        """Return what a checkpoint keeps of it, with how many processes train."""
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
    def of(cls, state: dict[str, Any], processes: int) -> Course:
        """Return what a checkpoint says, for so many processes now.

        Raises:
            KeyError: If something is not there.
            TypeError: If it is of another kind.
            ValueError: If a number is none that can be.
        """
        if not isinstance(state, dict):
            raise TypeError("it is no JSON object")
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
            # Steps have another size now; this is the nearest place that nothing is left out at.
            place = Place(place.epoch, place.steps * then // processes)
        return cls(
            step=state["step"],
            place=place,
            epochs=float(state["epochs"]),
            tokens=state["tokens"],
            seconds=float(state["seconds"]),
            validations=[ValidationResult(**result) for result in state["looks"]],
        )
