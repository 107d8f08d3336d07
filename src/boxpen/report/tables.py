"""The matrix of results: one row per model, one column per suite or set.

Chance and people come below the models: chance is the result of a system for which every item is a
tie, people are runs of human answers (``boxpen review apply --answers``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from boxpen.errors import RunError, nearest
from boxpen.metrics.choice import chance_of
from boxpen.metrics.summary import MOST_VALUES, OF_BLOCKS, summarise
from boxpen.report.numbers import DASH, FEWEST_BLOCKS, digits, too_few_blocks
from boxpen.report.plain_table import plain_table
from boxpen.report.terminal import bleu_notes
from boxpen.runs.run import Row, Run
from boxpen.scoring.verdicts import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "Column",
    "Line",
    "Matrix",
    "chosen_rows",
    "matrix",
    "matrix_tables",
    "systems",
]


@dataclass(frozen=True, slots=True)
class Column:
    """What a column shows: a slice of a suite, under a title, in a setting if it has several."""

    suite: str
    slice: str
    title: str
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One system, with its number in every column; None where it has none."""

    name: str
    kind: Literal["model", "chance", "human"]
    cells: tuple[Row | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Systems by suites, or by the sets of a tag.

    Attributes:
        lines: Models, then chance, then people.
    """

    metric: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


def matrix(runs: Sequence[Run], metric: str = "accuracy", by: str | None = None) -> Matrix:
    """Return the numbers of runs as a matrix.

    Raises:
        RunError: If no run has the metric or the tag.
    """
    runs = list({run.signature: run for run in runs}.values())
    _check_metric(runs, metric)
    columns = _columns(runs, metric, by)
    lines = [
        Line(name, kind, tuple(_cell(members, column, metric) for column in columns))
        for kind in ("model", "human")
        for name, members in systems([r for r in runs if r.human == (kind == "human")])
    ]
    chance = _chance(runs, columns, metric)
    first_human = sum(line.kind == "model" for line in lines)
    if any(chance.cells):
        lines.insert(first_human, chance)
    notes = [*_block_notes(lines, columns), *_notes(runs, metric)]
    return Matrix(metric, columns, tuple(lines), tuple(notes))


def chosen_rows(runs: Sequence[Run], metric: str | None = None, by: str | None = None) -> list[Row]:
    """Return the rows of runs: all, or those of a metric, or those of ``all`` and a tag's sets.

    Raises:
        RunError: If no run has the metric or the tag.
    """
    if metric is not None:
        _check_metric(runs, metric)
    rows = [r for run in runs for r in run.summary() if metric in (None, r.metric)]
    if by is None:
        return rows
    if not any(row.slice.startswith(f"{by}=") for row in rows):
        raise RunError(_no_slices(runs, metric or "a number", by))
    return [row for row in rows if row.slice == "all" or row.slice.startswith(f"{by}=")]


def matrix_tables(found: Matrix, width: int) -> list[RenderableType]:
    """Split the matrix into tables of at most ``width``, each with some of the columns.

    Intervals are shown below the numbers.
    """
    from rich.text import Text

    shown = [[_shown(c, interval=n.kind != "chance") for c in n.cells] for n in found.lines]
    names = min(max(len(line.name) for line in found.lines), max(12, width // 3))
    widest = max(len(part) for cells in shown for cell in cells for part in cell.split("\n"))
    room = max(1, (width - names - 1) // (widest + 1))
    tables: list[RenderableType] = []
    for start in range(0, len(found.columns), room):
        part = range(start, min(start + room, len(found.columns)))
        table = plain_table(Text.assemble((found.metric, "bold"), " [95 %]"), gap=1)
        table.add_column("model", width=names, overflow="fold")
        for i in part:
            title = Text(found.columns[i].title)
            table.add_column(title, justify="right", width=widest, overflow="fold")
        for line, cells in zip(found.lines, shown, strict=True):
            style = "dim" if line.kind == "chance" else ""
            table.add_row(Text(line.name), *(Text(cells[i]) for i in part), style=style)
        tables.append(table)
    return tables


def _shown(row: Row | None, *, interval: bool) -> str:
    if row is None:
        return ""
    if too_few_blocks(row.metric, row.n):
        return DASH
    places = digits(row.metric)
    below = f"\n[{row.low:.{places}f}, {row.high:.{places}f}]" if interval else ""
    return f"{row.value:.{places}f}{below}"


def _columns(runs: Sequence[Run], metric: str, by: str | None) -> tuple[Column, ...]:
    found = [(_asked(run), row) for run in runs for row in run.summary() if row.metric == metric]
    several = list(dict.fromkeys(asked for asked, _ in found))
    names = [suite for suite, _ in several]
    titles = {  # of one suite, choices and entailment, or two settings of it, stand apart
        (suite, setting): suite if names.count(suite) == 1 else f"{suite} {setting}".rstrip()
        for suite, setting in several
    }
    if by is None:
        return tuple(Column(s, "all", titles[s, setting], setting) for s, setting in several)
    columns: list[Column] = []
    for asked in several:
        suite, setting = asked
        before = "" if len(several) == 1 else f"{titles[asked]} "
        slices = dict.fromkeys(
            row.slice for of, row in found if of == asked and row.slice.startswith(f"{by}=")
        )
        columns += [Column(suite, s, before + s.removeprefix(f"{by}="), setting) for s in slices]
        if slices:
            columns.append(Column(suite, "all", f"{before}all", setting))
    if not columns:
        raise RunError(_no_slices(runs, metric, by))
    return tuple(columns)


def _asked(run: Run) -> tuple[str, str]:
    """Return what was asked: the suite, and the setting of an inference classifier."""
    return run.suite_title, run.setting


def _check_metric(runs: Sequence[Run], metric: str) -> None:
    known = list(dict.fromkeys(row.metric for run in runs for row in run.summary()))
    if metric not in known:
        raise RunError(f"no run has the metric '{metric}', {nearest(metric, known)}")


def _no_slices(runs: Sequence[Run], metric: str, by: str) -> str:
    """Explain why there is nothing to show for a tag."""
    slices = dict.fromkeys(row.slice for run in runs for row in run.summary())
    known = list(dict.fromkeys(s.partition("=")[0] for s in slices if s != "all"))
    if by in known:
        return f"no run has {metric} by the tag '{by}', only other numbers"
    if any(by in v.tags for run in runs for v in run.verdicts):
        return f"the tag '{by}' has more than {MOST_VALUES} values, which makes no slices"
    hint = f", {nearest(by, known)}" if known else "; there are no tags"
    return f"no run has {metric} by the tag '{by}'{hint}"


def systems(runs: Sequence[Run]) -> list[tuple[str, list[Run]]]:
    """Return the runs of every line with its name.

    A model has one line, unless it was run twice on a suite or its weights changed: then what
    tells its runs apart stands after its name.
    """
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.info.model.name, []).append(run)
    shorts = [members[0].info.model.short for members in by_name.values()]
    out: list[tuple[str, list[Run]]] = []
    for name, members in by_name.items():
        short = members[0].info.model.short
        shown = name if members[0].human or shorts.count(short) > 1 else short
        for apart in _DETAILS:
            groups: dict[str, list[Run]] = {}
            for run in members:
                groups.setdefault(apart(run), []).append(run)
            if not any(map(_clash, groups.values())):
                break
        out += [(f"{shown} ({d})" if d else shown, group) for d, group in groups.items()]
    return out


def _recipe(run: Run) -> str:
    return run.info.recipe.name


def _policy(run: Run) -> str:
    policy = run.info.policy
    return f"{_recipe(run)}, norm:{policy.norm}, ties:{policy.ties}"


def _weights(run: Run) -> str:
    return f"@{run.info.model.fingerprint[:8]}"


def _whole(run: Run) -> str:
    return f"#{hashlib.sha256(run.signature.encode()).hexdigest()[:8]}"


_DETAILS: tuple[Callable[[Run], str], ...] = (lambda _: "", _recipe, _policy, _weights, _whole)


def _clash(runs: Sequence[Run]) -> bool:
    suites = [_asked(run) for run in runs]
    weights = {run.info.model.fingerprint for run in runs if not run.human}
    return len(set(suites)) < len(suites) or len(weights) > 1


def _cell(runs: Sequence[Run], column: Column, metric: str) -> Row | None:
    for run in runs:
        if _asked(run) == (column.suite, column.setting):
            for row in run.summary():
                if (row.slice, row.metric) == (column.slice, metric):
                    return row
    return None


def _chance(runs: Sequence[Run], columns: Sequence[Column], metric: str) -> Line:
    """Return what guessing gets: every item of a suite, in any of the runs, as a tie."""
    rows: dict[tuple[str, str, str], Row] = {}
    for suite, setting in dict.fromkeys((column.suite, column.setting) for column in columns):
        of = [run for run in runs if _asked(run) == (suite, setting)]
        items = {v.id: _guessed(v) for run in of for v in run.verdicts}
        for row in summarise(
            list(items.values()), (), suite=suite, model="chance", signature="", beam=0
        ):
            if row.metric == metric:
                rows[suite, setting, row.slice] = row
    cells = tuple(rows.get((c.suite, c.setting, c.slice)) for c in columns)
    return Line("chance", "chance", cells)


def _guessed(verdict: Verdict) -> Verdict:
    k, credit = len(verdict.scores), chance_of(verdict)
    return replace(verdict, scores=(0.0,) * k, winner=0, tied=k, credit=credit, margin=0.0)


def _block_notes(lines: Sequence[Line], columns: Sequence[Column]) -> Iterator[str]:
    """Say of how many blocks the numbers are shares, column by column."""
    counts = {}
    for number, column in enumerate(columns):
        found = [line.cells[number] for line in lines]
        sizes = sorted({row.n for row in found if row is not None and row.metric in OF_BLOCKS})
        if sizes:
            counts[column.title] = "–".join(f"{size:,}" for size in {sizes[0]: 0, sizes[-1]: 0})
    if counts:
        yield "blocks: " + ", ".join(f"{title} {count}" for title, count in counts.items())


def _notes(runs: Sequence[Run], metric: str) -> list[str]:
    """Say where numbers of a column are not taken over the same items, and how BLEU was made."""
    out: list[str] = []
    if metric == "bleu":
        out += dict.fromkeys(n for run in runs for n in bleu_notes(run.summary(), run.signature))
    rows = [row for run in runs for row in run.summary() if row.metric == metric]
    if any(too_few_blocks(metric, row.n) for row in rows):
        out.append(f"{DASH}: fewer than {FEWEST_BLOCKS} complete blocks in this slice")
    blind = dict.fromkeys(run.info.model.short for run in runs if run.info.unread_sources)
    if blind:
        out.append(f"source not read: {', '.join(blind)} judged translations without their source")
    for asked in dict.fromkeys(map(_asked, runs)):
        of = [run for run in runs if _asked(run) == asked]
        suite = " ".join(asked).rstrip()
        hashes = {run.info.suite.hash for run in of}
        if len(hashes) > 1:
            sizes = ", ".join(f"{r.info.model.short} {len(r.verdicts):,}" for r in of)
            out.append(f"{suite}: the runs are not of the same items ({sizes})")
    return out
