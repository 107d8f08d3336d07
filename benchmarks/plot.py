"""A plot of a few rising lines as a plain SVG, readable on white and on black."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["lines_svg"]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 24, 52  # the margins; names stand in the right one
COLOURS = (("#0b62c4", "#6cb2ff"), ("#c2410c", "#ff9b6a"), ("#15803d", "#5fd38d"),
           ("#7e22ce", "#c99bff"), ("#525252", "#bdbdbd"))  # fmt: skip


def lines_svg(
    sizes: Sequence[float], series: Mapping[str, Sequence[float]], *, x: str, y: str
) -> str:
    """Return one line per series, its name at its end.

    Args:
        sizes: Where the points stand on the x axis.
        series: The y values by name; the first is drawn thicker.
        x: Title of the x axis.
        y: Title of the y axis.
    """
    ticks = _ticks(max(max(values) for values in series.values()))
    across = (WIDTH - LEFT - RIGHT) / max(sizes)
    up = (HEIGHT - TOP - BOTTOM) / ticks[-1]

    def place(size: float, value: float) -> str:
        return f"{LEFT + size * across:.1f},{HEIGHT - BOTTOM - value * up:.1f}"

    out = [_head(f"{y.capitalize()} against number of {x}: {', '.join(series)}")]
    for tick in ticks:
        at = HEIGHT - BOTTOM - tick * up
        out.append(f'<path class="grid" d="M{LEFT},{at:.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" class="end">{tick:,g}</text>')
    for size in sizes:
        at = LEFT + size * across
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" class="mid">{size:,}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" class="mid">{escape(x)}</text>')
    out.append(f'<text x="{LEFT - 8}" y="14" class="end">{escape(y)}</text>')
    heights = _apart([HEIGHT - BOTTOM - values[-1] * up for values in series.values()])
    for number, (name, values) in enumerate(series.items()):
        points = " ".join(place(s, v) for s, v in zip(sizes, values, strict=True))
        kind = f"c{number % len(COLOURS)}"
        thick = ' style="stroke-width:3.5"' if number == 0 else ""
        out.append(f'<polyline class="{kind}"{thick} points="{points}"/>')
        for point in points.split():
            cx, _, cy = point.partition(",")
            out.append(f'<circle class="{kind}" cx="{cx}" cy="{cy}" r="3.5"/>')
        label = f'x="{WIDTH - RIGHT + 10}" y="{heights[number] + 4:.1f}"'
        out.append(f'<text class="{kind} name" {label}>{escape(name)}</text>')
    return "\n".join([*out, "</svg>", ""])


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
        f"{rules(0)}text.name{{stroke:none;font-weight:600}}"
        "polyline{stroke-width:2;fill:none!important}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}{rules(1)}}}</style>"
    )


def _ticks(largest: float) -> list[float]:
    """Return four to eight round numbers from 0 to what covers the largest value."""
    step = 10 ** math.floor(math.log10(largest / 4)) if largest > 0 else 1.0
    step *= next(f for f in (1, 2, 2.5, 5, 10) if largest / (step * f) <= 7)
    return [step * i for i in range(math.ceil(largest / step) + 1)]


def _apart(heights: Sequence[float], gap: float = 16) -> list[float]:
    """Return the heights of labels, moved so that none stands on another."""
    out = list(heights)
    above = -math.inf
    for i in sorted(range(len(out)), key=lambda i: out[i]):
        out[i] = above = max(out[i], above + gap)
    return out
