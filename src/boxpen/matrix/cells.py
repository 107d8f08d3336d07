"""The cells of a matrix: one model, one suite, one recipe each; planned before anything starts."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from boxpen.catalog import load_suite, recipes_of
from boxpen.errors import ModelError, PolicyError, nearest
from boxpen.items import Suite
from boxpen.matrix.settings import RunSettings
from boxpen.models.base import Model
from boxpen.models.remote.client import UnansweredError, UnreachableError
from boxpen.plans import Plan

__all__ = ["Cell", "by_model", "cells_of", "plan_cells"]

_LOADING = ("dtype", "precision", "labels", "device", "batch_size", "token_budget", "deterministic")
_AXES = ("model", "suite", "recipe")
_SILENT = (UnansweredError, UnreachableError)  # of servers


@dataclass(kw_only=True)
class Cell:
    """One model on one suite with one recipe.

    Attributes:
        settings: The other settings; those of its matrix.
        plan: What is asked of the model; None if the cell cannot be run, or has been.
        lack: Why the model cannot be evaluated on the suite; it is left out.
        failure: Why it failed for good.
        hardware: What its units were computed on, if workers did them.
    """

    settings: RunSettings
    model: str
    suite: str
    recipe: str
    plan: Plan | None = None
    lack: str = ""
    failure: str = ""
    hardware: tuple[str, ...] = ()

    @property
    def loading(self) -> tuple[object, ...]:
        """What tells apart models that are loaded."""
        return (_same(self.model), *(getattr(self.settings, name) for name in _LOADING))

    def key(self) -> tuple[object, ...]:
        """Return what equal cells have in common."""
        rest = (
            getattr(self.settings, f.name) for f in fields(self.settings) if f.name not in _AXES
        )
        return (_same(self.model), _same(self.suite), self.recipe, *rest)


def cells_of(matrices: Sequence[RunSettings]) -> list[Cell]:
    """Return the cells of matrices, equal ones once, those of one model together."""
    cells: dict[tuple[object, ...], Cell] = {}
    for settings in matrices:
        for model in settings.model:
            for suite in settings.suite or ("starter",):
                for recipe in settings.recipe:
                    cell = Cell(settings=settings, model=model, suite=suite, recipe=recipe)
                    cells.setdefault(cell.key(), cell)
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells.values():
        groups.setdefault(cell.loading, []).append(cell)
    return [cell for group in groups.values() for cell in group]


def plan_cells(cells: Sequence[Cell], note: Callable[[str], None]) -> None:
    """Plan all cells, each suite and model loaded once.

    What a model cannot be evaluated on is left out, and a server that does not answer has failed;
    the others can be run all the same.

    Args:
        cells: The cells, which get their plans.
        note: Called with what the user should know.

    Raises:
        BoxpenError: If a suite, a model or a recipe does not exist or cannot be used, or no cell
            can be run.
    """
    suites = {name: load_suite(name) for name in dict.fromkeys(cell.suite for cell in cells)}
    _check_recipes(cells, suites)
    models: dict[tuple[object, ...], Model | str] = {}
    judges: dict[tuple[object, ...], Model] = {}
    for cell in cells:
        if cell.loading not in models:
            try:
                models[cell.loading] = cell.settings.resolved(cell.model, note)
            except _SILENT as error:
                models[cell.loading] = str(error)
    for cell in cells:
        model = models[cell.loading]
        if isinstance(model, str):
            cell.failure = model
            continue
        judge = _judge(cell, judges, note) if cell.recipe == "generate" else None
        try:
            cell.plan = cell.settings.plan(model, suites[cell.suite], cell.recipe, judge)
        except _SILENT as error:
            cell.failure = str(error)
        except (ModelError, PolicyError) as error:
            cell.lack = str(error)
    if all(cell.lack for cell in cells):
        raise ModelError(cells[0].lack)
    limit = cells[0].settings.max_cost
    if limit is not None:
        from boxpen.models.remote.served import limit_cost

        limit_cost([cell.plan.model for cell in cells if cell.plan], limit)


def by_model(cells: Sequence[Cell]) -> Iterator[list[tuple[Cell, Plan]]]:
    """Yield the cells that can be run, model by model, each model freed before the next.

    The cells lose their plans. Who iterates must not keep them.
    """
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        if cell.plan is not None:
            groups.setdefault(cell.loading, []).append(cell)
    for group in groups.values():
        planned = [(cell, cell.plan) for cell in group if cell.plan is not None]
        for cell in group:
            cell.plan = None
        yield planned
        planned.clear()
        free_memory()


def free_memory() -> None:
    """Free what nothing refers to any more, on a GPU too."""
    gc.collect()
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _check_recipes(cells: Sequence[Cell], suites: dict[str, Suite]) -> None:
    """Refuse recipes that none of their suites has: they are misspelt."""
    known = {name: recipes_of(suite) for name, suite in suites.items()}
    for recipe in dict.fromkeys(cell.recipe for cell in cells):
        own = dict.fromkeys(cell.suite for cell in cells if cell.recipe == recipe)
        offered = sorted({one for suite in own for one in known[suite]})
        if recipe not in offered:
            raise PolicyError(
                f"no suite of the plan has a recipe '{recipe}', {nearest(recipe, offered)}"
            )


def _judge(
    cell: Cell, judges: dict[tuple[object, ...], Model], note: Callable[[str], None]
) -> Model:
    key = (cell.settings.judge, *(getattr(cell.settings, name) for name in _LOADING[3:]))
    if key not in judges:
        judges[key] = cell.settings.judge_model(note)
    return judges[key]


def _same(name: str) -> str:
    """Return a name by which paths to one place are recognised."""
    scheme, colon, rest = name.rpartition(":")
    try:
        path = Path(rest).expanduser()
        named = "/" in rest and path.exists()
        return f"{scheme}{colon}{path.resolve()}" if named else name
    except (OSError, RuntimeError, ValueError):
        return name
