"""Runs as one self-contained HTML file: no network, no server, no library.

Tables and charts are in the page as they are; the items are packed into it (see ``html_items``) and
unpacked after the first paint.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from boxpen.errors import RunError
from boxpen.printable import printable
from boxpen.report.html.data import Cut, Entry, SuiteNotes, SuiteView, suite_views
from boxpen.report.numbers import FEWEST_BLOCKS
from boxpen.runs.comparison import AGREE, AGREE_WITHIN_KIND, DIFFER
from boxpen.version import __version__

if TYPE_CHECKING:
    from markupsafe import Markup

    from boxpen.metrics.compare import Pair
from boxpen.runs.run import Run

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

    from boxpen.report.differing import noise_note
    from boxpen.report.html import charts
    from boxpen.report.html.items import items_shown, pack_items
    from boxpen.report.html.matrix import matrices
    from boxpen.report.recipes import recipes_page
    from boxpen.report.robustness import robust_html
    from boxpen.report.terminal import notes

    views = suite_views(runs, suites)
    script = _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_readable,
    )  # fmt: skip
    page.filters["percent"] = _percent
    page.filters["signed"] = _signed
    page.filters["tip"] = charts.shown
    page.filters["p"] = _p_value
    page.filters["few_blocks"] = lambda n: n < FEWEST_BLOCKS
    page.filters["breakable"] = lambda name: Markup(".<wbr>").join(name.split("."))
    entries = {e.label: e for v in views for e in v.entries}
    models = _models(runs)
    return page.from_string(_file("template.html")).render(
        title=title or _title(views, models),
        counted=_counted(runs, models),
        version=__version__,
        views=views,
        models=models,
        matrices=matrices(views, list(entries.values())),
        items=items,
        pairs=[(p, charts.difference_glyph(p.difference, _limit(pairs))) for p in pairs],
        cut_chart=lambda i, cut: _cut_chart(i, views[i], cut, linked=items),
        margin_chart=_margin_chart,
        shortcut_chart=_shortcut_chart,
        robust=[(v, robust_html([(e.label, e.run) for e in v.entries])) for v in views],
        notes=notes,
        recipes=recipes_page(runs),
        noise=[noise_note(p) for p in pairs if p.noise is not None],
        must_agree=(AGREE, AGREE_WITHIN_KIND, DIFFER),
        sign=charts.marker,
        style=Markup(_file("report.css")),
        script=Markup(script),
        digest=digest,
        packs=[Markup(pack_items(v)) for v in views] if items else [],
        sampled=[(v.name, *items_shown(v)) for v in views] if items else [],
    )


def _readable(value: Any) -> Any:
    """Escape what would reorder the text around a name."""
    return type(value)(printable(value, keep="\n\r\t")) if isinstance(value, str) else value


def _cut_chart(number: int, view: SuiteView, cut: Cut, *, linked: bool) -> Markup:
    from boxpen.report.html.charts import Dots, Series, dot_chart
    from boxpen.report.html.items import items_link

    rows = []
    for s in cut.slices:
        link = items_link(number, cut=cut.name, value=s.value) if linked else None
        rows.append(Dots(s.value, s.chance, s.shares, link))
    series = [Series(e.label, e.mark) for e in view.scored]
    return dot_chart(f"Accuracy on {view.name} by {cut.name}", rows, series)


def _margin_chart(view: SuiteView, entry: Entry) -> Markup:
    from boxpen.report.html.charts import histogram

    same = [e for e in view.scored if not e.human and e.unit == entry.unit]
    sizes = sorted(abs(v.margin) for e in same for v in e.run.verdicts)
    limit = _round_up(sizes[int(0.95 * (len(sizes) - 1))])
    values = [v.margin for v in entry.run.verdicts]
    name = f"Margins of {entry.label} on {view.name}"
    return histogram(name, values, limit, entry.shares["margin"])


def _shortcut_chart(view: SuiteView) -> Markup:
    from boxpen.report.html.charts import Dots, Series, dot_chart

    level = view.guess["accuracy"].value
    rows = [Dots(name, level, [e]) for name, e in view.notes.shortcuts]
    return dot_chart(f"Shortcuts through {view.name}", rows, [Series("shortcut", 7)])


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


def _title(views: Sequence[SuiteView], models: Sequence[str]) -> str:
    named = " and ".join(models) if len(models) < 3 else f"{len(models)} models"
    suites = ", ".join(v.title for v in views) if len(views) < 4 else f"{len(views)} suites"
    return f"{named or 'people'} on {suites}"


def _models(runs: Sequence[Run]) -> list[str]:
    """Return the short names of the models, each once for every set of weights."""
    found = dict.fromkeys(
        (r.info.model.short, r.info.model.fingerprint) for r in runs if not r.human
    )
    shorts = [short for short, _ in found]
    return [s if shorts.count(s) == 1 else f"{s}@{weights[:8]}" for s, weights in found]


def _counted(runs: Sequence[Run], models: Sequence[str]) -> str:
    """Return ``5 runs of 3 models, 1 run of answers by judges``."""
    people = sum(run.human for run in runs)
    parts = []
    if models:
        parts.append(f"{_number(len(runs) - people, 'run')} of {_number(len(models), 'model')}")
    if people:
        parts.append(f"{_number(people, 'run')} of answers by judges")
    return ", ".join(parts)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + "s" * (count != 1)


def _percent(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f}"


def _signed(value: float, digits: int = 2) -> str:
    return "–" if math.isnan(value) else f"{value:+.{digits}f}".replace("-", "−")


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _file(name: str) -> str:
    return files("boxpen.report.html").joinpath(name).read_text("utf-8")
