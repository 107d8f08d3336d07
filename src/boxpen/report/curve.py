"""A data-size curve as a plain SVG, readable on white and on black."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.analysis.curve import Point
from boxpen.report.html.axes import apart, axes_around, begin, name_of, style_of
from boxpen.report.plain_table import table_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["curve_object", "curve_svg", "curve_table"]


def curve_object(curves: Mapping[str, Sequence[Point]], metric: str) -> dict[str, Any]:
    """Return curves as data."""
    points = [
        {"curve": name, "size": p.size, **p.estimate._asdict()}
        for name, some in curves.items()
        for p in some
    ]
    return {"metric": metric, "points": points}


def curve_table(curves: Mapping[str, Sequence[Point]], metric: str) -> Table:
    """Return curves as a table with one row per point."""
    rows = [
        (name, f"{p.size:,.12g}", e.n, f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]")
        for name, some in curves.items()
        for p in some
        for e in (p.estimate,)
    ]
    return table_of(("curve", "size", "n", f"{metric} [95 %]"), rows)


def curve_svg(
    curves: Mapping[str, Sequence[Point]], *, metric: str, across: str = "training data"
) -> str:
    """Draw curves over a logarithmic axis of sizes, with the interval of every point."""
    points = [p for some in curves.values() for p in some]
    sizes = sorted({p.size for p in points})
    axes = axes_around(
        sizes, [end for p in points for end in (p.estimate.low, p.estimate.high)], logarithmic=True
    )
    x, y = axes.x, axes.y
    out = begin(
        axes,
        title=f"{metric} against size of training data: {', '.join(curves)}",
        across=across,
        up=metric,
        marks=sizes,
    )
    heights = apart([y(some[-1].estimate.value) for some in curves.values()])
    for number, (name, some) in enumerate(curves.items()):
        kind = style_of(number)
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
        out.append(name_of(number, name, heights[number]))
    return "\n".join([*out, "</svg>", ""])
