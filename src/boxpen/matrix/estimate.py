"""How much work a matrix is, before it starts: counted exactly, and timed on a sample.

What is in the score cache counts as done, and so does what an earlier cell of the same model asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from boxpen.errors import BoxpenError
from boxpen.evaluate import asks
from boxpen.matrix.calibrate import SECONDS, Calibration, Work, calibrate, work_of
from boxpen.matrix.cells import Cell, by_model
from boxpen.models.base import Model
from boxpen.models.cached import Ask
from boxpen.plans import Plan
from boxpen.scoring.cache import ScoreCache

__all__ = ["CellEstimate", "ModelEstimate", "estimate_model", "estimates"]


@dataclass(kw_only=True)
class CellEstimate:
    """The work of one model on one suite with one recipe.

    Attributes:
        items: Items that are judged or translated.
        requests: What is asked of the model: texts to score, questions, sources.
        cached: How many of them are answered already.
        generated: How many of the others the model writes an answer to.
        tokens: Positions to compute, if every other text were scored alone.
        nodes: Positions to compute, with what is shared.
        seconds: How long that takes; None if that is not known.
    """

    suite: str
    recipe: str
    items: int
    requests: int = 0
    cached: int = 0
    generated: int = 0
    tokens: int = 0
    nodes: int = 0
    seconds: float | None = 0.0


@dataclass(kw_only=True)
class ModelEstimate:
    """The work of one model, and how fast it is.

    Attributes:
        device: Where it computes.
        load_seconds: How long it takes to load; zero if there is nothing to do.
        speeds: Nodes per second for each task that scores, characters for each that generates.
        notes: What the estimate leaves out.
    """

    model: str
    device: str
    load_seconds: float = 0.0
    speeds: dict[str, float] = field(default_factory=dict)
    cells: list[CellEstimate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long all of it takes; None if that is not known."""
        known = [cell.seconds for cell in self.cells if cell.seconds is not None]
        return sum(known, self.load_seconds) if len(known) == len(self.cells) else None

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as an object, with the total."""
        return {**asdict(self), "seconds": self.seconds}


def estimates(
    cells: Sequence[Cell], scores: ScoreCache, *, seconds: float = SECONDS
) -> Iterator[ModelEstimate]:
    """Estimate the work of planned cells, one model in memory at a time.

    Args:
        cells: The cells; they lose their plans.
        scores: What it has is done.
        seconds: Maximum time to time each model for.
    """
    for planned in by_model(cells):
        plans = [(cell.recipe, plan) for cell, plan in planned]
        planned.clear()
        yield estimate_model(plans, scores, seconds=seconds)
        plans.clear()


def estimate_model(
    plans: Sequence[tuple[str, Plan]], scores: ScoreCache, *, seconds: float = SECONDS
) -> ModelEstimate:
    """Estimate the work of one model: its plans, each with the name of its recipe."""
    model = plans[0][1].model
    model.attach(scores)
    found = ModelEstimate(model=model.name, device=_device(model))
    seen: set[bytes] = set()
    left: list[list[tuple[Ask, Work]]] = []
    for recipe, plan in plans:
        items = {item.id for item in (*plan.judged, *plan.sources)}
        row = CellEstimate(suite=plan.suite.name, recipe=recipe, items=len(items))
        missing = [_missing(ask, scores, seen, row) for ask in asks([plan])]
        left.append([(ask, work_of(ask)) for ask in missing if ask.items])
        found.cells.append(row)
        if plan.judge is not None:
            found.notes.append(f"{plan.suite.name}: without the time of the judge of translations")
    todo = [ask for few in left for ask, _ in few]
    speed = _calibrated(model, todo, seconds, found)
    for row, few in zip(found.cells, left, strict=True):
        if few and speed is None:
            row.seconds = None
        for ask, work in few:
            done = work if speed is None else speed.done(work)
            row.tokens += done.tokens
            row.nodes += done.nodes
            if speed is not None and row.seconds is not None:
                row.seconds += speed.seconds(ask.task, work)
    return found


def _missing(ask: Ask, scores: ScoreCache, seen: set[bytes], row: CellEstimate) -> Ask:
    """Return what of an ask is still to be done."""
    keys = ask.keys()
    kept = scores.translations if ask.makes_text else scores.records
    known = seen.union(kept(list(keys.values())))
    left = tuple(item for item, key in keys.items() if key not in known)
    seen.update(keys.values())
    row.requests += len(keys)
    row.cached += len(keys) - len(left)
    row.generated += len(left) if ask.makes_text else 0
    return replace(ask, items=left)


def _calibrated(
    model: Model, todo: Sequence[Ask], seconds: float, found: ModelEstimate
) -> Calibration | None:
    """Time a model; None if there is nothing to do, or it cannot be timed."""
    if not todo:
        return None
    if model.access or model.chat_access:
        found.notes.append("how long a server takes is not known, and nothing is sent to try")
        return None
    try:
        speed = calibrate(todo, seconds)
    except BoxpenError as error:
        found.notes.append(f"could not be timed: {error}")
        return None
    found.load_seconds, found.speeds = speed.load_seconds, speed.speeds
    found.device = _device(model)
    return speed


def _device(model: Model) -> str:
    return str(getattr(model, "device_type", "") or "")
