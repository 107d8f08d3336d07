"""Read a sample of the mined Chinese-English candidates, blind, in two passes, and count.

    discourse_pairs.py draw SUITE FOLDER [--seed N]    two sheets for each of two passes
    discourse_pairs.py read SUITE FOLDER [--seed N]    answers, into discourse-zh-en.jsonl
    discourse_pairs.py table                           precision, need of context (last seed)
    discourse_pairs.py run SUITE RUN                   accuracy of a run, by class
    discourse_pairs.py yield FOLDER                    candidates, from the folder of the build

SUITE is what `boxpen build run scripts/discourse_zh_en.toml` writes. The first sheet hides the
sentence before and asks which translation is right; the second one shows it, and asks whether the
translation is good and the wrong ones are wrong.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from context_sheets import READERS, Asked, lines, read_answers, write_sheet
from discourse_mined import HEAD, class_line
from results import DOCS, write

import boxpen
from boxpen.metrics.intervals import wilson

EACH = {
    "he": 5, "she": 5, "they": 5, "i": 5, "you": 5, "we": 5,
    "answer-do": 11, "answer-be": 11, "answer-have": 2, "answer-modal": 6,
    "past": 18, "future": 12,
}  # fmt: skip
FIRST = 25  # the turn with all of them; later ones have half
SETS = ("pronoun", "ellipsis", "tense")
PAGE, JOURNAL = "discourse-zh-en", DOCS / "data" / "discourse-zh-en.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["draw", "read", "table", "run", "yield"])
    parser.add_argument("suite", nargs="?")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=FIRST)
    given = parser.parse_args()
    if given.command == "table":
        write(PAGE, "read", table(max(row["turn"] for row in _journal())))
        return
    if given.command == "yield":
        write(PAGE, "yield", found_in(Path(given.suite)))
        return
    if given.command == "run":
        write(PAGE, "run", accuracy(boxpen.load_suite(given.suite), boxpen.Run.load(given.folder)))
        return
    items = draw(boxpen.load_suite(given.suite), given.seed)
    if given.command == "draw":
        given.folder.mkdir(parents=True, exist_ok=True)
        for reader in READERS:
            for name, heads, found in sheets(items, reader, given.seed):
                write_sheet(given.folder / f"{name}-{reader}.tsv", heads, found)
        return
    before = [row for row in _journal() if row["turn"] != given.seed]
    rows = [*before, *verdicts(items, given.folder, given.seed)]
    JOURNAL.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _journal() -> list[dict[str, Any]]:
    if not JOURNAL.exists():
        return []
    return [json.loads(line) for line in JOURNAL.read_text("utf-8").splitlines()]


def draw(suite: boxpen.Suite, seed: int) -> list[boxpen.Translate]:
    """Return items of every class, by lot, none of them read in another turn."""
    known = {row["item"] for row in _journal() if row["turn"] != seed}
    classes: dict[str, list[boxpen.Translate]] = {}
    for item in sorted(suite, key=lambda item: item.id):
        if isinstance(item, boxpen.Translate) and item.id not in known:
            classes.setdefault(item.tags["class"], []).append(item)
    chosen: list[boxpen.Translate] = []
    for cls, count in EACH.items():
        items = classes.get(cls, [])
        count = count if seed == FIRST else (count + 1) // 2
        chosen += random.Random(f"{seed} {cls}").sample(items, min(count, len(items)))
    return chosen


def sheets(
    items: Sequence[boxpen.Translate], reader: str, seed: int
) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Yield both sheets of a pass: their names, columns and lines."""
    alone = [Asked(item.id, (item.source,), (item.reference, *item.contrast)) for item in items]
    yield "sheet", ["chinese", "options"], lines(alone, reader, seed)
    whole = [
        Asked(
            item.id,
            (
                item.context or "",
                item.source,
                item.reference_context or "",
                item.reference,
                " | ".join(item.contrast),
            ),
        )
        for item in items
    ]
    heads = ["before", "chinese", "before in english", "english", "wrong translations"]
    yield "context", heads, lines(whole, reader, seed + 1)


