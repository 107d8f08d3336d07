"""Small charts as SVG: dots with intervals, histograms of margins, and glyphs for table cells.

Colours come from classes (``m0`` to ``m7``, ``human``, ``good``, ``bad``), so that one style sheet
serves light, dark and paper. Charts are as wide as their place: what lies along x is in per cent,
what lies along y in pixels, so that texts have one size at every width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from boxpen.metrics.intervals import Estimate

__all__ = ["COLOURS", "Dots", "Series", "difference_glyph", "dot_chart", "histogram"]
__all__ += ["interval_glyph", "marker", "shown"]

COLOURS = 8
_LEFT, _RIGHT = 31.0, 90.0  # of the width: the plot; before it are labels, after it counts
_PITCH, _PAD, _TOP = 11.0, 9.0, 22.0
_LONGEST = 17  # characters of a label


@dataclass(frozen=True)
class Series:
    """What is drawn with one mark."""

    label: str
    mark: int


@dataclass(frozen=True)
class Dots:
    """One row of a chart of dots: an estimate for every series, and the level of chance."""

    label: str
    chance: float
    estimates: Sequence[Estimate]
    link: str | None = None


def dot_chart(name: str, rows: Sequence[Dots], series: Sequence[Series]) -> Markup:
    """Return dots with interval bars, a line per row and series, over an axis from 0 to 100 %."""
    height_of = max(22.0, _PITCH * len(series) + _PAD)
    bottom = _TOP + height_of * len(rows)
    body = [_axis(bottom)]
    for i, row in enumerate(rows):
        top = _TOP + i * height_of
        body.append(_row(row, top, height_of, series, last=i == len(rows) - 1))
    return _svg(name, bottom + 6, body, "chart")


def histogram(
    name: str, values: Sequence[float], limit: float, average: Estimate, bins: int = 12
) -> Markup:
    """Return the distribution of margins: what was lost to the left of zero, won to the right.

    Args:
        name: Text alternative of the chart.
        values: The margins.
        limit: Where the axis ends on both sides; margins beyond it are in the last bins.
        average: The mean margin with its interval.
        bins: How many bars there are on each side.
    """
    high, base = 66.0, 70.0
    counts = [0] * (2 * bins)
    for value in values:
        if value == 0:  # neither won nor lost
            continue
        place = math.floor(max(-limit, min(limit, value)) / limit * bins)
        counts[min(2 * bins - 1, max(0, place + bins))] += 1
    most = max(counts) or 1
    step = 100 / (2 * bins)
    body: list[Markup] = []
    for i, count in enumerate(counts):
        tall = high * count / most
        low = (i - bins) * limit / bins
        side = "bad" if i < bins else "good"
        tip = f"{low:+.3g} to {low + limit / bins:+.3g}: {count}"
        body.append(
            Markup('<rect class="{}" x="{}%" y="{}" width="{}%" height="{}">'
                   '<title>{}</title></rect>')
            .format(side, _n(i * step + 0.2), _n(base - tall), _n(step - 0.4), _n(tall), tip)
        )  # fmt: skip
    body.append(_line("axis", 0, 100, base, base))
    body.append(_line("zero", 50, 50, 0, base + 4))
    if average.n:
        low, value, high_ = (
            50 * (1 + max(-1.0, min(1.0, v / limit)))
            for v in (average.low, average.value, average.high)
        )
        body.append(
            Markup('<g class="mean">{}<circle cx="{}%" cy="{}" r="3"/>'
                   '<title>mean margin {}</title></g>')
            .format(_line("", low, high_, base, base), _n(value), _n(base), f"{average.value:+.2f}")
        )  # fmt: skip
    for x, anchor, text in ((0, "start", -limit), (50, "middle", 0), (100, "end", limit)):
        shown_ = "0" if not text else f"{text:+.3g}".replace("-", "−")
        body.append(_text("tick", x, base + 15, anchor, shown_))
    return _svg(name, base + 18, body, "chart margins")


def interval_glyph(estimate: Estimate, chance: float, mark: str) -> Markup:
    """Return a line for a table cell: from a tick for chance to the value, and its interval."""
    value, low, high = (100 * v for v in estimate[:3])
    start = 0.0 if math.isnan(chance) else 100 * chance
    body = [
        Markup(
            '<path class="rail" d="M0 5H100"/><g class="{}"><path class="reach" d="M{} 5H{}"/>'
            '<path class="bar" d="M{} 5H{}"/><path class="value" d="M{} 1V9"/></g>'
        ).format(mark, _n(start), _n(value), _n(low), _n(high), _n(value))
    ]
    if not math.isnan(chance):
        body.append(Markup('<path class="chance" d="M{0} 0V10"/>').format(_n(start)))
    return Markup(
        '<svg class="glyph" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>"
    ).format(Markup().join(body))


def difference_glyph(estimate: Estimate, limit: float) -> Markup:
    """Return a line with zero in its middle: the interval of a difference."""
    low, value, high = (
        50 + 50 * max(-1.0, min(1.0, v / limit))
        for v in (estimate.low, estimate.value, estimate.high)
    )
    return Markup(
        '<svg class="glyph" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="rail" d="M0 5H100"/><path class="zero" d="M50 0V10"/>'
        '<path class="bar" d="M{0} 5H{1}"/><path class="value" d="M{2} 1.5V8.5"/></svg>'
    ).format(_n(low), _n(high), _n(value))


def marker(mark: int, x: float = 6, y: float = 6) -> Markup:
    """Return the sign of a series: colour and shape, so that neither is needed alone."""
    if mark < 0:
        shape = f"M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"
        return Markup('<path class="sign human" d="{}"/>').format(shape)
    shapes = (
        f"M{x - 3.6:.1f} {y:.1f}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
        f"M{x - 3.2:.1f} {y - 3.2:.1f}h6.4v6.4h-6.4z",
        f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        f"M{x:.1f} {y - 4.2:.1f}l4.3 7.4h-8.6z",
    )
    shape = shapes[(mark + mark // COLOURS) % len(shapes)]
    return Markup('<path class="sign {}" d="{}"/>').format(_class(mark), shape)


def shown(estimate: Estimate, digits: int = 1, scale: float = 100) -> str:
    """Return a number with its interval: ``61.4 [58.6, 64.1]``."""
    value, low, high = (f"{scale * v:.{digits}f}" for v in estimate[:3])
    return f"{value} [{low}, {high}]"


def _row(row: Dots, top: float, tall: float, series: Sequence[Series], *, last: bool) -> Markup:
    middle = top + tall / 2
    short = row.label if len(row.label) <= _LONGEST else row.label[: _LONGEST - 1] + "…"
    title = Markup("{}<title>{}</title>").format(short, row.label)
    label = _text("label", _LEFT - 2.5, middle + 4, "end", title)
    if row.link:
        label = Markup('<a href="{}">{}</a>').format(row.link, label)
    parts = [label]
    if not last:
        parts.append(_line("rule", 0, 100, top + tall, top + tall))
    if not any(e.n for e in row.estimates):
        parts.append(_text("empty", _LEFT, middle + 4, "start", "no items"))
        return Markup().join(parts)
    if not math.isnan(row.chance):
        parts.append(_line("chance", _x(row.chance), _x(row.chance), top, top + tall))
    sizes = {e.n for e in row.estimates}
    if len(sizes) == 1:
        parts.append(_text("count", 100, middle + 4, "end", f"{min(sizes):,}"))
    first = middle - _PITCH * (len(series) - 1) / 2
    for i, (one, estimate) in enumerate(zip(series, row.estimates, strict=True)):
        y = first + i * _PITCH
        if len(sizes) > 1:
            parts.append(_text("count own", 100, y + 3.5, "end", f"{estimate.n:,}"))
        if estimate.n:
            parts.append(_dot(one, estimate, y, row.label))
    return Markup().join(parts)


def _dot(series: Series, estimate: Estimate, y: float, where: str) -> Markup:
    tip = f"{series.label}, {where}: {shown(estimate)} %, n = {estimate.n:,}"
    return Markup(
        '<g class="dot {}">{}<svg class="at" x="{}%" y="{}" width="1" height="1">{}</svg>'
        "<title>{}</title></g>"
    ).format(
        _class(series.mark),
        _line("bar", _x(estimate.low), _x(estimate.high), y, y),
        _n(_x(estimate.value)),
        _n(y),
        marker(series.mark, 0, 0),
        tip,
    )


def _axis(bottom: float) -> Markup:
    parts = [_text("tick", 100, _TOP - 9, "end", "n")]
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        parts.append(_line("grid", x, x, _TOP - 4, bottom))
        parts.append(_text("tick", x, _TOP - 9, "middle", f"{percent}"))
    return Markup().join(parts)


def _line(cls: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(
        cls, _n(x1), _n(x2), _n(y1), _n(y2)
    )


def _text(cls: str, x: float, y: float, anchor: str, text: str) -> Markup:
    return Markup('<text class="{}" x="{}%" y="{}" text-anchor="{}">{}</text>').format(
        cls, _n(x), _n(y), anchor, text
    )


def _class(mark: int) -> str:
    return "human" if mark < 0 else f"m{mark % COLOURS}"


def _x(value: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * value


def _n(number: float) -> str:
    """Return a coordinate without idle digits."""
    return f"{number:.2f}".rstrip("0").removesuffix(".")


def _svg(name: str, height: float, body: Sequence[Markup], cls: str) -> Markup:
    return Markup(
        '<svg class="{}" width="100%" height="{}" role="img" aria-label="{}">{}</svg>'
    ).format(cls, _n(height), escape(name), Markup().join(body))
