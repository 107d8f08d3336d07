"""Sheets for readers of CATs, their labels, and the tables of CATs in docs/results.

    cats.py steps FOLDER               sheets: how many steps does an item of sm and wsc take?
    cats.py mediators FOLDER           sheets: what has to be worked out in between?
    cats.py conjunctions FOLDER SUITE  a sheet: which sentence of a pair is right?
    cats.py labels FOLDER              write src/boxpen/catalog/data/cats.csv from the answers in
                                       FOLDER/steps and FOLDER/mediators
    cats.py judged FOLDER SUITE        put the answers into docs/results/data/conjunctions.csv
    cats.py tables                     word classes, frames, steps, conjunctions

A sheet has row numbers and both sentences in random order: neither ids nor labels. Which item and
which order a row has is in the key, in FOLDER-key; the answers of readers A and B are in
FOLDER/answers-A-SHEET.tsv. Needs CATs (``BOXPEN_MIRROR``, or a network); tables also needs the
originals of WSC and ARCT in that folder, and ``--models DIR`` with ``bert-mini`` in it.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import sqrt
from pathlib import Path

from results import DOCS, SETS, said, write

import boxpen
from boxpen import Choice
from boxpen.analysis.slices import cut
from boxpen.build.builders import open_build
from boxpen.build.conjunctions.swap import paper_swaps
from boxpen.catalog.frames import read_frame
from boxpen.catalog.releases.cats import readings
from boxpen.english.word_class import CLASSES, differing_class
from boxpen.metrics.agreement import cohen_estimate, weighted_kappa
from boxpen.metrics.choice import accuracy
from boxpen.metrics.intervals import Estimate, share
from boxpen.report.numbers import interval, percent

PAGE = "cats.md"
SHEETS = {"sm": 3, "wsc": 1}
"""Sets whose steps are read, and the number of sheets of each."""
TAGS = ("steps", "mediators")
MEDIATED = 300
"""Items of sm that are read for mediators."""
LABELS = DOCS.parents[1] / "src" / "boxpen" / "catalog" / "data" / "cats.csv"
JUDGED = DOCS / "data" / "conjunctions.csv"
HEAD = ("suite", "id", "swap", "reader_a", "reader_b")
WORDS = DOCS / "data" / "cats-mediators.tsv"
READ = DOCS / "data" / "cats-word-class.csv"
SIDES = {"b": "both", "n": "neither", "?": "?"}
CONJUNCTIONS = {
    "cats.ca": "`ca` of the paper",
    "tatoeba-ca": "ours, from Tatoeba",
    "tvsub-ca": "ours, from subtitles",
}
POWER = 1.96 + 0.84  # standard errors: two-sided at 5 %, found in 80 %
FEWEST = 10  # items for which an accuracy is shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    models = DOCS.parents[2] / "shared" / "models"
    parser.add_argument("--models", type=Path, default=models)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("steps", "mediators", "conjunctions", "labels", "judged"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        if name in ("conjunctions", "judged"):
            command.add_argument("suite")
    commands.add_parser("tables").add_argument("--only", nargs="*")
    given = parser.parse_args()
    if given.command == "steps":
        for name, parts in SHEETS.items():
            write_sheets(name, choices(f"cats.{name}"), parts, given.folder)
    elif given.command == "mediators":
        some = random.Random("mediators").sample(choices("cats.sm"), MEDIATED)
        write_sheets("sm", some, 1, given.folder, seed=1)
        write_sheets("wsc", choices("cats.wsc"), 1, given.folder, seed=1)
    elif given.command == "conjunctions":
        write_sheets("sheet", choices(given.suite), 1, given.folder)
    elif given.command == "labels":
        write_labels(given.folder)
    elif given.command == "judged":
        write_judged(given.suite, given.folder)
    else:
        tables(given.models, given.only)


def choices(suite: str) -> list[Choice]:
    return [item for item in boxpen.load_suite(suite) if isinstance(item, Choice)]


def write_sheets(
    name: str, items: Sequence[Choice], parts: int, folder: Path, seed: int = 0
) -> None:
    """Write the pairs of a suite as blind sheets, and the keys to another folder."""
    rng = random.Random(f"{name}-{seed}")
    mixed = list(items)
    rng.shuffle(mixed)
    for part in range(parts):
        label = f"{name}-{part + 1}" if parts > 1 else name
        some = mixed[part * len(mixed) // parts : (part + 1) * len(mixed) // parts]
        orders = [rng.sample((0, 1), 2) for _ in some]
        shown, key = [], []
        for row, (item, order) in enumerate(zip(some, orders, strict=True), start=1):
            shown.append((row, *(" ".join(item.candidates[n].split()) for n in order)))
            key.append((row, item.id, order.index(item.gold) + 1))
        write_rows(folder / f"{label}.tsv", ("row", "sentence 1", "sentence 2"), shown)
        write_rows(keys_of(folder) / f"{label}.tsv", ("row", "id", "right"), key)


def keys_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-key")


def write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; texts in sheets have no tabs, and their quotes are part of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = "," if path.suffix == ".csv" else "\t"
    lines = [mark.join(map(str, row)) for row in (head, *rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def answers(folder: Path) -> dict[str, list[list[str]]]:
    """Return what readers A and B answered to every item: the side, and what follows it.

    Raises:
        SystemExit: If an answer is missing.
    """
    found: dict[str, list[list[str]]] = {}
    for sheet in sorted(keys_of(folder).glob("*.tsv")):
        by = []
        for reader in "AB":
            lines = (folder / f"answers-{reader}-{sheet.stem}.tsv").read_text("utf-8").splitlines()
            by.append({cells[0]: cells[1:] for line in lines if (cells := line.split("\t"))[0]})
        for line in sheet.read_text("utf-8").splitlines()[1:]:
            row, item, right = line.split("\t")
            if not all(row in one for one in by):
                raise SystemExit(f"{sheet.stem}: row {row} has no answer of both readers")
            found[item] = [[_side(one[row][0], right), *one[row][1:]] for one in by]
    return found


def _side(answer: str, right: str) -> str:
    return SIDES.get(answer, "right" if answer == right else "wrong")


def write_labels(folder: Path) -> None:
    """Write what both readers answered to either question, one line per item."""
    steps, mediators = (answers(folder / name) for name in TAGS)
    rows = []
    for item, both in sorted(steps.items()):
        row = [item, *(by[1] for by in both), *(by[0] for by in both)]
        read = mediators.get(item)
        row += [str(_mediators(by[1])) for by in read] if read else ["", ""]
        row += [by[0] for by in read] if read else ["", ""]
        rows.append(row)
    heads = ("steps", "side", "mediators", "mediators_side")
    write_rows(LABELS, ("id", *(f"{tag}_{letter}" for tag in heads for letter in "ab")), rows)
    words = [
        (item, *(f"{by[0]}\t{by[1]}" for by in both)) for item, both in sorted(mediators.items())
    ]
    write_rows(WORDS, ("id", "side_a", "mediators_a", "side_b", "mediators_b"), words)


def _mediators(cell: str) -> int:
    """Return the number of mediators; two or more are 2."""
    return 0 if cell.strip() == "-" else min(2, len(cell.split(";")))


def write_judged(suite: str, folder: Path) -> None:
    """Write what both readers say about the pairs of a suite, beside those of others; no texts."""
    name = boxpen.load_suite(suite).name
    rows = [row for row in judged() if row["suite"] != name] if JUDGED.exists() else []
    given = answers(folder)
    for item in choices(suite):
        one, two = (item.candidates[n].split() for n in (item.gold, 1 - item.gold))
        swap = next(f"{a}>{b}" for a, b in zip(one, two, strict=True) if a != b).lower()
        values = (name, item.id, swap, *(by[0] for by in given[item.id]))
        rows.append(dict(zip(HEAD, values, strict=True)))
    write_rows(JUDGED, HEAD, [list(row.values()) for row in rows])


def judged() -> list[dict[str, str]]:
    with JUDGED.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def tables(models: Path, only: Sequence[str] | None) -> None:
    parts = {
        "frames": lambda: write(PAGE, "frames", frames()),
        "classes": lambda: write(PAGE, "class-counts", class_counts()),
        "tagger": lambda: write(PAGE, "tagger", tagger()),
        "conjunctions": lambda: write(PAGE, "conjunctions", conjunctions()),
        "clear": lambda: write(PAGE, "clear-conjunctions", clear_conjunctions()),
        "agreement": lambda: write("steps.md", "cats-agreement", agreement()),
        "runs": lambda: model_tables(models),
    }
    for name in only or parts:
        parts[name]()


def model_tables(models: Path) -> None:
    folder = DOCS.parents[1] / "build" / "cats"
    specs = {"smollm2": "smollm2", "bert-mini": f"hf:{models / 'bert-mini'}"}
    # The other sets differ in whole clauses: no word class, and hours of pseudo-log-likelihood.
    suite = boxpen.load_suite("cats").where(level="token")
    runs = {name: boxpen.evaluate(spec, suite) for name, spec in specs.items()}
    write(PAGE, "word-classes", word_classes(runs))
    made = tatoeba(folder)
    ours = {name: boxpen.evaluate(spec, made) for name, spec in specs.items()}
    write(PAGE, "conjunction-models", by_swap(ours, runs))
    places = [str(run.save(folder)) for run in runs.values()]
    for tag in TAGS:
        trend = said("slices", *places, "--by", f"set x {tag}", "--trend", "--markdown")
        write("steps.md", f"cats-{tag}", trend.partition("\n\n")[2])  # without its heading
    write("steps.md", "cats-power", power(runs))


def power(runs: Mapping[str, boxpen.Run]) -> str:
    """Return the difference between two levels that would be found four times in five."""
    lines = ["| system | tag | set | items | 80 % power for, points |", "|---|---|---|---:|---:|"]
    for name, run in runs.items():
        for tag, place in product(TAGS, SHEETS):
            found = cut(run, f"set x {tag}")
            levels = [some for label, some in found.items() if label.startswith(f"{place} x ")]
            rate = accuracy([v for some in levels for v in some]).value
            spread = sqrt(rate * (1 - rate) * sum(1 / len(some) for some in levels))
            counts = " : ".join(f"{len(some):,}" for some in levels)
            lines.append(f"| {name} | {tag} | {place} | {counts} | {100 * POWER * spread:.0f} |")
    return "\n".join(lines)


def tatoeba(folder: Path) -> str:
    """Build the suite of conjunctions from Tatoeba, and return its file."""
    text = Path(os.environ["BOXPEN_MIRROR"]).resolve() / "tatoeba" / "cmn.txt"
    config = folder / "tatoeba.toml"
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"builder = 'conjunctions'\nname = 'tatoeba-ca'\nfolder = 'tatoeba-ca'\ntext = '{text}'\n",
        "utf-8",
    )
    builder, settings = open_build(config)
    list(builder.runner(settings).run())
    return str(folder / "tatoeba-ca" / "tatoeba-ca.jsonl")


def by_swap(ours: Mapping[str, boxpen.Run], cats: Mapping[str, boxpen.Run]) -> str:
    """Return accuracy by exchange on our items, and on the paper's."""
    lines = ["| suite | exchange | items | " + " | ".join(ours) + " |"]
    lines.append("|---|---|---:" + "|---:" * len(ours) + "|")
    first = next(iter(ours.values()))
    parts = {swap: len(some) for swap, some in cut(first, "swap").items()}
    for swap in sorted(parts, key=lambda swap: -parts[swap]):
        shown = [_shown(accuracy(cut(run, "swap")[swap])) for run in ours.values()]
        lines.append(f"| tatoeba-ca | {swap} | {parts[swap]} | {' | '.join(shown)} |")
    sure = {row["id"] for row in judged() if row["reader_a"] == row["reader_b"] == "right"}
    theirs = [cut(run, "set")["ca"] for run in cats.values()]
    for name, verdicts in (
        ("tatoeba-ca | all", [list(run.verdicts) for run in ours.values()]),
        ("cats.ca | all", theirs),
        ("cats.ca | wrong to both readers", [[v for v in some if v.id in sure] for some in theirs]),
        ("cats.ca | the others", [[v for v in some if v.id not in sure] for some in theirs]),
    ):
        shown = [_shown(accuracy(some)) for some in verdicts]
        lines.append(f"| {name} | {len(verdicts[0])} | {' | '.join(shown)} |")
    return "\n".join([*lines, "", *(f"- {name}: `{run.signature}`" for name, run in ours.items())])


