"""A data-size curve as a plain SVG, readable on white and on black."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from boxpen.analysis.curve import Point

__all__ = ["curve_svg"]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 24, 52  # names stand in the right margin
COLOURS = (("#0b62c4", "#6cb2ff"), ("#c2410c", "#ff9b6a"), ("#15803d", "#5fd38d"),
           ("#7e22ce", "#c99bff"), ("#525252", "#bdbdbd"))  # fmt: skip


def curve_svg(curves: Mapping[str, Sequence[Point]], *, metric: str) -> str:
    """Draw curves over a logarithmic axis of sizes, with the interval of every point."""
    points = [p for some in curves.values() for p in some]
    sizes = sorted({p.size for p in points})
    low = min(p.estimate.low for p in points)
    high = max(p.estimate.high for p in points)
    pad = (high - low) * 0.06 or 0.05
    low, high = low - pad, high + pad
    first, last = math.log(sizes[0]), math.log(sizes[-1])
    across = (WIDTH - LEFT - RIGHT) / ((last - first) or 1)

    def x(size: float) -> float:
        return LEFT + 14 + (math.log(size) - first) * across * 0.96

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [_head(f"{metric} against size of training data: {', '.join(curves)}")]
    for tick in _ticks(low, high):
        out.append(f'<path class="grid" d="M{LEFT},{y(tick):.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" class="end">{tick:g}</text>')
    out += [
        f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 20}" class="mid">{_short(size)}</text>'
        for size in sizes
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" class="mid">training data</text>')
    out.append(f'<text x="{LEFT - 8}" y="14" class="end">{escape(metric)}</text>')
    heights = _apart([y(some[-1].estimate.value) for some in curves.values()])
    for number, (name, some) in enumerate(curves.items()):
        kind = f"c{number % len(COLOURS)}"
        line = " ".join(f"{x(p.size):.1f},{y(p.estimate.value):.1f}" for p in some)
        out.append(f'<polyline class="{kind}" points="{line}"/>')
        for p in some:
            at = x(p.size) + 2 * (number - (len(curves) - 1) / 2)  # side by side, to be told apart
            out.append(
                f'<path class="{kind} bar" d="M{at:.1f},{y(p.estimate.low):.1f}'
                f'V{y(p.estimate.high):.1f}"/>'
                f'<circle class="{kind}" cx="{x(p.size):.1f}" cy="{y(p.estimate.value):.1f}" '
                'r="3.5"/>'
            )
        out.append(
            f'<text class="{kind} name" x="{WIDTH - RIGHT + 12}" y="{heights[number] + 4:.1f}">'
            f"{escape(name)}</text>"
        )
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
        f"{rules(0)}text.name{{stroke:none;font-weight:600}}.bar{{stroke-width:1.5}}"
        "polyline{stroke-width:2;fill:none!important}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}{rules(1)}}}</style>"
    )


def _ticks(low: float, high: float) -> list[float]:
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(f for f in (1, 2, 2.5, 5, 10) if (high - low) / (step * f) <= 7)
    return [round(i * step, 9) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _short(size: float) -> str:
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if size >= unit:
            return f"{size / unit:g}{name}"
    return f"{size:.3g}"


def _apart(heights: Sequence[float], gap: float = 16) -> list[float]:
    out = list(heights)
    above = -math.inf
    for i in sorted(range(len(out)), key=lambda i: out[i]):
        out[i] = above = max(out[i], above + gap)
    return out
