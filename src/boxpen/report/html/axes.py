"""Line charts as plain SVG: two axes, lines in few colours, their names in the right margin.

They are readable on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Axes", "apart", "axes_around", "begin", "name_of", "short", "style_of", "ticks"]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 24, 52
COLOURS = (("#0b62c4", "#6cb2ff"), ("#c2410c", "#ff9b6a"), ("#15803d", "#5fd38d"),
           ("#7e22ce", "#c99bff"), ("#525252", "#bdbdbd"))  # fmt: skip
_FITS = 20  # characters of a name that the margin has room for


@dataclass(frozen=True)
class Axes:
    """Maps values to positions in the chart.

    Attributes:
        logarithmic: Whether equal ratios are equally wide.
    """

    first: float
    last: float
    low: float
    high: float
    logarithmic: bool = False

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        scale = math.log if self.logarithmic else float
        span = (scale(self.last) - scale(self.first)) or 1
        share = (scale(value) - scale(self.first)) / span
        return LEFT + 14 + share * (WIDTH - LEFT - RIGHT) * 0.96

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        return TOP + (self.high - value) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)


def axes_around(across: Iterable[float], up: Iterable[float], *, logarithmic: bool = False) -> Axes:
    """Return axes with room for all these values."""
    across, up = list(across), list(up)
    low, high = min(up), max(up)
    pad = (high - low) * 0.06 or abs(high) * 0.06 or 0.05
    return Axes(min(across), max(across), low - pad, high + pad, logarithmic)


def begin(axes: Axes, *, title: str, across: str, up: str, marks: Sequence[float]) -> list[str]:
    """Return the start of a chart: title, style, grid and labels; ``</svg>`` is to follow."""
    out = [_head(title)]
    for tick in ticks(axes.low, axes.high):
        down = axes.y(tick)
        text = short(tick, 9) if abs(tick) >= 1000 else f"{tick:g}"
        out.append(f'<path class="grid" d="M{LEFT},{down:.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{down + 4:.1f}" class="end">{text}</text>')
    out += [
        f'<text x="{axes.x(mark):.1f}" y="{HEIGHT - BOTTOM + 20}" class="mid">{short(mark)}</text>'
        for mark in marks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" class="mid">{escape(across)}</text>')
    # Written from the edge, not towards it: a long name would begin outside of the drawing.
    out.append(f'<text x="8" y="14">{escape(up)}</text>')
    return out


def style_of(number: int) -> str:
    """Return the classes of a line: its colour; dashes when all colours have been used."""
    return f"c{number % len(COLOURS)}" + (" again" if number >= len(COLOURS) else "")


def name_of(number: int, name: str, height: float) -> str:
    """Return the name of a line in the margin, with a dash if the line has them.

    A name that is too long loses its middle.
    """
    half = (_FITS - 1) // 2
    shown = name if len(name) <= _FITS else f"{name[:half]}…{name[-half:]}"
    return (
        f'<text class="c{number % len(COLOURS)} name" x="{WIDTH - RIGHT + 12}" '
        f'y="{height + 4:.1f}">{"┄ " * (number >= len(COLOURS))}{escape(shown)}'
        + (f"<title>{escape(name)}</title>" if shown != name else "")
        + "</text>"
    )


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers between two, evenly spaced."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(f for f in (1, 2, 2.5, 5, 10) if (high - low) / (step * f) <= most)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [float(f"{number * step:.9g}") for number in numbers]


def short(number: float, digits: int = 3) -> str:
    """Return a number with at most this many digits: ``633k``."""
    number = float(f"{number:.{digits}g}")  # first, so that 999,999 is 1M, not 1e+03k
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.{digits}g}{name}"
    return f"{number:.{digits}g}"


def apart(heights: Sequence[float], gap: float = 16, most: float = HEIGHT - 8) -> list[float]:
    """Move names apart so that none covers another, within the chart."""
    out = list(heights)
    order = sorted(range(len(out)), key=lambda i: out[i])
    above = -math.inf
    for i in order:
        out[i] = above = max(out[i], above + gap)
    below = most + gap
    for i in reversed(order):
        out[i] = below = min(out[i], below - gap)
    return out


def _head(title: str) -> str:
    def rules(shade: int) -> str:
        return "".join(
            f".c{n}{{stroke:{pair[shade]};fill:{pair[shade]}}}" for n, pair in enumerate(COLOURS)
        )

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>text{font:13px system-ui,sans-serif;fill:#333;stroke:none}"
        ".grid{stroke:#8884;fill:none}.end{text-anchor:end}.mid{text-anchor:middle}"
        f"{rules(0)}text.name{{stroke:none;font-weight:600}}.bar{{stroke-width:1.5}}"
        "polyline{stroke-width:2;fill:none!important}.again{stroke-dasharray:6 4}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}{rules(1)}}}</style>"
    )