def word_classes(runs: Mapping[str, boxpen.Run]) -> str:
    """Return accuracy by set and word class, where there are enough items."""
    one = next(iter(runs.values()))
    counted = {name: len(some) for name, some in cut(one, "set x word class").items()}
    cells = {name: cut(run, "set x word class") for name, run in runs.items()}
    lines = ["| set | differs in | items | " + " | ".join(runs) + " |"]
    lines.append("|---|---|---:" + "|---:" * len(runs) + "|")
    for place in SETS["cats"]:
        for kind in CLASSES:
            label = f"{place} x {kind}"
            if counted.get(label, 0) < FEWEST:
                continue
            shown = [_shown(accuracy(cells[name][label])) for name in runs]
            lines.append(f"| {place} | {kind} | {counted[label]:,} | {' | '.join(shown)} |")
    few = sum(count for count in counted.values() if count < FEWEST)
    same = len(one.verdicts) - sum(counted.values())
    small = f"{few} items are in cells of fewer than {FEWEST}"
    lines += ["", f"{small}, and {same} have candidates with equal words.", ""]
    lines += [*(f"- {name}, {negated(run)}" for name, run in runs.items()), ""]
    return "\n".join([*lines, *(f"- {name}: `{run.signature}`" for name, run in runs.items())])


