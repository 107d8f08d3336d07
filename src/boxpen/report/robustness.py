"""Tables of robustness to duals by operation, and the unchanged answers, item by item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from boxpen.analysis.kept import Kept, kept_answers
from boxpen.analysis.robustness import Robustness, dual_pairs, find_pairs, robustness
from boxpen.metrics.intervals import Estimate
from boxpen.report.numbers import DASH, FEWEST_BLOCKS, p_value, percent, plain
from boxpen.report.plain_table import Grid, Page
from boxpen.runs.comparison import labels
from boxpen.runs.run import Run

__all__ = [
    "RobustRun",
    "robust_html",
    "robust_object",
    "robust_page",
    "robust_runs",
    "share_of_pairs",
]

_ACCURACY = ("operation", "n", "originals", "duals", "both right", "consistent")
_ITEMS = ("block", "right in", "kept", "original", "dual", "change", "margins")
_SURVIVES = ("operation", "survives", "if flipped: same", "both", "if independent", "p", "Holm")


@dataclass(frozen=True, slots=True)
class RobustRun:
    """A run on duals.

    Attributes:
        rows: Its numbers, operation by operation, and then in all.
        kept: The pairs that got one answer although the truth flips, the surest first.
    """

    name: str
    run: Run
    rows: tuple[Robustness, ...]
    kept: tuple[Kept, ...]


def robust_runs(runs: Sequence[Run], by: str | None = None) -> list[RobustRun]:
    """Collect the results of runs.

    Raises:
        RunError: If a run has no duals.
    """
    names: dict[int, str] = {}
    for suite in dict.fromkeys(run.suite_title for run in runs):
        mine = [run for run in runs if run.suite_title == suite]
        for run, name in zip(mine, labels(mine), strict=True):
            names[id(run)] = f"{suite} × {name}"
    found = []
    for run in runs:
        pairs = dual_pairs(run, by)
        kept = tuple(kept_answers(run, pairs))
        found.append(RobustRun(names[id(run)], run, tuple(robustness(pairs)), kept))
    return found


def robust_page(found: Sequence[RobustRun], *, items: bool = False, top: int | None = None) -> Page:
    """Return two tables for every run, and its items if wanted."""
    grids: list[Grid] = []
    for one in found:
        grids += _grids(one)
        if items:
            grids.append(_items(one.run, one.kept[:top]))
    notes = robust_notes(found)
    shares = (e for one in found for r in one.rows for e in (r.both, r.survives, r.same))
    if any(share.n < FEWEST_BLOCKS for share in shares):
        notes.append(f"{DASH}: a share of fewer than {FEWEST_BLOCKS} pairs")
    return Page(grids, notes, [one.run.signature for one in found])


def robust_object(
    found: Sequence[RobustRun], *, items: bool = False, top: int | None = None
) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "runs": [
            {
                "suite": one.run.suite_title,
                "model": one.run.info.model.name,
                "operations": [plain(row) for row in one.rows],
                "kept": len(one.kept),
                **({"items": [asdict(kept) for kept in one.kept[:top]]} if items else {}),
                "signature": one.run.signature,
            }
            for one in found
        ],
        "notes": robust_notes(found),
    }


def robust_notes(found: Sequence[RobustRun]) -> list[str]:
    """Return notes for the reader."""
    notes = []
    for one in found:
        whole = one.rows[-1]
        if math.isnan(whole.survives.value):
            notes.append(f"{one.name}: no original is answered rightly, so nothing can survive")
        tied = whole.flipped - whole.same.n
        notes.append(
            f"{one.name}: one answer to both sides in {len(one.kept):,} of {whole.same.n:,} "
            f"pairs whose truth flips{f'; {tied:,} with a tie left out' if tied else ''}"
        )
        if whole.ties:
            notes.append(f"{one.name}: {whole.ties:,} pair(s) with a tie, which is not an answer")
    notes += [
        "survives: both right / originals right; Wilson's interval, since the former are a subset "
        "of the latter, with the delta method's design effect where pairs share a block",
        "consistent: both right or both wrong; a system that is always wrong is consistent too",
        "if independent: expected share of both right if the answers to the two sides were "
        f"unrelated; p: two-sided, {' or '.join(sorted({r.test for o in found for r in o.rows}))}; "
        "Holm: corrected for the number of operations",
        f"guessing would be right on both sides in {_guessed(found)} % of pairs",
    ]
    return notes


def share_of_pairs(found: Estimate) -> str:
    """Return a share of pairs in per cent with its interval; a dash if they are too few."""
    return DASH if found.n < FEWEST_BLOCKS else percent(found)


def robust_html(runs: Sequence[tuple[str, Run]]) -> list[tuple[str, Sequence[Robustness]]]:
    """Return the numbers of those named runs that have duals, for the page."""
    pairs = [(name, find_pairs(run)) for name, run in runs]
    return [(name, robustness(some)) for name, some in pairs if some]


def _grids(one: RobustRun) -> Iterator[Grid]:
    yield Grid(
        name=one.name,
        title="accuracy, % [95 %]",
        heads=_ACCURACY,
        lines=[
            [
                r.operation, f"{r.pairs:,}", *map(percent, (r.original, r.dual)),
                *map(share_of_pairs, (r.both, r.consistency)),
            ]
            for r in one.rows
        ],
    )  # fmt: skip
    yield Grid(
        name=one.name,
        title="what survives, % [95 %]",
        heads=_SURVIVES,
        lines=[
            [
                r.operation, share_of_pairs(r.survives), share_of_pairs(r.same),
                DASH if r.both.n < FEWEST_BLOCKS else f"{100 * r.both.value:.1f}",
                f"{100 * r.independent:.1f}", p_value(r.p),
                "" if r is one.rows[-1] else p_value(r.adjusted),
            ]
            for r in one.rows
        ],
    )  # fmt: skip


def _items(run: Run, kept: Sequence[Kept]) -> Grid:
    """Return unchanged answers: lines in a terminal, a table in Markdown."""
    lines = []
    for one in kept:
        margins = " / ".join(_signed(margin) for margin in one.margins)
        texts = one.texts or (one.original, one.dual)
        cells = [one.block, one.right, _option(run, one), *texts, _shown(one), margins]
        lines.append([" ".join(cell.split()) for cell in cells])
    return Grid(
        title="",
        heads=_ITEMS,
        lines=lines,
        left=len(_ITEMS),
        untitled=True,
        text=[line for one in kept for line in _item_lines(run, one)],
    )


def _item_lines(run: Run, kept: Kept) -> Iterator[str]:
    margins = " and ".join(_signed(margin) for margin in kept.margins)
    option = f"{'label' if run.labels else 'option'} {_option(run, kept)}"
    yield f"{kept.block} ({kept.operation}): {option} kept, right in the {kept.right}"
    yield f"  change   {_shown(kept) or '–'}"
    yield f"  margins  {margins}"
    for name, text in zip(("original", "dual"), kept.texts or (), strict=False):
        yield f"  {name:8} {text}"


def _option(run: Run, kept: Kept) -> str:
    """Return the answer as people name it: a label, or a number from 1."""
    return run.labels[kept.option] if run.labels else str(kept.option + 1)


def _shown(kept: Kept) -> str:
    return "; ".join(
        f"{before} → {after}" if before and after else f"+ {after}" if after else f"− {before}"
        for before, after in kept.change
    )


def _guessed(found: Sequence[RobustRun]) -> str:
    shares = sorted({f"{100 * one.rows[-1].guessing:.1f}" for one in found}, key=float)
    return " or ".join(shares)


def _signed(margin: float) -> str:
    return f"{margin:+.2f}".replace("-", "−")
