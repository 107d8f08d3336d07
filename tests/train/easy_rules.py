"""Rules that are easy to learn."""

from __future__ import annotations

import csv
import random
from pathlib import Path

NOUNS = ["cat", "dog", "man", "girl", "boy", "bird", "horse", "cook", "child", "farmer"]
VERBS = ["eats", "sees", "likes", "wants", "finds"]
OBJECTS = ["bread", "fish", "apples", "soup", "milk", "rice"]
MARKS = {"surely": "entailment", "maybe": "neutral", "not": "contradiction"}


def nli_rows(count: int, seed: int = 1) -> list[tuple[str, str, str]]:
    """The label follows from one word of the hypothesis; all are equally long."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        what = f"{draw.choice(NOUNS)} {draw.choice(VERBS)} {draw.choice(OBJECTS)}"
        mark = draw.choice(sorted(MARKS))
        premise = f"the {what} {draw.choice(NOUNS)} {draw.choice(NOUNS)}"
        rows.append((premise, f"{mark} the {what}", MARKS[mark]))
    return rows


def choice_rows(count: int, seed: int = 1) -> list[dict[str, object]]:
    """The right solution is the one without 'not'."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        goal = f"the {draw.choice(NOUNS)} {draw.choice(VERBS)} {draw.choice(OBJECTS)}"
        solutions = [f"{mark} the {draw.choice(OBJECTS)}" for mark in ("surely", "not")]
        gold = draw.randrange(2)
        rows.append(
            {"goal": goal, "sol1": solutions[gold], "sol2": solutions[1 - gold], "label": gold}
        )
    return rows


def write_csv(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["premise", "hypothesis", "label"])
        writer.writerows(rows)
    return path