def negated(run: boxpen.Run) -> str:
    """Return accuracy on negations of sm, by whether the right sentence has more tokens."""
    told = []
    for sign, label in ((1, "more"), (-1, "fewer")):
        some = []
        for verdict in cut(run, "set x word class")["sm x negation"]:
            tokens = [len(one.record.token_ids) for one in run.candidates[verdict.id]]
            if sign * (tokens[verdict.gold] - tokens[1 - verdict.gold]) > 0:
                some.append(verdict)
        told.append(f"{_shown(accuracy(some))} where it has {label} tokens (n = {len(some)})")
    return "negations of `sm`, the right sentence: " + ", ".join(told)


def class_counts() -> str:
    """Return how many items of every set differ in words of every class."""
    counts: dict[str, Counter[str]] = {}
    for item in choices("cats"):
        right = item.candidates[item.gold]
        others = [text for n, text in enumerate(item.candidates) if n != item.gold]
        found = {name for text in others if (name := differing_class(right, text)) is not None}
        kind = "none" if not found else found.pop() if len(found) == 1 else "several"
        counts.setdefault(item.tags["set"], Counter())[kind] += 1
    names = (*CLASSES, "none")
    lines = ["| set | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|"]
    for place, found_in in counts.items():
        lines.append(f"| {place} | " + " | ".join(str(found_in[name]) for name in names) + " |")
    return "\n".join(lines)


