"""The figures of docs/results about language models; figures_from_tables.py draws them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from dots import Cell, Row, dots
from page_tables import Cells, columns, number, rows_of
from results import shown

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from plot import lines_svg

ACCURACY, PERCENT = "accuracy [95 %]; dashed: chance", "% right [95 %]; dashed: chance"


def lm() -> str:
    rows = [
        Row(row["suite"], columns(row, ("smollm2, 135 M", "bert-mini, 28 M")), float(row["chance"]))
        for row in first("lm", "summary")
    ]
    return dots("Two language models on six suites", rows, (0.3, 0.8), ACCURACY)


def learned() -> str:
    rows = [
        Row(f"{row['system']}, {row['suite']}",
            {**columns(row, ("consistency", "both right")),
             "consistency if independent": number(row["if independent"])})
        for row in first("learned", "consistency")
    ]  # fmt: skip
    return dots("Consistency of three systems", rows, (0, 0.7), "share of blocks [95 %]")


def kg() -> str:
    rows = [
        Row(row["relation"], columns(row, ("smollm2", "bert-mini")), 50,
            {name: float(row[name]) for name in ("RoBERTa (paper)", "BERT (paper)")})
        for row in first("kg", "qa")
        if row["RoBERTa (paper)"] and row["smollm2"] != "–"
    ]  # fmt: skip
    unit = "% failed [95 %]; dashed: guessing"
    return dots("Questions by relation", rows, (0, 70), unit, "RoBERTa, BERT (paper)")


def cats() -> str:
    rows = [
        Row(f"{row['differs in']} ({row['items']})", columns(row, ("smollm2", "bert-mini")), 0.5)
        for row in first("cats", "word-classes")
        if row["set"] == "sm" and int(row["items"]) >= 20
    ]
    return dots("sm by the class of what differs", rows, (0.2, 1), ACCURACY)


def steps() -> str:
    rows = []
    for tag, fewer, more in (("steps", "1", "2"), ("mediators", "0", "1")):
        for row in first("steps", f"cats-{tag}"):
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
            name, _, *found = (cell.strip() for cell in line.strip("|").split("|"))
            names = ("before the change", "after it", "both right")
            values = {n: number(cell) for n, cell in zip(names, found[:3], strict=True)}
            rows.append(Row(f"{model}, truth {name}", values))
    return dots("Duals that two readers accept", rows, (0, 100), "% right [95 %]")


def suites() -> str:
    rows = []
    for row in first("suites", "accuracy"):
        if "[" in row["smollm2"]:
            published = re.match(r"[\d.]+", row["published"])
            crosses = {"published": float(published[0])} if published else {}
            label = f"{row['suite']}, {row['recipe']}, {row['norm']}"
            rows.append(Row(label, columns(row, ("smollm2",)), float(row["chance"]), crosses))
    return dots("smollm2 on public suites", rows, (0.2, 0.9), ACCURACY, "published")


def shortcuts() -> str:
    rows = []
    for suite in ("senmaking", "comve", "cats"):
        for row in first("shortcuts", suite):
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
    found = {row["system"]: row for row in first("sense", "sound")}
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
    for row in first("asked", "accuracy"):
        found.setdefault(row["suite"], {})[ways[row["way"]]] = number(row["accuracy"])
        chance.setdefault(row["suite"], float(row["chance"]))
    rows = [Row(suite, some, chance[suite]) for suite, some in found.items()]
    return dots("smollm2, scored and asked", rows, (0, 0.8), ACCURACY)


def starter() -> str:
    rows = [
        Row(f"{row['set']} ({row['']})",
            {"starter": number(row["starter"]), "the public suite": number(row["public suite"])},
            0.333 if row["set"] == "explanation" else 0.5)
        for row in first("starter", "comparison")
        if row["system"] == "smollm2" and row["set"] != "all"
    ]  # fmt: skip
    return dots("smollm2 on starter and beside it", rows, (0.2, 1), ACCURACY)


def machines() -> str:
    series: dict[str, dict[int, float]] = {}
    for row in first("machines", "build"):
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


def first(topic: str, key: str) -> list[Cells]:
    """Return the rows of the first table of a block."""
    return rows_of(topic, key)[0]
