"""Run the cells of a matrix by units: workers do them, and the runs are made of what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.cluster.drive import Executor, Outcome, have_done
from boxpen.cluster.store import Store
from boxpen.cluster.units import Result, done_key, read_result
from boxpen.evaluate import asks
from boxpen.matrix.cells import Cell
from boxpen.matrix.cut import Slice, cut, rest, unknown
from boxpen.matrix.in_process import Done, run_cells
from boxpen.matrix.results import distrust, fill, unpacked
from boxpen.matrix.work import refuse_cost_limit
from boxpen.runs.directory import check_writable
from boxpen.scoring.cache import ScoreCache

if TYPE_CHECKING:
    from boxpen.models.cached import Progress

__all__ = ["share_cells"]


def share_cells(
    cells: Sequence[Cell],
    scores: ScoreCache,
    store: Store,
    executor: Executor,
    progress: Progress | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Done]:
    """Have planned cells run by workers, and save each run.

    A unit is done once: what the store has already, from whatever job, is taken from there. The
    results go into the score cache, and the runs are made from it as always. A cell with a unit
    that failed again and again gets the reason as its ``failure``, and the rest goes on.

    Args:
        cells: The cells; they lose their plans.
        scores: The user's score cache.
        store: Where units and results are kept.
        executor: Who does the units.
        progress: Called as the work goes on.
        note: Called with the failures, as they happen.

    Raises:
        CacheError: If scores cannot be kept.
        ClusterError: If the store or the executor cannot be used.
        RunError: If a run cannot be saved.
    """
    planned = [cell for cell in cells if cell.plan is not None]
    limits = {cell.settings.max_cost for cell in planned}
    refuse_cost_limit([c.plan.model for c in planned if c.plan], next(filter(None, limits), None))
    for place in dict.fromkeys(cell.settings.out for cell in planned):
        check_writable(Path(place))
    of = [
        _asked_again(cut(asks([cell.plan]), scores), scores, store)
        for cell in planned
        if cell.plan is not None
    ]
    wanted = {part.unit.id: part for parts in of for part in unknown(parts, scores)}
    places = _places({part.unit.id for parts in of for part in parts} - wanted.keys(), store)
    missing: dict[str, str] = {}
    if wanted:
        units = (part.unit for part in wanted.values())
        outcome = have_done(store, units, executor, progress and _summed(progress))
        missing = outcome.missing
        places |= _kept(outcome, wanted, scores)
        distrust([c.plan.model for c in planned if c.plan], missing.values(), scores)
    for cell, parts in zip(planned, of, strict=True):
        ids = dict.fromkeys(part.unit.id for part in parts)
        cell.hardware = tuple(sorted({places[i] for i in ids if places.get(i)}))
        lost = [i for i in ids if i in missing]
        if lost:
            cell.plan = None
            cell.failure = f"{missing[lost[0]]} ({_counted(len(lost), len(ids))})"
            note(f"{cell.suite} × {cell.model} failed: {cell.failure}")
    if wanted:
        outcome.forget()
    yield from run_cells(cells, scores, progress, note)


def _asked_again(parts: Sequence[Slice], scores: ScoreCache, store: Store) -> list[Slice]:
    """Return slices, those of servers without what is answered already.

    What workers found for an earlier command is kept first. Refusals are dropped: a server may
    answer now.
    """
    served = [part.unit.id for part in parts if part.ask.model.access]
    there = {name.rpartition("/")[2] for name in store.names("done/")} if served else set()
    out = []
    for part in parts:
        unit = part.unit.id
        result = read_result(store, unit) if unit in served and unit in there else None
        if result is not None and unpacked(part.ask, result.data)[1]:
            fill(scores, part.ask, result.data)
            store.delete(done_key(unit))
            claims = f"claims/{part.unit.group.id}/{unit}."
            for attempt in store.names(claims):
                store.delete(claims + attempt)
        out.append(rest(part, scores))
    return out


def _places(units: set[str], store: Store) -> dict[str, str]:
    """Return the hardware of units whose answers are in the score cache already."""
    there = {name.rpartition("/")[2] for name in store.names("done/")} if units else set()
    found = {unit: read_result(store, unit) for unit in sorted(units & there)}
    return {unit: _said(result) for unit, result in found.items() if result is not None}


def _kept(outcome: Outcome, wanted: dict[str, Slice], scores: ScoreCache) -> dict[str, str]:
    """Put all results into the score cache; return the hardware by unit."""
    places = {}
    for unit, result in outcome.results():
        fill(scores, wanted[unit].ask, result.data)
        places[unit] = _said(result)
    return places


def _said(result: Result) -> str:
    """Return the hardware in words."""
    facts = result.place
    # Threads change the order in which units are done, and hardly a number.
    return ", ".join(facts[name] for name in sorted(facts) if name != "threads")


def _summed(progress: Progress) -> Progress:
    """Return a report on the units of each label that also counts all of them."""
    seen: dict[str, tuple[int, int]] = {}

    def report(label: str, done: int, total: int) -> None:
        progress(label, done, total)
        seen[label] = done, total
        progress("all units", *map(sum, zip(*seen.values(), strict=True)))

    return report


def _counted(lost: int, total: int) -> str:
    return f"{lost} of {total} unit{'' if total == 1 else 's'} failed"
