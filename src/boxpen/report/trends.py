"""Trend tables: one row per run, one column per level, then the slope and the test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from boxpen.analysis.slices import CROSS
from boxpen.analysis.trends import RunTrend
from boxpen.metrics.intervals import Estimate
from boxpen.metrics.summary import labelled
from boxpen.report.numbers import p_value, percent, plain
from boxpen.report.plain_table import Grid, Page
from boxpen.runs.comparison import labels
from boxpen.runs.run import Run

__all__ = ["trends_object", "trends_page"]

Found = Sequence[tuple[Run, Sequence[RunTrend]]]
_EQUAL = 0.005  # chance levels that differ by less are the same


def trends_page(found: Found) -> Page:
    """Return a table for every suite and cut."""
    signatures = list(dict.fromkeys(_signature(run, one) for run, some in found for one in some))
    return Page(list(_grids(found)), _notes(found), signatures)


def trends_object(found: Found) -> list[dict[str, Any]]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return [
        {
            "suite": run.suite_title,
            "model": run.info.model.name,
            "cut": one.cut,
            "part": one.part,
            "levels": [
                {"number": number, **right._asdict(), "chance": guess}
                for (number, right), guess in zip(one.trend.levels, one.chances, strict=True)
            ],
            **{name: value for name, value in plain(one.trend).items() if name != "levels"},
            "left_out": one.left_out,
            "signature": _signature(run, one),
        }
        for run, some in found
        for one in some
    ]


def _signature(run: Run, one: RunTrend) -> str:
    return labelled(run.signature, run.info.suite.labels or {}, one.cut.split(CROSS))


def _grids(found: Found) -> Iterator[Grid]:
    suites = list(dict.fromkeys(run.suite_title for run, _ in found))
    for suite in suites:
        mine = [(run, some) for run, some in found if run.suite_title == suite]
        names = labels([run for run, _ in mine])
        for cut in dict.fromkeys(one.cut for _, some in mine for one in some):
            rows = [
                (name, one)
                for name, (_, some) in zip(names, mine, strict=True)
                for one in some
                if one.cut == cut
            ]
            forms: dict[float, str] = {}
            for _, one in rows:
                for (number, _), value in zip(one.trend.levels, one.values, strict=True):
                    forms.setdefault(number, value)
            numbers = sorted(forms)
            heads = ["system", "part", *(forms[number] for number in numbers)]
            heads += ["slope, points [95 %]", "p"]
            lines = [_cells(name, one, numbers) for name, one in rows]
            title = f"{suite}: accuracy by {cut}, % [95 %]"
            yield Grid(title=title, heads=heads, lines=lines, left=2)


def _cells(name: str, one: RunTrend, numbers: Sequence[float]) -> list[str]:
    levels = dict(one.trend.levels)
    shares = [percent(levels[number]) if number in levels else "" for number in numbers]
    return [name, one.part or "all", *shares, _points(one.trend.slope), p_value(one.trend.p)]


def _notes(found: Found) -> list[str]:
    every = [(run, one) for run, some in found for one in some]
    names = dict(zip(map(id, (run for run, _ in found)), _names(found), strict=True))
    notes = []
    for run, one in every:
        trend, part = one.trend, f", {one.part}" if one.part else ""
        way = "without a turn" if trend.monotone else "with a turn between levels"
        sure = "" if trend.p < 0.05 else " (which may be chance)"
        items = " : ".join(f"{right.n:,}" for _, right in trend.levels)
        notes.append(f"{names[id(run)]}{part}, {items} items: {trend.direction}, {way}{sure}")
    notes.append("slope: points of accuracy for one more, least squares; robust to blocks")
    tests = " or ".join(sorted({one.trend.test for _, one in every}))
    notes.append(f"p: two-sided, {tests}; not corrected for the number of lines")
    left_out = {run.suite_title: one.left_out for run, one in every if one.left_out}
    notes += [
        f"{suite}: {n:,} item(s) without the tag are left out" for suite, n in left_out.items()
    ]
    if any(max(one.chances) - min(one.chances) > _EQUAL for _, one in every):
        notes.append(
            "guessing does not earn the same at every level, which may make a trend by itself"
        )
    return notes


def _names(found: Found) -> list[str]:
    """Return what every run is called, in their order; with the suite if there are several."""
    suites = [run.suite_title for run, _ in found]
    several = len(set(suites)) > 1
    names = [""] * len(found)
    for suite in dict.fromkeys(suites):
        places = [place for place, name in enumerate(suites) if name == suite]
        for place, name in zip(places, labels([found[p][0] for p in places]), strict=True):
            names[place] = f"{suite}, {name}" if several else name
    return names


def _points(slope: Estimate) -> str:
    if math.isnan(slope.low):
        return f"{100 * slope.value:+.1f}"
    return percent(slope, "+")
