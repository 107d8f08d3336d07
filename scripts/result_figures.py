"""Draw the figures of docs/results from the tables of their pages: docs/results/figures.

    python scripts/result_figures.py            # all of them
    python scripts/result_figures.py lm kg      # only these

Needs neither models nor data. After a table has changed, draw its figure again.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from dots import Cell, Row, dots
from results import DOCS, shown

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from plot import lines_svg

ESTIMATE = re.compile(r"([+-]?[\d.]+)%?(?: \[([+-]?[\d.]+)%?, ([+-]?[\d.]+)%?\])?")
ACCURACY, PERCENT = "accuracy [95 %]; dashed: chance", "% right [95 %]; dashed: chance"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; default: all")
    names = parser.parse_args().names or list(FIGURES)
    if unknown := [name for name in names if name not in FIGURES]:
        parser.error(f"no figure '{unknown[0]}', expected {', '.join(FIGURES)}")
    for name in names:
        (DOCS / "figures" / f"{name}.svg").write_text(FIGURES[name](), "utf-8")


def lm() -> str:
    rows = [
        Row(row["suite"], marks(row, ("smollm2, 135 M", "bert-mini, 28 M")), float(row["chance"]))
        for row in rows_of("lm", "summary")
    ]
    return dots("Two language models on six suites", rows, (0.3, 0.8), ACCURACY)


def learned() -> str:
    rows = [
        Row(f"{row['system']}, {row['suite']}",
            {**marks(row, ("consistency", "both right")),
             "consistency if independent": number(row["if independent"])})
        for row in rows_of("learned", "consistency")
    ]  # fmt: skip
    return dots("Consistency of three systems", rows, (0, 0.7), "share of blocks [95 %]")


def kg() -> str:
    rows = [
        Row(row["relation"], marks(row, ("smollm2", "bert-mini")), 50,
            {name: float(row[name]) for name in ("RoBERTa (paper)", "BERT (paper)")})
        for row in rows_of("kg", "qa")
        if row["RoBERTa (paper)"]
    ]  # fmt: skip
    unit = "% failed [95 %]; dashed: guessing"
    return dots("Questions by relation", rows, (0, 60), unit, "RoBERTa, BERT (paper)")


def cats() -> str:
    rows = [
        Row(f"{row['differs in']} ({row['items']})", marks(row, ("smollm2", "bert-mini")), 0.5)
        for row in rows_of("cats", "word-classes")
        if row["set"] == "sm" and int(row["items"]) >= 20
    ]
    return dots("sm by the class of what differs", rows, (0.2, 1), ACCURACY)


def steps() -> str:
    rows = []
    for tag, fewer, more in (("steps", "1", "2"), ("mediators", "0", "1")):
        for row in rows_of("steps", f"cats-{tag}"):
            found = {"1 step, or no mediator": row[fewer], "2 steps, or 1 mediator": row[more]}
            drawn = {name: number(cell) for name, cell in found.items()}
            rows.append(Row(f"{row['part']} by {tag}, {row['system']}", drawn, 50))
    return dots("sm and wsc by steps and mediators", rows, (20, 90), PERCENT)


def duals() -> str:
    rows = []
    for line in shown("duals", "models-blind").splitlines():
        if line.startswith("#### "):
            model = line.split(" × ")[1].partition(",")[0]
        elif line.startswith(("| flipped", "| kept")):
            name, _, *found = split(line)
            names = ("before the change", "after it", "both right")
            values = {n: number(cell) for n, cell in zip(names, found[:3], strict=True)}
            rows.append(Row(f"{model}, truth {name}", values))
    return dots("Duals that two readers accept", rows, (0, 100), "% right [95 %]")


def suites() -> str:
    rows = []
    for row in rows_of("suites", "accuracy"):
        if "[" in row["smollm2"]:
            published = re.match(r"[\d.]+", row["published"])
            crosses = {"published": float(published[0])} if published else {}
            label = f"{row['suite']}, {row['recipe']}, {row['norm']}"
            rows.append(Row(label, marks(row, ("smollm2",)), float(row["chance"]), crosses))
    return dots("smollm2 on public suites", rows, (0.2, 0.9), ACCURACY, "published")


def shortcuts() -> str:
    rows = []
    for suite in ("senmaking", "comve", "cats"):
        for row in rows_of("shortcuts", suite):
            # A dash: nothing beat guessing, so one guesses.
            found = {
                name: number(row["chance"] if row[key] == "–" else row[key].strip("*"))
                for name, key in (("bag of words", "bag of words"), ("most negations", "negation"))
            }
            if row["set"] != "all":
                rows.append(Row(f"{suite}, {row['set']}", found, float(row["chance"])))
    unit = "right without sense [95 %]; dashed: chance"
    return dots("Two shortcuts", rows, (0.2, 0.8), unit)


def sense() -> str:
    found = {row["system"]: row for row in rows_of("sense", "sound")}
    rows = [
        Row(f"{name}, {part}",
            {"before": number(found[name][part]), "after": number(found[f"{name}-graph"][part])},
            chance)
        for part, chance in (("sen-making", 0.5), ("explanation", 0.333))
        for name in ("bilm", "bilm-tiny", "bert-mini", "smollm2")
    ]  # fmt: skip
    papers = ("ELMo (paper)", "fine-tuned ELMo (paper)")
    for place, part, chance in ((4, "sen-making", 0.5), (9, "explanation", 0.333)):
        crosses = {name: float(found[name][part]) for name in papers}
        rows.insert(place, Row(f"ELMo, {part}", {}, chance, crosses))
    title = "Before and after ConceptNet"
    return dots(title, rows, (0.2, 0.8), ACCURACY, "ELMo (paper)")


def asked() -> str:
    found: dict[str, dict[str, Cell]] = {}
    chance = {}
    ways = {"scored": "scored", "letters": "asked for a letter", "text": "asked for text"}
    for row in rows_of("asked", "accuracy"):
        found.setdefault(row["suite"], {})[ways[row["way"]]] = number(row["accuracy"])
        chance.setdefault(row["suite"], float(row["chance"]))
    rows = [Row(suite, some, chance[suite]) for suite, some in found.items()]
    return dots("smollm2, scored and asked", rows, (0, 0.8), ACCURACY)


def starter() -> str:
    rows = [
        Row(f"{row['set']} ({row['']})",
            {"starter": number(row["starter"]), "the public suite": number(row["public suite"])},
            0.333 if row["set"] == "explanation" else 0.5)
        for row in rows_of("starter", "comparison")
        if row["system"] == "smollm2" and row["set"] != "all"
    ]  # fmt: skip
    return dots("smollm2 on starter and beside it", rows, (0.2, 1), ACCURACY)


def machines() -> str:
    series: dict[str, dict[int, float]] = {}
    for row in rows_of("machines", "build"):
        name = {"none": "one process", "1": "1 worker"}.get(row["workers"])
        lines = int(row["subtitle lines"].replace(",", ""))
        series.setdefault(name or f"{row['workers']} workers", {})[lines] = float(row["seconds"])
    sizes = sorted(series["one process"])
    values = {name: [of[size] for size in sizes] for name, of in series.items()}
    return lines_svg(sizes, values, x="lines", y="seconds")


FIGURES: dict[str, Callable[[], str]] = {
    drawn.__name__: drawn
    for drawn in (
        lm, learned, kg, cats, steps, duals, suites, shortcuts, sense, asked, starter, machines,
    )
}  # fmt: skip


def rows_of(topic: str, key: str) -> list[dict[str, str]]:
    """Return the rows of a table: their cells by column."""
    lines = [line for line in shown(topic, key).splitlines() if line.startswith("|")]
    head, _, *rows = (split(line) for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def split(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def marks(row: dict[str, str], names: tuple[str, ...]) -> dict[str, Cell]:
    """Return some cells of a row as numbers."""
    return {name: number(row[name]) for name in names}


def number(cell: str) -> Cell:
    """Return a number of a table with its interval, if it has one."""
    found = ESTIMATE.match(cell)
    if found is None:
        raise SystemExit(f"expected a number in a table, found '{cell}'")
    value = float(found[1])
    return (value, float(found[2] or value), float(found[3] or value))


if __name__ == "__main__":
    main()