def verdicts(
    items: Sequence[boxpen.Translate], folder: Path, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield what each pass says of each item, without its text."""
    classes = {item.id: item.tags["class"] for item in items}
    for reader in READERS:
        (_, _, alone), (_, _, whole) = sheets(items, reader, seed)
        first = read_answers(folder / f"out-{reader}.tsv", alone)
        second = read_answers(folder / f"out-context-{reader}.tsv", whole)
        settled: dict[str, tuple[str, int]] = {}
        for line in alone:
            verdict, sure = first[line.name]
            chosen = line.chosen(verdict)
            right = "right" if chosen == line.asked.options[0] else "wrong"
            settled[line.asked.item] = ("open" if chosen is None else right, int(sure))
        for line in sorted(whole, key=lambda line: line.asked.item):
            good, contrast = second[line.name]
            without, sureness = settled[line.asked.item]
            yield {
                "turn": seed,
                "item": line.asked.item,
                "class": classes[line.asked.item],
                "reader": reader,
                "without": without,
                "sureness": sureness,
                "with": good,
                "contrast": contrast,
            }


def table(turn: int) -> str:
    """Return, by class, how many are good, need their context, and have sound contrasts."""
    items: dict[str, dict[str, dict[str, Any]]] = {}
    for row in _journal():
        if row["turn"] == turn:
            items.setdefault(row["item"], {})[row["reader"]] = row
    out = [HEAD]
    groups = {cls: [s for s in items.values() if s["A"]["class"] == cls] for cls in EACH}
    for name in SETS:
        groups[f"**{name}**"] = [s for i, s in items.items() if i.startswith(f"{name}-")]
    out += [class_line(name, found) for name, found in groups.items() if found]
    out.append(class_line("**all**", list(items.values())))
    return "\n".join(out)


def found_in(folder: Path) -> str:
    """Return how many candidates a build has found, by class and per million pairs."""
    stages = json.loads((folder / "stages.json").read_text("utf-8"))
    pairs = sum(stages["read"]["report"]["lines"].values())
    suite = {row["class"]: row["candidates"] for row in stages["sample"]["report"]["table"]}
    rows = [(r["class"], r["found"], suite[r["class"]]) for r in stages["mine"]["report"]["table"]]
    rows.append(("**all**", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    out = ["| class | found | per million pairs | in the suite |", "|---" * 4 + "|"]
    out += [f"| {cls} | {n:,} | {1e6 * n / pairs:,.0f} | {kept} |" for cls, n, kept in rows]
    seconds = sum(stage["seconds"] for stage in stages.values())
    return "\n".join([*out, "", f"{pairs:,} pairs of sentences, {seconds:.0f} seconds."])


def accuracy(suite: boxpen.Suite, run: boxpen.Run) -> str:
    """Return the accuracy of a run, by class, with chance and intervals."""
    items = {item.id: item for item in suite if isinstance(item, boxpen.Translate)}
    groups: dict[str, list[boxpen.Verdict]] = {cls: [] for cls in EACH}
    groups |= {f"**{name}**": [] for name in SETS} | {"**all**": []}
    for verdict in run.verdicts:
        tags = items[verdict.id].tags
        for name in (tags["class"], f"**{tags['set']}**", "**all**"):
            groups[name].append(verdict)
    out = ["| class | items | chance | accuracy |", "|---" * 4 + "|"]
    for name, found in groups.items():
        n = len(found)
        chance = sum(1 / (1 + len(items[v.id].contrast)) for v in found) / n
        share = sum(v.credit for v in found) / n
        low, high = wilson(share, n)
        out.append(f"| {name} | {n} | {chance:.2f} | {share:.2f} [{low:.2f}, {high:.2f}] |")
    return "\n".join(out)


if __name__ == "__main__":
    main()
