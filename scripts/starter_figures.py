"""Put the counts, checks and agreement of the starter suite into docs/explanation/starter.md."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from results import write

import boxpen
from boxpen.analysis.suites import shortcuts
from boxpen.items import Choice

READINGS = Path(__file__).parents[1] / "docs" / "data" / "starter-readings.csv"
PRONOUNS = {"你": "you", "你们": "you", "他们": "they", "她们": "they", "它们": "they"}
STARTER = boxpen.load_suite("starter")
GRAPH = boxpen.load_suite("starter-graph")
PARTS = {part: STARTER.where(part=part) for part in ("mt", "sense", "dual", "discourse")} | {
    "graph": GRAPH
}


def main() -> None:
    write("../explanation/starter.md", "counts", counts())
    write("../explanation/starter.md", "checks", checks())
    write("../explanation/starter.md", "agreement", agreement())


def counts() -> str:
    lines = ["| part | tag | items |", "|---|---|---|"]
    for part, suite in PARTS.items():
        for tag, values in suite.tag_values().items():
            if tag == "part" or len(values) > 40:
                continue
            found = Counter(i.tags[tag] for i in suite if tag in i.tags)
            shown = ", ".join(f"{value} {found[value]}" for value in values)
            lines.append(f"| {part} | {tag} | {shown} |")
    words = len(STARTER.where(part="mt", set="LA").tag_values()["word"])
    lines.append(f"| mt | word | {words} words, one block each |")
    return "\n".join(lines)


def checks() -> str:
    lines = [
        "| set | items | length, right / wrong | negations, right / wrong | gold positions "
        "| bag of words [95 %] | chance |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, items in sets().items():
        length, negation = shortcuts.length(items), shortcuts.negation(items)
        found = shortcuts.bag_of_words(items, [group(name, i) for i in items])
        chance = sum(1 / len(i.candidates) for i in items) / len(items)
        places = " / ".join(str(n) for n in shortcuts.positions(items).values())
        lines.append(
            f"| {name} | {len(items)} "
            f"| {length.right:.2f} / {length.wrong:.2f} ({length.gap:+.1%}) "
            f"| {negation.right:.3f} / {negation.wrong:.3f} | {places} "
            f"| {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] | {chance:.3f} |"
        )
    return "\n".join(lines)


def agreement() -> str:
    with READINGS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    lines = [
        "| round | items read | answers right | both right | doubt 1 | doubt 2 |",
        "|---|---|---|---|---|---|",
    ]
    last: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        last[row["id"], row["reader"]] = row
    rounds = sorted({int(r["round"]) for r in rows})
    blocks = {f"round {n}": [r for r in rows if int(r["round"]) == n] for n in rounds}
    kept = {item.id for item in STARTER} | {item.block for item in GRAPH}
    blocks["the suite as it is"] = [row for (name, _), row in last.items() if name in kept]
    for name, found in blocks.items():
        items = Counter(r["id"] for r in found)
        right = Counter(r["id"] for r in found if r["right"] == "yes")
        doubts = Counter(r["doubt"] for r in found)
        both = sum(right[i] == 2 for i in items)
        lines.append(
            f"| {name} | {len(items)} | {sum(right.values())} of {len(found)} "
            f"| {both} of {len(items)} | {doubts['1']} | {doubts['2']} |"
        )
    return "\n".join(lines)


def sets() -> dict[str, list[Choice]]:
    """Return the sets within which right and wrong texts are compared."""
    chosen = {
        "mt": STARTER.where(part="mt"),
        "sen-making": STARTER.where(part="sense", set="sen-making"),
        "explanation": STARTER.where(part="sense", set="explanation"),
        "dual": STARTER.where(part="dual"),
        "discourse": STARTER.where(part="discourse"),
        "graph": GRAPH,
    }
    out: dict[str, list[Choice]] = {}
    for name, suite in chosen.items():
        items = [i.as_choice() if isinstance(i, boxpen.Translate) else i for i in suite]
        out[name] = [i for i in items if isinstance(i, Choice)]
    return out


def group(name: str, item: Choice) -> str:
    """Return what is held out together: a block, the words that are exchanged, or a relation."""
    if name == "discourse":
        label = item.tags["class"]
        return PRONOUNS.get(label, label.split("-")[0])
    if name == "graph":
        return item.tags["relation"]
    return item.block or item.id


if __name__ == "__main__":
    main()
