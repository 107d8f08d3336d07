"""A chart of dots with their intervals: one line per row, one mark per series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from boxpen.report.html.axes import COLOURS, short, ticks
from boxpen.report.html.charts import marker

WIDTH, LEFT, RIGHT, PITCH = 720, 200, 20, 13
Cell = tuple[float, float, float]


@dataclass(frozen=True)
class Row:
    """One line of a figure.

    Attributes:
        marks: Value, low and high by series; without an interval all three are the same.
        line: Where chance or zero is.
        crosses: Values of the paper, by system.
    """

    label: str
    marks: Mapping[str, Cell]
    line: float | None = None
    crosses: Mapping[str, float] = field(default_factory=dict)


def dots(
    title: str, rows: Sequence[Row], axis: tuple[float, float], unit: str, paper: str = ""
) -> str:
    """Return rows of dots with intervals, and crosses for what a paper has."""
    series = list(dict.fromkeys(name for row in rows for name in row.marks))
    tall = max(24, PITCH * max(len(row.marks) for row in rows) + 10)
    legend = [*series, *([paper] if paper else [])]
    top = 44 + 18 * ((len(legend) - 1) // 3)
    bottom = top + tall * len(rows)
    out = [_head(title, bottom + 40)]
    for place, name in enumerate(legend):
        x, y = 20 + 230 * (place % 3), 18 + 18 * (place // 3)
        mark = place if place < len(series) else -1
        out.append(f'{marker(mark, x, y)}<text x="{x + 10}" y="{y + 4}">{escape(name)}</text>')

    def across(value: float) -> float:
        share = (value - axis[0]) / (axis[1] - axis[0])
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    for tick in ticks(*axis):
        x = across(tick)
        out.append(f'<path class="grid" d="M{x:.1f},{top - 4}V{bottom}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" class="mid">{short(tick)}</text>')
    out.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{bottom + 34}" class="mid">{unit}</text>'
    )
    for place, row in enumerate(rows):
        start = top + place * tall
        out.append(f'<text x="{LEFT - 12}" y="{start + tall / 2 + 4:.1f}" class="end">'
                   f"{escape(row.label)}</text>")  # fmt: skip
        if row.line is not None:
            out.append(f'<path class="chance" d="M{across(row.line):.1f},{start}v{tall}"/>')
        first = start + tall / 2 - PITCH * (len(row.marks) - 1) / 2
        for turn, (name, (value, low, high)) in enumerate(row.marks.items()):
            mark, y = series.index(name), first + turn * PITCH
            tip = f"{row.label}, {name}: {value:g} [{low:g}, {high:g}]"
            out.append(
                f'<g><title>{escape(tip)}</title><path class="bar m{mark}" '
                f'd="M{across(low):.1f},{y:.1f}H{across(high):.1f}"/>'
                f"{marker(mark, across(value), y)}</g>"
            )
        for name, value in row.crosses.items():
            tip = f"<title>{escape(f'{row.label}, {name}: {value:g}')}</title>"
            out.append(f"<g>{tip}{marker(-1, across(value), start + tall / 2)}</g>")
    return "\n".join([*out, "</svg>\n"])


def _head(title: str, height: float) -> str:
    def rules(shade: int) -> str:
        return "".join(
            f".m{n}{{stroke:{pair[shade]};fill:{pair[shade]}}}" for n, pair in enumerate(COLOURS)
        )

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>text{font:13px system-ui,sans-serif;fill:#333;stroke:none}"
        ".end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:#8884}"
        ".chance{stroke:#888;stroke-dasharray:4 3}.bar{stroke-width:2;opacity:.55}"
        f".human{{stroke:#111;stroke-width:2;fill:none}}{rules(0)}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.human{{stroke:#eee}}{rules(1)}}}"
        "</style>"
    )
