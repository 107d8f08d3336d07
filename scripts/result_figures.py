"""Draw the figures of docs/results from the tables of their pages: docs/results/figures.

    python scripts/result_figures.py            # all of them
    python scripts/result_figures.py lm kg      # only these

Needs neither models nor data. After a table has changed, draw its figure again.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from results import DOCS, shown

from boxpen.metrics.intervals import Estimate
from boxpen.report.html.axes import COLOURS
from boxpen.report.html.charts import Dots, Series, dot_chart, marker

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from plot import lines_svg

NONE = Estimate(float("nan"), float("nan"), float("nan"), 0)
WIDTH, LEGEND = 640, 24
ESTIMATE = re.compile(r"([+-]?[\d.]+)%? \[([+-]?[\d.]+)%?, ([+-]?[\d.]+)%?\]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; default: all")
    names = parser.parse_args().names or list(FIGURES)
    if unknown := [name for name in names if name not in FIGURES]:
        parser.error(f"no figure '{unknown[0]}', expected {', '.join(FIGURES)}")
    for name in names:
        path_of(name).write_text(FIGURES[name](), "utf-8")


def path_of(name: str) -> Path:
    return DOCS / "figures" / f"{name}.svg"


def lm() -> str:
    head, *rows = cells_of("lm.md", "summary")
    names = [cell.partition(",")[0] for cell in head[2:-1]]
    dots = [
        Dots(suite.strip("`"), float(chance), [estimate(one, count(n)) for one in found])
        for suite, n, *found, chance in rows
    ]
    return dot_svg("Accuracy by suite, %", dots, names)


def learned() -> str:
    dots = []
    for name, suite, accuracy, blocks, consistent, _, both, *_ in body("learned.md", "consistency"):
        n = count(blocks)
        found = [estimate(accuracy, 2 * n), estimate(consistent, n), estimate(both, n)]
        dots.append(Dots(f"{SUITES[suite]}, {name.removesuffix('-mini')}", 0.5, found))
    return dot_svg("% of items, and of blocks", dots, ("accuracy", "consistency", "both right"))


SUITES = {"commonmt": "CommonMT", "cats-dual": "CATs", "starter.dual": "starter"}
"""Labels have room for 17 characters."""


def kg() -> str:
    counts = {row[0]: (count(row[1]), count(row[12])) for row in body("kg.md", "tests")}
    dots = []
    for relation, *found in body("kg.md", "qa"):
        if relation in counts:
            ours, papers = counts[relation]
            values = [
                estimate(one, n, 100)
                for one, n in zip(found, [papers, papers, ours, ours], strict=True)
            ]
            dots.append(Dots(relation, 0.5, values))
    names = ("RoBERTa (paper)", "BERT (paper)", "smollm2", "bert-mini")
    return dot_svg("Questions failed, %, by relation", dots, names)


def cats() -> str:
    dots = [
        Dots(kind, 0.5, [estimate(one, count(n)) for one in found])
        for name, kind, n, *found in body("cats.md", "word-classes")
        if name == "sm" and count(n) >= 20
    ]
    return dot_svg("Accuracy on sm by what differs, %", dots, ("smollm2", "bert-mini"))


def steps() -> str:
    sizes = {
        (system, tag, name): [count(n) for n in both.split(" : ")]
        for system, tag, name, both, _ in body("steps.md", "cats-power")
    }
    dots = []
    for tag, short in (("steps", "step"), ("mediators", "med.")):
        for system, name, *found in body("steps.md", f"cats-{tag}"):
            both = zip(found[:2], sizes[system, tag, name], strict=True)
            label = f"{name} {short}, {system.removesuffix('-mini')}"
            dots.append(Dots(label, 0.5, [estimate(one, n, 100) for one, n in both]))
    return dot_svg("Accuracy, %", dots, ("1 step, or no mediator", "2 steps, or 1 mediator"))


def duals() -> str:
    dots = []
    model = ""
    for line in shown("duals.md", "models-blind").splitlines():
        if line.startswith("#### "):
            model = line.split(" × ")[1].partition(",")[0]
        elif line.startswith(("| flipped", "| kept")):
            name, n, *found = split(line)
            values = [estimate(one, count(n), 100) for one in found[:3]]
            label = {"flipped": "flips", "kept": "keeps"}[name]
            dots.append(Dots(f"{label}: {model}", float("nan"), values))
    return dot_svg("Accuracy, %", dots, ("before the change", "after it", "both right"))


def suites() -> str:
    dots = []
    for name, recipe, norm, n, chance, found, *_ in body("suites.md", "accuracy"):
        if ESTIMATE.search(found) and (recipe, norm) in FIRST[name.strip("`") == "piqa"]:
            dots.append(Dots(name.strip("`"), float(chance), [estimate(found, count(n))]))
    return dot_svg("Accuracy of smollm2, %", dots, ("smollm2",))


FIRST = ([("partial", "sum"), ("sound", "sum")], [("sound", "char")])
"""The recipe and norm that is drawn: of all suites, and of piqa."""


def shortcuts() -> str:
    dots = []
    for suite, short in (("senmaking", ""), ("comve", "ComVE "), ("cats", "CATs ")):
        for name, n, guessed, *found in body("shortcuts.md", suite):
            if name != "all":
                cells = [guessed if one == "–" else one for one in (found[-1], found[2])]
                values = [estimate(one, count(n)) for one in cells]
                dots.append(Dots(f"{short}{name}", float(guessed), values))
    return dot_svg("Right without sense, %", dots, ("bag of words", "most negations"))


def sense() -> str:
    found = {name: cells for name, *cells in body("sense.md", "sound")}
    dots = [
        Dots(f"{name}, {short}", chance, [
            estimate(found[f"{name}{suffix}"][place], ITEMS) for suffix in ("", "-graph")
        ])
        for place, short, chance in ((0, "sense", 0.5), (1, "why", 1 / 3))
        for name in ("bilm", "bilm-tiny", "bert-mini", "smollm2")
    ]  # fmt: skip
    return dot_svg("Accuracy on Sen-Making, %", dots, ("before ConceptNet", "after"))


ITEMS = 2021
"""Of each set of Sen-Making."""


def asked() -> str:
    found: dict[str, list[Estimate]] = {}
    chance = {}
    for suite, _, n, accuracy, guessed, *_ in body("asked.md", "accuracy"):
        found.setdefault(suite, []).append(estimate(accuracy, count(n)))
        chance.setdefault(suite, float(guessed))
    dots = [Dots(suite, chance[suite], some) for suite, some in found.items()]
    return dot_svg(
        "Accuracy of smollm2, %", dots, ("scored", "asked for a letter", "asked for text")
    )


def starter() -> str:
    sizes = {
        (suite, row[0]): count(row[1])
        for suite in ("commonmt", "cats-dual", "senmaking")
        for row in body("shortcuts.md", suite)
    }
    own: dict[str, int] = {}
    for part, tag, items in body("../explanation/starter.md", "counts"):
        if (part, tag) in (("mt", "set"), ("sense", "set"), ("dual", "set")):
            own |= {name: int(n) for name, n in re.findall(r"([\w-]+) (\d+)", items)}
    dots = [
        Dots(name, 1 / 3 if name == "explanation" else 0.5,
             [estimate(ours, own[name]), estimate(theirs, sizes[public, name])])
        for system, name, ours, theirs, public in body("starter.md", "comparison")
        if system == "smollm2" and name != "all"
    ]  # fmt: skip
    return dot_svg("Accuracy of smollm2, %", dots, ("starter", "the public suite"))


def machines() -> str:
    series: dict[str, dict[int, float]] = {}
    for lines, workers, seconds, *_ in body("machines.md", "build"):
        series.setdefault(WORKERS[workers], {})[count(lines)] = float(seconds)
    sizes = sorted(series[WORKERS["none"]])
    values = {name: [of[size] for size in sizes] for name, of in series.items()}
    return lines_svg(sizes, values, x="lines", y="seconds")


WORKERS = {"none": "one process", "1": "1 worker", "2": "2 workers"}


FIGURES: dict[str, Callable[[], str]] = {
    "lm": lm,
    "learned": learned,
    "kg": kg,
    "cats": cats,
    "steps": steps,
    "duals": duals,
    "suites": suites,
    "shortcuts": shortcuts,
    "sense": sense,
    "asked": asked,
    "starter": starter,
    "machines": machines,
}


def dot_svg(title: str, rows: Sequence[Dots], names: Sequence[str]) -> str:
    """Return dots with their intervals as a file of its own, readable on white and on black."""
    chart = dot_chart(title, rows, [Series(name, n) for n, name in enumerate(names)])
    height = float(chart.partition('height="')[2].partition('"')[0]) + LEGEND
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{style(len(names))}</style>",
        f'<text class="head" x="4" y="16">{escape(title)}</text>',
    ]
    x = WIDTH - 12.0
    for n, name in reversed(list(enumerate(names))):
        out.append(f'<text class="key" x="{x:g}" y="16">{escape(name)}</text>')
        x -= 7.2 * len(name) + 8
        out.append(f'<g class="m{n}">{marker(n, x, 12)}</g>')
        x -= 16
    moved = str(chart).replace('<svg class="chart" ', f'<svg class="chart" y="{LEGEND}" ', 1)
    return "\n".join([*out, moved, "</svg>", ""])


def style(marks: int) -> str:
    def colours(shade: int) -> str:
        return "".join(
            f".m{n} .bar{{stroke:{pair[shade]}}}.m{n} .sign{{fill:{pair[shade]}}}"
            for n, pair in enumerate(COLOURS[:marks])
        )

    return (
        "text{font:12px system-ui,sans-serif;fill:#333}.head{font-weight:600}.key{text-anchor:end}"
        ".at{overflow:visible}.tick,.count{font-size:10.5px;opacity:.75}.count.own{font-size:9.5px}"
        ".grid,.rule{stroke:#8884}.chance{stroke:#888;stroke-dasharray:3 2}"
        f".bar{{stroke-width:2;opacity:.6}}{colours(0)}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}{colours(1)}}}"
    )


def body(topic: str, key: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of a table, without its head."""
    yield from cells_of(topic, key)[1:]


def cells_of(topic: str, key: str) -> list[list[str]]:
    """Return the cells of a table, its head first."""
    rows = [split(line) for line in shown(topic, key).splitlines() if line.startswith("|")]
    return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def count(cell: str) -> int:
    return int(cell.replace(",", ""))


def estimate(cell: str, n: int, scale: float = 1) -> Estimate:
    """Return a number with its interval, or without; nothing is drawn of a dash."""
    if found := ESTIMATE.search(cell):
        value, low, high = (float(part) / scale for part in found.groups())
        return Estimate(value, low, high, n)
    if re.fullmatch(r"[\d.]+", cell):
        return Estimate(*[float(cell) / scale] * 3, n)
    return NONE


if __name__ == "__main__":
    main()