def tagger() -> str:
    """Return how often the rules give the class that a reader gave."""
    with READ.open(encoding="utf-8", newline="") as stream:
        read = {row["id"]: row["class"] for row in csv.DictReader(stream)}
    same: dict[str, list[bool]] = {}
    wrong: Counter[tuple[str, str]] = Counter()
    for item in choices("cats"):
        if item.id not in read:
            continue
        found = differing_class(item.candidates[item.gold], item.candidates[1 - item.gold])
        same.setdefault(item.tags["set"], []).append((found or "none") == read[item.id])
        if not same[item.tags["set"]][-1]:
            wrong[read[item.id], str(found)] += 1
    lines = ["| set | items read | same class [95 %] |", "|---|---:|---:|"]
    together = [one for each in same.values() for one in each]
    for name, some in {**same, "all": together}.items():
        lines.append(f"| {name} | {len(some)} | {_shown(share(list(map(float, some))))} |")
    told = "; ".join(f"{read} taken for {found}" for read, found in sorted(wrong))
    return "\n".join([*lines, "", f"The others: {told}."])


def frames() -> str:
    """Return how many frames of the originals equal the published rows."""
    originals = Path(os.environ["BOXPEN_MIRROR"])
    lines = [
        "| original | frame | items | set | published rows | equal |",
        "|---|---|---:|---|---:|---:|",
    ]
    for file, frame, place in (
        ("wsc/WSCollection.xml", "wsc-paper", "wsc"),
        ("arct/test.tsv", "arct", "arct1"),
        ("arct/test.tsv", "arct", "arct2"),
    ):
        suite = read_frame(originals / file, frame)
        made = {(i.candidates, i.gold) for i in suite if isinstance(i, Choice)}
        published = choices(f"cats.{place}")
        equal = sum((item.candidates, item.gold) in made for item in published)
        lines.append(
            f"| {file} | `{frame}` | {len(suite)} | {place} | {len(published)} | {equal} |"
        )
    pairs = [(i.candidates[i.gold], i.candidates[1 - i.gold]) for i in choices("cats.ca")]
    made_of = {right: {one.wrong for one in paper_swaps(right)} for right, _ in pairs}
    equal = sum(wrong in made_of[right] for right, wrong in pairs)
    swapped = sum(map(len, made_of.values()))
    lines.append(
        f'| {len(made_of)} right sentences of ca | `swaps = "paper"` | {swapped} | ca '
        f"| {len(pairs)} | {equal} |"
    )
    return "\n".join(lines)


