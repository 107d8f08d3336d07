"""Runs as one HTML file that needs nothing else: no network, no server, no library.

Tables and charts are in the page as they are; the items are packed into it (see ``html_items``) and
unpacked after the first paint.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from boxpen.errors import RunError
from boxpen.metrics.intervals import Estimate
from boxpen.report.html_data import NOTHING, Cut, Entry, SuiteNotes, SuiteView, suite_views
from boxpen.version import __version__

if TYPE_CHECKING:
    from markupsafe import Markup

    from boxpen.metrics.compare import Pair
    from boxpen.runs import Run

__all__ = ["SuiteNotes", "html_report"]


def html_report(
    runs: Sequence[Run],
    *,
    title: str | None = None,
    pairs: Sequence[Pair] = (),
    suites: Mapping[str, SuiteNotes] | None = None,
    items: bool = True,
) -> str:
    """Return a self-contained HTML page about runs.

    Args:
        runs: One or more, of one suite or several.
        title: Of the page; made of the suites and models if not given.
        pairs: Comparisons of two runs each.
        suites: What is known of suites beside the runs, by their names.
        items: Whether the items themselves are in it; without them no text of a suite is.

    Raises:
        RunError: If there is no run.
    """
    if not runs:
        raise RunError("a report needs at least one run, none was given")
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    from boxpen.report import charts
    from boxpen.report.html_items import pack_items
    from boxpen.report.robustness import robust_html
    from boxpen.report.terminal import notes

    views = suite_views(runs, suites)
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page.filters["percent"] = _percent
    page.filters["signed"] = _signed
    page.filters["tip"] = charts.shown
    page.filters["p"] = _p_value
    models = {e.label: e for v in views for e in v.entries}
    return page.from_string(_file("template.html")).render(
        title=title or _title(views),
        version=__version__,
        views=views,
        models=[e for e in models.values() if not e.human],
        people=[e for e in models.values() if e.human],
        matrices=_matrices(views, list(models.values())),
        items=items,
        pairs=[(p, charts.difference_glyph(p.difference, _limit(pairs))) for p in pairs],
        cut_chart=lambda i, cut: _cut_chart(i, views[i], cut, linked=items),
        margin_chart=_margin_chart,
        shortcut_chart=_shortcut_chart,
        robust=[(v, robust_html([(e.label, e.run) for e in v.entries])) for v in views],
        notes=notes,
        sign=charts.marker,
        style=Markup(_file("report.css")),
        script=Markup(script),
        digest=digest,
        packs=[Markup(pack_items(v)) for v in views] if items else [],
    )


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
        guess = Estimate(part.chance, part.chance, part.chance, part.n)
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


def _matrices(views: Sequence[SuiteView], entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return tables as papers print them: of models and suites, then one for every suite."""
    columns = [_columns(i, view) for i, view in enumerate(views)]
    single = [
        _matrix(views, view.entries, found) for view, found in zip(views, columns, strict=True)
    ]
    if len(views) == 1:
        return single
    return [_matrix(views, entries, [found[0] for found in columns if found]), *single]


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
        if view.main_cut:
            columns += [
                _Column(number, s.value, "accuracy", view.main_cut.name, s.value)
                for s in view.main_cut.slices
            ]
    if view.blocks:
        columns.append(_Column(number, "Consistency", "consistency"))
        columns.append(_Column(number, "Both right", "both_right"))
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
    from boxpen.report.charts import COLOURS, interval_glyph

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
        link = _items_link(column.suite, run=run, cut=column.cut, value=column.value, only="wrong")
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


def _cut_chart(number: int, view: SuiteView, cut: Cut, *, linked: bool) -> Markup:
    from boxpen.report.charts import Dots, Series, dot_chart

    rows = []
    for s in cut.slices:
        link = _items_link(number, cut=cut.name, value=s.value) if linked else None
        rows.append(Dots(s.value, s.chance, s.shares, s.n, link))
    series = [Series(e.label, e.mark) for e in view.scored]
    return dot_chart(f"Accuracy on {view.name} by {cut.name}", rows, series)


def _margin_chart(view: SuiteView, entry: Entry) -> Markup:
    from boxpen.report.charts import histogram

    same = [e for e in view.scored if not e.human and e.unit == entry.unit]
    sizes = sorted(abs(v.margin) for e in same for v in e.run.verdicts)
    limit = _round_up(sizes[int(0.95 * (len(sizes) - 1))])
    values = [v.margin for v in entry.run.verdicts]
    name = f"Margins of {entry.label} on {view.name}"
    return histogram(name, values, limit, entry.shares["margin"])


def _shortcut_chart(view: SuiteView) -> Markup:
    from boxpen.report.charts import Dots, Series, dot_chart

    level = view.guess["accuracy"].value
    rows = [Dots(name, level, [e], e.n) for name, e in view.notes.shortcuts]
    return dot_chart(f"Shortcuts through {view.name}", rows, [Series("shortcut", 7)])


def _items_link(suite: int, **state: object) -> str:
    chosen = {k: v for k, v in state.items() if v is not None}
    return "#items?" + urlencode({"suite": suite, **chosen})


def _limit(pairs: Sequence[Pair]) -> float:
    ends = [abs(v) for p in pairs for v in (p.difference.low, p.difference.high)]
    return _round_up(max((e for e in ends if not math.isnan(e)), default=1.0))


def _round_up(number: float) -> float:
    """Return the next round number that is not smaller."""
    if number <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(
        step * power
        for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
        if step * power >= number * (1 - 1e-9)
    )


def _title(views: Sequence[SuiteView]) -> str:
    models = list(dict.fromkeys(e.label for v in views for e in v.entries if not e.human))
    named = " and ".join(models) if len(models) < 3 else f"{len(models)} models"
    suites = ", ".join(v.name for v in views) if len(views) < 4 else f"{len(views)} suites"
    return f"{named or 'people'} on {suites}"


def _percent(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f}"


def _signed(value: float, digits: int = 2) -> str:
    return "–" if math.isnan(value) else f"{value:+.{digits}f}".replace("-", "−")


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _file(name: str) -> str:
    return files("boxpen.report").joinpath(name).read_text("utf-8")
