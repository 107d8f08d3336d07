"""Draw mined candidates by lot, write blind sheets of them, and say what readers found.

    discourse_mined.py draw SUITE FOLDER    two sheets for each of two readers
    discourse_mined.py read SUITE FOLDER    their answers, into discourse-mined.jsonl
    discourse_mined.py table                precision and need of context, into docs/results
    discourse_mined.py repaired             contrasts of since-因为 and or, read after their repair

SUITE is what `boxpen build run scripts/discourse_suite.toml` writes. The first sheet hides the
sentence before: can the class be settled without it? The second one shows it: is the class right?
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_sheets import READERS, Asked, lines, read_answers, write_sheet
from results import DOCS, write

import boxpen
from boxpen.analysis.discourse.readers import class_in_words
from boxpen.analysis.discourse.verbs import same_verb
from boxpen.metrics.intervals import wilson

SEED = 24
EACH = {"pronoun": 8, "connective": 6, "ellipsis": 38}
JOURNAL = DOCS / "data" / "discourse-mined.jsonl"
MENDED = DOCS / "data" / "discourse-contrasts-mended.csv"
EARLIER = ("discourse-review.jsonl", "discourse-contrasts.csv", MENDED.name)
HEAD = (
    "| class | read | good | precision | same verdict | needs its context | good and needs it "
    "| sound contrasts |\n" + "|---" * 8 + "|"
)
OPTIONS = {
    "you": ("你 (one person)", "你们 (several)"),
    "they": ("他们 (men, or mixed)", "她们 (women)", "它们 (things or animals)"),
    "while": ("而 (whereas)", "当…时 (at the time when)"),
    "as": ("因为 (because)", "当…时 (at the time when)"),
    "since": ("自从 (from that time on)", "因为, 既然 (because, seeing that)"),
    "though": ("虽然 (although: of its own clause)", "不过, 但是 (however: against what was said)"),
    "or": ("或者, 还是 (a choice)", "否则, 不然 (otherwise)"),
}
RIGHT = {
    "你": ("you", 0), "你们": ("you", 1), "他们": ("they", 0), "她们": ("they", 1),
    "它们": ("they", 2), "while-而": ("while", 0), "while-当": ("while", 1),
    "as-因为": ("as", 0), "as-当": ("as", 1), "since-自从": ("since", 0),
    "since-因为": ("since", 1), "since-既然": ("since", 1), "though-虽然": ("though", 0),
    "though-不过": ("though", 1), "though-但是": ("though", 1), "or-或者": ("or", 0),
    "or-否则": ("or", 1),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["draw", "read", "table", "repaired"])
    parser.add_argument("suite", nargs="?")
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    if given.command == "table":
        write("discourse", "mined", table())
        return
    if given.command == "repaired":
        print(repaired())
        return
    items = draw(boxpen.load_suite(given.suite))
    if given.command == "draw":
        given.folder.mkdir(parents=True, exist_ok=True)
        for reader in READERS:
            for name, heads, found in sheets(items, reader):
                write_sheet(given.folder / f"{name}-{reader}.tsv", heads, found)
        return
    rows = list(verdicts(items, given.folder))
    JOURNAL.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def draw(suite: boxpen.Suite) -> list[boxpen.Translate]:
    """Return items of every class, by lot, none of them read before."""
    known = "".join((DOCS / "data" / name).read_text("utf-8") for name in EARLIER)
    classes: dict[tuple[str, str], list[boxpen.Translate]] = {}
    for item in sorted(suite, key=lambda item: item.id):
        if isinstance(item, boxpen.Translate) and item.id not in known:
            classes.setdefault((item.tags["set"], item.tags["class"]), []).append(item)
    chosen: list[boxpen.Translate] = []
    for (phenomenon, cls), items in classes.items():
        lots = random.Random(f"{SEED} {cls}")
        chosen += lots.sample(items, min(EACH[phenomenon], len(items)))
    return chosen


def sheets(
    items: Sequence[boxpen.Translate], reader: str
) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Yield both sheets of a reader: their names, columns and lines."""
    heads = ["english", "asked", "option 1", "option 2", "option 3"]
    yield "sheet", heads, lines([_alone(item, items) for item in items], reader, SEED)
    heads = ["before", "english", "before in chinese", "chinese", "claim", "wrong translation"]
    yield "context", heads, lines([_whole(item) for item in items], reader, SEED + 1)


def _alone(item: boxpen.Translate, items: Iterable[boxpen.Translate]) -> Asked:
    if item.tags["set"] != "ellipsis":
        name, place = RIGHT[item.tags["class"]]
        options = OPTIONS[name]
        mixed = (options[place], *options[:place], *options[place + 1 :])
        return Asked(item.id, (item.source, f"which '{name}' is it?"), mixed)
    verb = item.tags["word"]
    lots = random.Random(f"{SEED} {item.id}")
    others = sorted({i.tags["word"] for i in items if i.tags["set"] == "ellipsis"})
    lots.shuffle(others)
    wrong = [other for other in others if not same_verb(verb, other)][:2]
    return Asked(item.id, (item.source, "which verb must Chinese say?"), (verb, *wrong))