def agreement() -> str:
    """Return how the two readers of either question agree."""
    lines = [
        "| question | set | items | both find the right one | same number [95 %] | kappa [95 %] "
        "| weighted kappa | reader A | reader B | tagged |",
        "|---|---" + "|---:" * 8 + "|",
    ]
    tags = {item.id: item.tags for item in choices("cats")}
    for tag, side, values in (("steps", "side", "123"), ("mediators", "mediators_side", "012")):
        for place in SHEETS:
            some = {
                key: by
                for key, by in readings().items()
                if key.startswith(f"{place}-") and all(by[tag])
            }
            one, two = zip(*(by[tag] for by in some.values()), strict=True)
            same = share([float(a == b) for a, b in zip(one, two, strict=True)])
            kappa = cohen_estimate(one, two, list(some))
            weighted = weighted_kappa(list(map(int, one)), list(map(int, two)))
            found = sum(by[side] == ("right", "right") for by in some.values())
            counts = [Counter(who) for who in (one, two)]
            counts.append(Counter(tags[key].get(tag) for key in some))
            shown = " | ".join(" : ".join(str(c[n]) for n in values) for c in counts)
            lines.append(
                f"| {tag} | {place} | {len(some):,} | {found:,} | {_shown(same)} | {_shown(kappa)} "
                f"| {weighted:.2f} | {shown} |"
            )
    note = "Counts are of 1 : 2 : 3 and more steps, and of 0 : 1 : 2 and more mediators. "
    both = [(one["steps"], one["mediators"]) for one in tags.values() if {*TAGS} <= one.keys()]
    more = [pair for pair in both if pair[1] != "0"]
    named = [line.split("\t") for line in WORDS.read_text("utf-8").splitlines()[1:]]
    words = [(row[2], row[4]) for row in named if "-" not in (row[2], row[4])]
    equal = sum(a == b for a, b in words)
    note += (
        f"Of {len(words)} items for which both readers name a mediator, {equal} "
        f"have the same words. Of {len(both)} items with both tags {len(more)} have a mediator; "
        f"{sum(pair[0] != '1' for pair in more)} of these have two steps, as have "
        f"{sum(pair[0] != '1' and pair[1] == '0' for pair in both)} without one."
    )
    return "\n".join([*lines, "", note])


def clear_conjunctions() -> str:
    """Return in how many pairs both readers find the wrong sentence wrong."""
    lines = ["| pairs | items | both readers find the wrong sentence wrong, % [95 %] |"]
    lines.append("|---|---:|---:|")
    for suite, name in CONJUNCTIONS.items():
        some = [row for row in judged() if row["suite"] == suite]
        both = [float(row["reader_a"] == row["reader_b"] == "right") for row in some]
        lines.append(f"| {name} | {len(some)} | {percent(share(both))} |")
    return "\n".join(lines)


def conjunctions() -> str:
    """Return how many exchanged conjunctions both readers find wrong."""
    lines = [
        "| suite | exchange | items | reader A: right | reader B: right | both readers, % [95 %] "
        "| both conjunctions fit (A, B) |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    told = []
    suites: dict[str, list[dict[str, str]]] = {}
    for row in judged():
        suites.setdefault(row["suite"], []).append(row)
    for suite, rows in suites.items():
        counted = Counter(row["swap"] for row in rows)
        for swap in (*(swap for swap, _ in counted.most_common()), "all"):
            some = [row for row in rows if swap in ("all", row["swap"])]
            by = [[row[f"reader_{letter}"] for row in some] for letter in "ab"]
            both = [float(a == b == "right") for a, b in zip(*by, strict=True)]
            right = " | ".join(str(one.count("right")) for one in by)
            fit = ", ".join(str(one.count("both")) for one in by)
            shown = f"{right} | {percent(share(both))} | {fit}"
            lines.append(f"| {suite} | {swap} | {len(some)} | {shown} |")
        first, second = ([row[f"reader_{letter}"] for row in rows] for letter in "ab")
        same = sum(a == b for a, b in zip(first, second, strict=True))
        kappa = cohen_estimate(first, second, [row["id"] for row in rows])
        counts = Counter(first + second).most_common()
        answers = ", ".join(f"{name} {count}" for name, count in counts)
        told.append(
            f"- {suite}: the same answer to {same} of {len(rows)} items (kappa {_shown(kappa)}); "
            f"answers of both: {answers}"
        )
    return "\n".join([*lines, "", *told])


def _shown(estimate: Estimate) -> str:
    return interval(*estimate[:3], 3)


if __name__ == "__main__":
    main()
