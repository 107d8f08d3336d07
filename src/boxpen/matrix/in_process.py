"""Run the cells of a matrix in this process, model by model; each run is saved when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.errors import CacheError, RunError
from boxpen.evaluate import run_plans
from boxpen.failures import reason
from boxpen.matrix.cells import Cell, by_model
from boxpen.plans import Plan
from boxpen.runs.directory import check_writable
from boxpen.runs.run import Run
from boxpen.scoring.cache import ScoreCache

if TYPE_CHECKING:
    from boxpen.models.cached import Progress

__all__ = ["Done", "run_cells"]

_ENDS_ALL = (CacheError, RunError)  # what every other cell would meet, too


@dataclass(frozen=True)
class Done:
    """A cell that was run, and where its run is saved."""

    cell: Cell
    run: Run
    place: Path


def run_cells(
    cells: Sequence[Cell],
    scores: ScoreCache,
    progress: Progress | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Done]:
    """Run planned cells and save each run, one model in memory at a time.

    A cell that fails gets the reason as its ``failure``, and the rest goes on.

    Args:
        cells: The cells; they lose their plans.
        scores: The score cache.
        progress: Called as the work goes on.
        note: Called with the failures, as they happen.

    Raises:
        CacheError: If scores cannot be kept.
        RunError: If a run cannot be saved.
    """
    for place in dict.fromkeys(cell.settings.out for cell in cells):
        check_writable(place)
    for planned in by_model(cells):
        while planned:
            done = _run(*planned.pop(0), scores, progress)
            if isinstance(done, Done):
                yield done
            else:
                note(f"{done.suite} × {done.model} failed: {done.failure}")
            del done


def _run(cell: Cell, plan: Plan, scores: ScoreCache, progress: Progress | None) -> Done | Cell:
    try:
        (run,) = run_plans([plan], scores, progress=progress)
        if cell.hardware:
            run = replace(run, info=replace(run.info, hardware=cell.hardware).signed())
        return Done(cell, run, run.save(cell.settings.out))
    except _ENDS_ALL:
        raise
    except Exception as error:  # whatever a model may raise: the others can do without it
        named = "" if type(error).__module__ == "boxpen.errors" else f"{type(error).__name__}: "
        cell.failure = f"{named}{reason(error)}"
        return cell
