"""The tables of the page as papers print them: of models and suites, and one for every suite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxpen.metrics.intervals import Estimate
from boxpen.report.html.data import NOTHING, Entry, SuiteView
from boxpen.report.html.items import items_link
from boxpen.report.numbers import too_few_blocks

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["matrices"]


def matrices(views: Sequence[SuiteView], entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return tables as papers print them: of models and suites, then one for every suite.

    Numbers that several suites have come first, so that they are in the same columns everywhere.
    """
    columns = [_columns(i, view) for i, view in enumerate(views)]
    single = [
        _matrix(views, view.entries, found) for view, found in zip(views, columns, strict=True)
    ]
    if len(views) == 1:
        return single
    return [_matrix(views, entries, [found[0] for found in columns if found]), *single]


@dataclass(frozen=True)
class _Column:
    """A column of the matrix: one number of one suite."""

    suite: int
    label: str
    metric: str
    cut: str | None = None
    value: str | None = None

    def of(self, view: SuiteView, entry: Entry | None) -> tuple[Estimate, float]:
        """Return the number of a run (of guessing, if None), and what guessing gives."""
        if self.metric == "bleu":
            return (entry.bleu if entry and entry.bleu else NOTHING), math.nan
        if self.value is None:
            guess = view.guess[self.metric]
            return (entry.shares[self.metric] if entry else guess), guess.value
        cut = view.main_cut
        part = next(s for s in cut.slices if s.value == self.value) if cut else None
        if part is None:
            return NOTHING, math.nan
        guess = Estimate(part.chance, part.chance, part.chance, 0 if part.empty else 1)
        mine = part.shares[view.scored.index(entry)] if entry in view.scored else NOTHING
        return (mine if entry else guess), part.chance


@dataclass(frozen=True)
class _Cell:
    """A number in the matrix, and how it stands out."""

    estimate: Estimate
    bleu: bool
    best: bool
    beats_chance: bool
    glyph: Markup | None
    link: str | None
    first: bool


def _matrix(
    views: Sequence[SuiteView], entries: Sequence[Entry], columns: Sequence[_Column]
) -> dict[str, Any]:
    rows: list[tuple[str, str, int, list[_Cell]]] = []
    by_label = [{e.label: e for e in view.entries} for view in views]
    ordered = [e for e in entries if not e.human] + [e for e in entries if e.human]
    best = [
        _best(c, views[c.suite], [e for e in ordered if not e.human], by_label) for c in columns
    ]
    for entry in [None, *ordered]:
        cells = []
        for n, column in enumerate(columns):
            mine = by_label[column.suite].get(entry.label) if entry else None
            found = column.of(views[column.suite], mine) if mine or not entry else (NOTHING, 0.0)
            first = n == 0 or columns[n - 1].suite != column.suite
            cells.append(_cell(column, views[column.suite], mine, *found, best[n], first=first))
        kind = "chance" if entry is None else "human" if entry.human else "model"
        label, mark = (entry.label, entry.mark) if entry else ("Chance", -2)
        rows.append((kind, label, mark, cells))
    groups = [(v, sum(c.suite == i for c in columns)) for i, v in enumerate(views)]
    return {"groups": groups, "columns": columns, "rows": rows}


def _columns(number: int, view: SuiteView) -> list[_Column]:
    columns = []
    if view.scored:
        columns.append(_Column(number, "Accuracy", "accuracy"))
    if view.blocks:
        columns.append(_Column(number, "Consistency", "consistency"))
        columns.append(_Column(number, "Both right", "both_right"))
    if view.scored and view.main_cut:
        columns += [
            _Column(number, s.value, "accuracy", view.main_cut.name, s.value)
            for s in view.main_cut.slices
        ]
    if any(e.bleu for e in view.entries):
        columns.append(_Column(number, "BLEU", "bleu"))
    return columns


def _best(
    column: _Column,
    view: SuiteView,
    models: Sequence[Entry],
    by_label: Sequence[Mapping[str, Entry]],
) -> float:
    """Return the best number of a column, NaN where there is nothing to be better than.

    More consistency is not better: what is always wrong has most of it.
    """
    if column.metric == "consistency":
        return math.nan
    mine = [by_label[column.suite].get(e.label) for e in models]
    values = [column.of(view, e)[0] for e in mine if e is not None]
    if any(too_few_blocks(column.metric, v.n) for v in values):
        return math.nan
    known = [v.value for v in values if v.n]
    same = len({v.n for v in values if v.n}) == 1  # or else they are not of the same items
    return max(known) if same and len(known) > 1 else math.nan


def _cell(
    column: _Column,
    view: SuiteView,
    entry: Entry | None,
    estimate: Estimate,
    chance: float,
    best: float,
    *,
    first: bool,
) -> _Cell:
    from boxpen.report.html.charts import COLOURS, interval_glyph

    if entry is not None and too_few_blocks(column.metric, estimate.n):
        estimate = NOTHING
    bleu = column.metric == "bleu"
    glyph = None
    if entry is not None and estimate.n:
        value, low, high, n = estimate
        shares = Estimate(value / 100, low / 100, high / 100, n) if bleu else estimate
        mark = "human" if entry.human else f"m{entry.mark % COLOURS}"
        glyph = interval_glyph(shares, chance, mark)
    link = None
    if entry is not None and estimate.n and column.metric == "accuracy":
        run = view.entries.index(entry)
        link = items_link(column.suite, run=run, cut=column.cut, value=column.value, only="wrong")
    return _Cell(
        estimate=estimate,
        bleu=bleu,
        best=bool(entry and not entry.human and estimate.value == best),
        beats_chance=(
            bleu or entry is None or column.metric == "consistency" or not estimate.low <= chance
        ),
        glyph=glyph,
        link=link,
        first=first,
    )
