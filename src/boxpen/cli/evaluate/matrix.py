"""Runs of a matrix: models × suites × recipes, estimated or run, and reported in one go."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from boxpen.cli.evaluate.workers import Workers
from boxpen.cli.output import (
    console,
    note,
    print_json,
    print_lines,
    print_matrix,
    print_runs,
    progress_bar,
    runs_object,
)
from boxpen.errors import ClusterError

if TYPE_CHECKING:
    from boxpen.matrix.cells import Cell
    from boxpen.matrix.in_process import Done
    from boxpen.matrix.settings import RunSettings
    from boxpen.models.cached import Progress
    from boxpen.scoring.cache import ScoreCache

__all__ = ["estimate_matrix", "executor_for", "run_matrix"]

_BARS = 6  # of what is under way


def estimate_matrix(matrices: Sequence[RunSettings], *, json: bool) -> None:
    """Print how much work a matrix is, without doing it."""
    from boxpen.matrix.estimate import estimates
    from boxpen.report.estimates import estimates_object, estimates_page

    cells = _planned(matrices)
    models = len({cell.loading for cell in cells if cell.plan is not None})
    found = []
    with _scores(matrices) as scores, progress_bar() as progress:
        for number, one in enumerate(estimates(cells, scores), 1):
            progress("timing models", number, models)
            found.append(one)
    left = _problems(cells)
    if json:
        print_json(estimates_object(found, left))
        return
    screen = console()
    for part in estimates_page(found, left).terminal():
        screen.print(part)


def run_matrix(
    matrices: Sequence[RunSettings], workers: Workers, *, whole: bool, json: bool
) -> bool:
    """Run a matrix and print its results; return whether every run was made.

    Args:
        matrices: Which models are evaluated on which suites, and how.
        workers: Who does the work.
        whole: Whether to print one table of all runs; each run on its own if not.
        json: Whether to print JSON.
    """
    cells = _planned(matrices)
    total = sum(cell.plan is not None for cell in cells)
    executor = executor_for(matrices, workers)
    done: list[Done] = []
    with _scores(matrices) as scores, progress_bar(most=_BARS) as progress:
        for one in _done(matrices, cells, scores, workers, executor, progress):
            done.append(_light(one) if whole and not json else one)
            progress("all runs", len(done), total)
            note(f"[{len(done)}/{total}] {_first_line(one)}")
    failed = [cell for cell in cells if cell.failure]
    if json:
        print_json(_object(cells, done))
    elif whole:
        _print_whole(cells, done)
    else:
        print_runs([one.run for one in done], [one.place for one in done])
    return not failed


def _planned(matrices: Sequence[RunSettings]) -> list[Cell]:
    from boxpen.matrix.cells import cells_of, plan_cells

    cells = cells_of(matrices)
    plan_cells(cells, note)
    return cells


def _scores(matrices: Sequence[RunSettings]) -> ScoreCache:
    from boxpen.folders import default_cache
    from boxpen.scoring.cache import ScoreCache

    return ScoreCache(matrices[0].cache or default_cache())


def executor_for(matrices: Sequence[RunSettings], workers: Workers) -> str | None:
    """Return who does the work of a matrix; None if this process does."""
    fast = any(m.precision == "fast" for m in matrices)
    alone = any(m.device is not None or m.max_cost is not None for m in matrices)
    chosen = workers.chosen(alone=alone or fast)
    if chosen is not None and fast:
        raise ClusterError("precision 'fast' needs a single process; leave out --executor")
    return chosen


def _done(
    matrices: Sequence[RunSettings],
    cells: Sequence[Cell],
    scores: ScoreCache,
    workers: Workers,
    executor: str | None,
    progress: Progress,
) -> Iterator[Done]:
    if executor is None:
        from boxpen.matrix.in_process import run_cells

        return run_cells(cells, scores, progress, note)
    from boxpen.matrix.shared import share_cells

    devices = {matrix.device for matrix in matrices}
    if len(devices) > 1:
        raise ClusterError("the runs of a plan with --executor must have the same device")
    return share_cells(cells, scores, *workers.opened(executor, devices.pop()), progress, note)


def _light(one: Done) -> Done:
    """Return a run without what was scored: of many, only the numbers are printed."""
    return replace(one, run=replace(one.run, candidates={}, tokens={}))


def _first_line(one: Done) -> str:
    """Return a run and its first number in one line."""
    rows = [row for row in one.run.summary() if row.slice == "all"]
    found = next((row for row in rows if row.metric in ("accuracy", "bleu")), None)
    number = f": {found.metric} {found}" if found else ""
    return f"{_name(one.cell)}{number}"


def _name(cell: Cell) -> str:
    recipe = f" ({cell.recipe})" if cell.recipe != "sound" else ""
    return f"{cell.suite} × {cell.model}{recipe}"


def _problems(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Return the cells without a run, each with the reason."""
    return [(_name(c), c.failure or c.lack) for c in cells if c.failure or c.lack]


def _object(cells: Sequence[Cell], done: Sequence[Done]) -> dict[str, Any]:
    return {
        **runs_object([one.run for one in done], [one.place for one in done]),
        **{
            name: [
                {"suite": c.suite, "model": c.model, "recipe": c.recipe, "reason": reason}
                for c in cells
                if (reason := getattr(c, field))
            ]
            for name, field in (("failed", "failure"), ("skipped", "lack"))
        },
    }


def _print_whole(cells: Sequence[Cell], done: Sequence[Done]) -> None:
    """Print one table of all runs for each main metric, and what is missing."""
    runs = [one.run for one in done]
    known = {row.metric for run in runs for row in run.summary()}
    for metric in ("accuracy", "bleu"):
        if metric in known:
            print_matrix(runs, metric)
    screen = console()
    print_lines(
        screen,
        [
            *(f"• skipped {_name(c)}: {c.lack}" for c in cells if c.lack),
            *(f"• failed {_name(c)}: {c.failure}" for c in cells if c.failure),
        ],
    )
    folders = " ".join(dict.fromkeys(shlex.quote(str(one.place.parent)) for one in done))
    if folders:
        note(f"kept in {folders}; boxpen report {folders} --html report.html shows every item")
