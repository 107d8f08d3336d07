"""Draw the contrasts of the mined suite that readers judge, and count the sound ones.

    discourse_judged.py contrasts SUITE OUT   items and their wrong translations
    discourse_judged.py candidates            how many of each class the suite was drawn from
    discourse_judged.py table                 how many contrasts are sound

50 of every phenomenon, spread evenly over its classes. Both readers must call a contrast sound.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections import Counter
from pathlib import Path

from results import DOCS, write

import boxpen
from boxpen.metrics.intervals import wilson

EACH = 50
SEED = 8
PAGE = "discourse"
SUITE = Path(__file__).parents[1] / "build" / "discourse" / "tvsub-discourse"
PHENOMENA = ("pronoun", "connective", "ellipsis")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["contrasts", "candidates", "table"])
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args()
    if given.command == "contrasts":
        draw_contrasts(*given.paths)
    elif given.command == "candidates":
        write(PAGE, "candidates", candidates())
    else:
        write(PAGE, "contrasts", contrasts())


def draw_contrasts(suite: Path, out: Path) -> None:
    """Write 50 items of every phenomenon with wrong translations, none of them read before."""
    known = {row["item"] for row in _judged("discourse-contrasts.csv")}
    rows = [
        {
            "item": item.id,
            "class": item.tags["class"],
            "context": item.context or "",
            "source": item.source,
            "reference": item.reference,
            "wrong": " | ".join(item.contrast),
            "verdict": "",
        }
        for item in boxpen.load_suite(suite)
        if isinstance(item, boxpen.Translate) and item.contrast and item.id not in known
    ]
    _write(_spread(rows), out)


def candidates() -> str:
    """Return what `boxpen build run scripts/discourse_suite.toml` found."""
    stages = json.loads((SUITE / "stages.json").read_text("utf-8"))
    found = stages["mine"]["report"]
    suite = boxpen.load_suite(SUITE / "tvsub-discourse.jsonl")
    made = Counter(item.tags["class"] for item in suite)
    out = ["| class | candidates | of the best | in the suite |", "|---|---:|---:|---:|"]
    out += [
        f"| {row['class']} | {row['found']:,} | {row['kept']:,} | {made[row['class']]:,} |"
        for row in found["table"]
    ]
    return "\n".join(out)


def _spread(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return 50 rows of every phenomenon, by lot, as many of each class as can be."""
    chosen = []
    for phenomenon in PHENOMENA:
        classes: dict[str, list[dict[str, str]]] = {}
        for row in sorted(rows, key=lambda row: row["item"]):
            if row["item"].startswith(phenomenon):
                classes.setdefault(row["class"], []).append(row)
        dice = random.Random(f"{SEED} {phenomenon}")
        for members in classes.values():
            dice.shuffle(members)
        turns = (some[turn : turn + 1] for turn in range(EACH) for some in classes.values())
        chosen += [row for few in turns for row in few][:EACH]
    random.Random(SEED).shuffle(chosen)
    return chosen


def _write(rows: list[dict[str, str]], out: Path) -> None:
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def _judged(name: str) -> list[dict[str, str]]:
    with (DOCS / "data" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def contrasts() -> str:
    """Return how many wrong translations are wrong, and still Chinese."""
    rows = _judged("discourse-contrasts.csv")
    words = dict.fromkeys(row["class"].split("-")[0] for row in rows if "-" in row["class"])
    out = ["| phenomenon | with a contrast | sound | share | same verdict |", "|---" * 5 + "|"]
    for part in (*PHENOMENA, *sorted(words)):
        said = [
            (row["reader A"], row["reader B"])
            for row in rows
            if row["item"].startswith(part) or row["class"].startswith(f"{part}-")
        ]
        sound, alike = said.count(("ok", "ok")), sum(a == b for a, b in said)
        out.append(
            f"| {part} | {len(said)} | {sound} | {_share(sound, len(said))} | "
            f"{alike / len(said):.2f} |"
        )
    return "\n".join(out)


def _share(good: int, n: int) -> str:
    low, high = wilson(good / n, n)
    return f"{good / n:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