def _whole(item: boxpen.Translate) -> Asked:
    phenomenon, cls = item.tags["set"], item.tags["class"]
    claim = (
        f"the verb that English leaves out is {item.tags['word']}"
        if phenomenon == "ellipsis"
        else class_in_words(phenomenon, cls)
    )
    shown = (item.context or "", item.source, item.reference_context or "", item.reference, claim)
    return Asked(item.id, (*shown, " | ".join(item.contrast) or "-"))


def verdicts(items: Sequence[boxpen.Translate], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what each reader says of each item, without its text."""
    for reader in READERS:
        (_, _, alone), (_, _, whole) = sheets(items, reader)
        first = read_answers(folder / f"out-{reader}.tsv", alone)
        second = read_answers(folder / f"out-context-{reader}.tsv", whole)
        settled: dict[str, tuple[str, int]] = {}
        for line in alone:
            verdict, sure, *_ = first[line.name]
            chosen = line.chosen(verdict)
            right = "right" if chosen == line.asked.options[0] else "wrong"
            settled[line.asked.item] = ("open" if chosen is None else right, int(sure))
        classes = {item.id: item.tags["class"] for item in items}
        for line in sorted(whole, key=lambda line: line.asked.item):
            good, contrast, *comment = second[line.name]
            alone_said, sure_said = settled[line.asked.item]
            yield {
                "item": line.asked.item,
                "class": classes[line.asked.item],
                "reader": reader,
                "without": alone_said,
                "sureness": sure_said,
                "with": good,
                "contrast": contrast,
                "comment": "".join(comment[:1]).strip(),
            }


def table() -> str:
    """Return, by class, how many are good, need their context, and have sound contrasts."""
    rows = [json.loads(line) for line in JOURNAL.read_text("utf-8").splitlines()]
    items: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        items.setdefault(row["item"], {})[row["reader"]] = row
    groups: dict[str, list[Mapping[str, dict[str, Any]]]] = {}
    phenomena: dict[str, list[Mapping[str, dict[str, Any]]]] = {}
    for name, said in items.items():
        groups.setdefault(said["A"]["class"], []).append(said)
        phenomena.setdefault(name.split("-")[0], []).append(said)
    order = [cls for cls in (*RIGHT, "ellipsis") if cls in groups]
    out = [HEAD]
    out += [class_line(name, groups[name]) for name in order]
    out += [class_line(f"**{name}**", phenomena[name]) for name in ("pronoun", "connective")]
    out.append(class_line("**all**", list(items.values())))
    return "\n".join(out)


def repaired() -> str:
    """Return how many of the contrasts that were read after the rules changed are sound."""
    classes: dict[str, list[tuple[str, str]]] = {}
    with MENDED.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            classes.setdefault(row["class"], []).append((row["reading 1"], row["reading 2"]))
    out = ["| class | contrasts read | sound | share | alike |", "|---|---|---|---|---|"]
    for cls, said in sorted(classes.items()):
        sound = said.count(("ok", "ok"))
        alike = sum(first == second for first, second in said) / len(said)
        out.append(f"| {cls} | {len(said)} | {sound} | {_share(sound, len(said))} | {alike:.2f} |")
    return "\n".join(out)


def class_line(name: str, found: Sequence[Mapping[str, dict[str, Any]]]) -> str:
    """Return a line of the table: what both readers say of some items."""
    n = len(found)
    good = [said for said in found if _both(said, "with", "good")]
    alike = sum(said["A"]["with"] == said["B"]["with"] for said in found)
    open_ = sum(not any(_settles(said[r]) for r in READERS) for said in found)
    useful = sum(not any(_settles(said[r]) for r in READERS) for said in good)
    with_contrast = [said for said in found if said["A"]["contrast"] != "-"]
    sound = sum(_both(said, "contrast", "ok") for said in with_contrast)
    return (
        f"| {name} | {n} | {len(good)} | {_share(len(good), n)} | {alike / n:.2f} "
        f"| {_share(open_, n)} | {useful} | {sound} of {len(with_contrast)} |"
    )


def _both(said: Mapping[str, dict[str, Any]], key: str, value: str) -> bool:
    return all(said[reader][key] == value for reader in READERS)


def _settles(row: Mapping[str, Any]) -> bool:
    """Whether a reader is sure of the class, and right, without the context."""
    return bool(row["without"] == "right" and row["sureness"] == 2)


def _share(part: int, n: int) -> str:
    low, high = wilson(part / n, n)
    return f"{part / n:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
