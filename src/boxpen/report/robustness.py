"""Tables of robustness to duals by operation, and the unchanged answers, item by item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from boxpen.analysis.kept import Kept, kept_answers
from boxpen.analysis.robustness import Robustness, dual_pairs, find_pairs, robustness
from boxpen.metrics.intervals import Estimate
from boxpen.report.formats.markdown import escaped
from boxpen.report.numbers import p_value
from boxpen.report.plain_table import markdown_line, plain_table
from boxpen.runs.comparison import labels
from boxpen.runs.run import Run

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "RobustRun",
    "robust_html",
    "robust_markdown",
    "robust_object",
    "robust_runs",
    "robust_terminal",
]

_ACCURACY = ("operation", "n", "originals", "duals", "both right", "consistent")
_SURVIVES = ("operation", "survives", "if flipped: same", "both", "if independent", "p", "Holm")


@dataclass(frozen=True, slots=True)
class RobustRun:
    """A run on duals.

    Attributes:
        name: The suite and the system.
        run: The run.
        rows: Its numbers, operation by operation, and then in all.
        kept: The pairs that got one answer although the truth flips, the surest first.
    """

    name: str
    run: Run
    rows: tuple[Robustness, ...]
    kept: tuple[Kept, ...]


def robust_runs(runs: Sequence[Run], by: str | None = None) -> list[RobustRun]:
    """Collect the results of runs.

    Args:
        runs: Of one suite or several.
        by: The tag that names operations, for suites whose blocks are not known to be duals.

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


def robust_terminal(
    found: Sequence[RobustRun], *, items: bool = False, top: int | None = None
) -> Iterator[Table | Text]:
    """Yield two tables for every run, its items if wanted, and then the notes."""
    from rich.text import Text

    for one in found:
        for title, heads, lines in _grids(one):
            table = plain_table(Text.assemble((one.name, "bold"), f": {title}"), gap=1)
            for number, head in enumerate(heads):
                table.add_column(head, justify="right" if number else "left")
            for cells in lines:
                # The interval has a line of its own: a terminal is not as wide as a page.
                shown = (Text(cell.replace(" [", "\n[")) for cell in cells)
                table.add_row(*shown, style="bold" if cells[0] == "all" else "")
            yield table
            yield Text()
        for kept in one.kept[:top] if items else ():
            yield from (Text(line) for line in _item_lines(one.run, kept))
        if items:
            yield Text()
    for note in robust_notes(found):
        yield Text(f"• {note}")


def robust_markdown(
    found: Sequence[RobustRun], *, items: bool = False, top: int | None = None
) -> str:
    """Return the same as Markdown, with the signatures of the runs."""
    out: list[str] = []
    for one in found:
        for title, heads, lines in _grids(one):
            out += [f"### {escaped(one.name)}: {title}", "", markdown_line(heads)]
            out.append("|---|" + "---:|" * (len(heads) - 1))
            out += [markdown_line([escaped(cell) for cell in cells]) for cells in lines]
            out.append("")
        if items:
            out += ["| block | right in | kept | original | dual | change | margins |"]
            out += ["|---|---|---|---|---|---|---|"]
            for kept in one.kept[:top]:
                texts = kept.texts or (kept.original, kept.dual)
                margins = " / ".join(_signed(margin) for margin in kept.margins)
                option = _option(one.run, kept)
                cells = [kept.block, kept.right, option, *texts, _shown(kept), margins]
                out.append(markdown_line([escaped(" ".join(cell.split())) for cell in cells]))
            out.append("")
    out += [f"- {escaped(note)}" for note in robust_notes(found)]
    out += ["", "Runs:", "", *(f"- `{one.run.signature}`" for one in found)]
    return "\n".join(out) + "\n"


def robust_object(
    found: Sequence[RobustRun], *, items: bool = False, top: int | None = None
) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "runs": [
            {
                "suite": one.run.suite_title,
                "model": one.run.info.model.name,
                "operations": [_plain(row) for row in one.rows],
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


def robust_html(runs: Sequence[tuple[str, Run]]) -> list[tuple[str, Sequence[Robustness]]]:
    """Return the numbers of those named runs that have duals, for the page."""
    pairs = [(name, find_pairs(run)) for name, run in runs]
    return [(name, robustness(some)) for name, some in pairs if some]


def _grids(one: RobustRun) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    yield (
        "accuracy, % [95 %]",
        _ACCURACY,
        [
            [r.operation, f"{r.pairs:,}", *map(_share, (r.original, r.dual, r.both, r.consistency))]
            for r in one.rows
        ],
    )
    yield (
        "what survives, % [95 %]",
        _SURVIVES,
        [
            [
                r.operation, _share(r.survives), _share(r.same), f"{100 * r.both.value:.1f}",
                f"{100 * r.independent:.1f}", p_value(r.p),
                "" if r is one.rows[-1] else p_value(r.adjusted),
            ]
            for r in one.rows
        ],
    )  # fmt: skip


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


def _plain(row: Robustness) -> dict[str, Any]:
    return {
        name: value._asdict() if isinstance(value, Estimate) else value
        for name, value in ((name, getattr(row, name)) for name in row.__dataclass_fields__)
    }


def _guessed(found: Sequence[RobustRun]) -> str:
    shares = sorted({f"{100 * one.rows[-1].guessing:.1f}" for one in found}, key=float)
    return " or ".join(shares)


def _share(found: Estimate) -> str:
    value, low, high, n = found
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]" if n else "–"


def _signed(margin: float) -> str:
    return f"{margin:+.2f}".replace("-", "−")
