"""Sheets of tests and of wrong answers for readers, what they say of them, and its tables.

    kg_judged.py sheets --out FOLDER     three sheets, blind and shuffled, with their keys
    kg_judged.py gather --sheets FOLDER  what readers filled in -> docs/results/kg-read.csv
    kg_judged.py tables                  -> docs/results/kg.md
    kg_judged.py refused                 the same: what today's rules refuse of that
    kg_judged.py draw --out FOLDER       two blind sheets of tests of the suite as it is now

The first sheets are of tests of the suite after review, of tests of the suite without review, and
of all wrong answers of ``starter-graph``, with some right ones among them. Readers do not see which
is which. A sheet has a number and a text in each row, its key what the row is; a reader returns
``NAME.READER.tsv`` with the number and the verdicts (``INSTRUCTIONS.md`` beside the sheets says
how). ``tails-4`` was read twice by one reader, so that A and B are its readings.
The two sheets of ``draw``, which differ in order, have columns to fill in and do not say which
answer is expected: ``gather`` finds out whether a reader's answer is. It reads the sheets whose keys
it finds and keeps what was said of other samples. The files that are kept
name items by their ids and say nothing of their texts, which are not ours.

``docs/results/kg-judged.csv`` is an earlier reading, of triples before and after each step and of
tests of the suite as it was then (kg@3c1391f2). It is kept, and its tables are made here too.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
from results import write

from boxpen.analysis.behaviour import task_of
from boxpen.analysis.relations import is_wrong
from boxpen.build.kg.kinship import ANYONE
from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.build.kg.wrong_tails import ANYWHERE
from boxpen.catalog import load_suite
from boxpen.english.wordnet import WordNet, open_wordnet
from boxpen.items import Choice, Entail, Item
from boxpen.metrics.agreement import cohen_kappa, percent_agreement
from boxpen.metrics.intervals import Estimate, between, share

RELATIONS = (*CONCEPTNET, *ATOMIC)
RESULTS = Path(__file__).parents[1] / "docs" / "results"
JUDGED, READ = RESULTS / "kg-judged.csv", RESULTS / "kg-read.csv"
# What counted as good in each sample of the earlier reading, and what the tables call it.
SAMPLES = {
    "before": ("sensible", "sensible before"),
    "filtered": ("sensible", "after filter and ranking"),
    "reviewed": ("sensible", "after review"),
    "automatic tests": ("right", "grammatical tests before review"),
    "reviewed tests": ("right", "after review"),
    "starter": ("right", "of starter-graph"),
    "tails": ("wrong", "wrong tails surely wrong"),
}
# Of the later one: what is asked of each row, with the verdicts allowed, the good one first.
ASKED = {
    "tests-1": {"english": "yn", "answer": "yn", "tail": "war-"},
    "tests-2": {"english": "yn", "answer": "yn", "tail": "war-"},
    "tails": {"tail": "war"},
    "tails-2": {"tail": "war"},
    "tails-3": {"tail": "war"},
    "tails-4": {"tail": "war"},
    "reader": {"english": "yn", "answer": "yn", "tail": "war-"},
    "blind": {"english": "yn", "answer": "abtluf-", "tail": "war-"},
}
SHEETS = {
    "tests-1": "reviewed",
    "tests-2": "automatic",
    "tails": "starter",
    "tails-2": "exchanged once",
    "tails-3": "exchanged",
    "tails-4": "last exchange",
    "reader": "with rules",
    "blind": "new wordings",
}
TWICE = ("tails-4",)  # read twice by one reader
# Triples of starter-graph that exchanged a wrong tail which a reader had found arguable.
ONCE = [
    "xEffect-04", "xEffect-09", "xEffect-12", "xEffect-15", "xEffect-22", "xEffect-25",
    "xEffect-26", "xEffect-28", "xIntent-11", "xIntent-18", "xIntent-27", "xIntent-30",
]  # fmt: skip
AGAIN = ["xEffect-21", "xIntent-19", "xIntent-24", "xIntent-26"]
TASKS = ("nli", "nli, wrong tails", "qa", "pairs")
TIGHTENED = ("desires", "hasa", "xAttr", "xWant")  # whose wrong tails were weak
EACH = {"tests-1": 20, "tests-2": 10, "blind": 10}
CONTROLS = 10
BUILD = Path(__file__).parents[1] / "build" / "kg"
SEED, BLIND_SEED = 1961, 1963
HEAD = """\
# Reading tests of common sense

Three sheets: `tests-1.tsv`, `tests-2.tsv`, `tails.tsv`. Each row has a number and a text, separated
by a tab. Read every row by itself, without looking into the folder `keys` or at another reader's
verdicts. Write one file per sheet, with your letter (A or B) in its name, in this folder:
`tests-1.A.tsv`, `tests-2.A.tsv`, `tails.A.tsv`. One line per row, columns separated by a tab, no
header, every row of the sheet once:

    tests-1 and tests-2:   ROW <tab> ENGLISH <tab> ANSWER <tab> TAIL
    tails:                 ROW <tab> TAIL

You may add a last column with a short comment (no tabs); it is not kept.

"""
BLIND = """\
# Reading tests of common sense

One sheet, a CSV file with the columns `row`, `text`, `english`, `answer`, `tail`, `comment`. Read
every row by itself, without looking into the folder `keys` or at another reader's answers. Fill in
`english`, `answer` and `tail` in every row; leave numbers and texts as they are. You may write a
short comment in the last column; it is not kept. Be strict: mark what a sceptical reader would
object to.

ENGLISH, `y` or `n`: is every sentence correct, natural enough English? `n` for a wrong article,
number, tense, pronoun or preposition, a sentence that breaks off, or one that nobody would say.
Judge the language only: a silly sentence is good English if its grammar is. (Somebody whose name
fits women and men may be called *they*.)

Rows with `A: ... B: ...`: two answers to a question, two continuations, or two sentences.

- ANSWER: `a` or `b`, whichever is the sensible one; `-` if both are as good, neither is, or the
  text cannot be understood.
- TAIL: is the one that you did *not* choose really wrong? `w`: surely wrong, no reasonable person
  would defend it as typical or likely. `a`: arguable: unusual or not meant, yet it may well hold.
  `r`: it is right, too. After an answer `-` write `a`.

Rows with `P: ... H: ...`: given the premise P, what of H?

- ANSWER: `t`: most adults would say that H is true (exceptions do not matter). `l`: H need not be
  true, but it is likely: what one would expect. `u`: H may hold or not; P gives little reason to
  expect it, and yet it would not be odd. `f`: H is false, or nothing makes it likely: no reasonable
  person would defend it as typical or likely.
- TAIL: always `-`.
"""
QUESTIONS = """\
A test has one of these forms:

- `P: … H: … expected: entailment`: given the premise P, most adults would say that H is true.
- `… expected: entailment or neutral`: given P, H is likely, or at least not ruled out; it would be
  wrong to say that it is false.
- `… expected: not entailed`: H does not follow from P: it is false, or nothing makes it likely.
- `goal: … right: … wrong: …`: of two answers or continuations, "right" is expected.
- `right: … wrong: …`: of two sentences, "right" is expected to be the sensible one.

ENGLISH, `y` or `n`: is every sentence correct, natural enough English? `n` for a wrong article,
number, tense, pronoun or preposition, a sentence that breaks off, or one that nobody would say.
Judge the language only: a silly "wrong" sentence is good English if its grammar is.

ANSWER, `y` or `n`: is the expected answer right, and the only defensible one? `n` if it is wrong,
if another answer is as good, or if the test cannot be understood.

TAIL: is the wrong answer, or H where "not entailed" is expected, really wrong? `w`: surely wrong,
no reasonable person would defend it as typical or likely. `a`: arguable: unusual or not meant, yet
it may well hold. `r`: right. `-`: the test has no wrong answer (`expected: entailment`, with or
without "or neutral").
"""
TAILS = """\

In `tails.tsv` each row is one sentence, or two. Some state something sensible, most do not. TAIL as
above: `w` surely wrong, `a` arguable, `r` right: a sensible thing to say of such things or events.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("sheets").add_argument("--out", type=Path, required=True)
    commands.add_parser("gather").add_argument("--sheets", type=Path, required=True)
    fresh = commands.add_parser("draw")
    fresh.add_argument("--out", type=Path, required=True)
    fresh.add_argument("--before", type=Path, nargs="*", default=[], help="builds that were read")
    commands.add_parser("tables")
    commands.add_parser("refused").add_argument("--build", type=Path, default=BUILD)
    given = parser.parse_args()
    if given.command == "sheets":
        sheets(given.out)
    elif given.command == "gather":
        gather(given.sheets)
    elif given.command == "draw":
        draw(given.out, given.before)
    elif given.command == "refused":
        write("kg.md", "refused", "\n".join(refused(_rows(READ), given.build)))
    else:
        tables()


def sheets(out: Path) -> None:
    """Write the sheets, their keys and what readers are told."""
    (out / "keys").mkdir(parents=True, exist_ok=True)
    (out / "INSTRUCTIONS.md").write_text(HEAD + QUESTIONS + TAILS, "utf-8")
    before = {row["item"] for row in _rows(JUDGED)}
    fresh = {
        name: [i for i in load_suite(BUILD / folder / "kg.jsonl").items if i.id not in before]
        for name, folder in (("tests-1", "files"), ("tests-2", "automatic"))
    }
    drawn = {name: _tests(items, EACH[name]) for name, items in fresh.items()}
    rows = {
        name: [(i.tags["relation"], task_of(i), i.id, _shown(i)) for i in items]
        for name, items in drawn.items()
    }
    rows["tails"] = _answers()
    effects = [f"xEffect-{number:02}" for number in range(1, 31)]
    for name, triples in (("tails-2", ONCE), ("tails-3", ONCE + AGAIN), ("tails-4", effects)):
        blocks = tuple(f"graph-{triple}-" for triple in triples)
        rows[name] = [r for r in rows["tails"] if r[1] != CONTROL and r[2].startswith(blocks)]
    for name, found in rows.items():
        random.Random(f"{SEED} {name}").shuffle(found)
        _write(out / f"{name}.tsv", ((n, row[-1]) for n, row in enumerate(found, 1)))
        _write(out / "keys" / f"{name}.tsv", ((n, *row[:-1]) for n, row in enumerate(found, 1)))
        print(f"{out / name}.tsv: {len(found):,} rows")


def draw(out: Path, before: Sequence[Path]) -> None:
    """Write two blind sheets of tests that nobody has read, by id or in the same words.

    A row has the same number in both sheets, which differ in their order. Ids count the wrong tails
    of a triple, so a test that was read may have another id since the rules took some.
    """
    (out / "keys").mkdir(parents=True, exist_ok=True)
    (out / "INSTRUCTIONS.md").write_text(BLIND, "utf-8")
    read = {row["item"] for row in _rows(READ) if row["sample"] != SHEETS["blind"]}
    texts = {
        _blind(item)
        for build in before
        for folder in ("files", "automatic")
        for item in load_suite(build / folder / "kg.jsonl").items
        if item.id in read
    }
    read |= {row["item"] for row in _rows(JUDGED)}
    items = load_suite(BUILD / "files" / "kg.jsonl").items
    fresh = [i for i in items if i.id not in read and _blind(i) not in texts]
    drawn = _tests(fresh, EACH["blind"], BLIND_SEED)
    random.Random(f"{BLIND_SEED} key").shuffle(drawn)
    key = [(n, i.tags["relation"], task_of(i), i.id, _right(i)) for n, i in enumerate(drawn, 1)]
    _write(out / "keys" / "blind.tsv", key)
    for reader in (1, 2):
        shown = [(n, _blind(i), *[""] * 4) for n, i in enumerate(drawn, 1)]
        random.Random(f"{BLIND_SEED} {reader}").shuffle(shown)
        _write_csv(out / f"blind-{reader}.csv", ("row", "text", *ASKED["blind"], "comment"), shown)
    print(f"{out}: {len(drawn)} of {len(fresh):,} tests, {len(items) - len(fresh):,} were read")


def _blind(item: Item) -> str:
    """Return a test without its answer."""
    if isinstance(item, Entail):
        return f"P: {item.premise} H: {item.hypothesis}"
    assert isinstance(item, Choice)
    goal = f"{item.context} " if item.context else ""
    return f"{goal}A: {item.candidates[0]} B: {item.candidates[1]}"


def _right(item: Item) -> str:
    """Return the answers to a blind test that are right."""
    if isinstance(item, Entail):
        return "uf" if is_wrong(item.tags) else "tl" if item.also else "t"
    assert isinstance(item, Choice)
    return "ab"[item.gold]


def gather(folder: Path) -> None:
    """Join what readers wrote with the keys; nothing may be left out, other samples stay."""
    found: list[tuple[str, ...]] = []
    for name, asked in ASKED.items():
        if not (folder / "keys" / f"{name}.tsv").is_file():
            continue
        key = {row[0]: row[1:] for row in _read(folder / "keys" / f"{name}.tsv")}
        paths = sorted((*folder.glob(f"{name}.?.tsv"), *folder.glob(f"{name}-?.csv")))
        if len(paths) != 2:
            raise SystemExit(f"{folder} has {len(paths)} readers of {name}, not two")
        for place, path in enumerate(paths, 1):
            reader = f"reading {place}" if name in TWICE else path.stem[-1]
            said = _said(path, asked)
            if odd := set(said) ^ set(key):
                raise SystemExit(f"{path} lacks or adds {len(odd)} rows: {min(odd)}")
            for number, verdicts in said.items():
                for (what, allowed), verdict in zip(asked.items(), verdicts, strict=False):
                    given = verdict.strip().lower()
                    if "-" in allowed:  # says that the test has no wrong answer
                        allowed = "-" if key[number][1] == "nli" else allowed.strip("-")
                    if len(verdicts) < len(asked) or given not in tuple(allowed):
                        raise SystemExit(f"{path}, row {number}: {what} is {verdict!r}")
                    if given != "-":
                        found.append((SHEETS[name], *key[number], what, reader, given))
    order, new = list(SHEETS.values()), {row[0] for row in found}
    if READ.is_file():
        found += (tuple(row.values()) for row in _rows(READ) if row["sample"] not in new)
    found.sort(key=lambda row: (order.index(row[0]), RELATIONS.index(row[1]), *row[2:]))
    _write_csv(READ, ("sample", "relation", "task", "item", "question", "reader", "verdict"), found)


def _said(path: Path, asked: Iterable[str]) -> dict[str, list[str]]:
    """Return what a reader says of each row, from a file of verdicts or from a sheet itself."""
    rows = _read(path)
    if path.suffix == ".csv":
        rows = [[row.get(name) or "" for name in ("row", *asked)] for row in _rows(path)]
    said = {row[0].strip(): row[1:] for row in rows}
    if len(said) < len(rows):
        raise SystemExit(f"{path} has {len(rows) - len(said)} rows twice")
    return said


def tables() -> None:
    """Put the shares into docs/results/kg.md."""
    rows = _rows(JUDGED)
    write("kg.md", "judged", "\n".join(judged(rows)))
    write("kg.md", "agreement", "\n".join(agreement(rows)))
    if READ.is_file():
        rows = _rows(READ)
        write("kg.md", "read", "\n".join(read_shares(rows, "relation", RELATIONS)))
        tasks = tuple(dict.fromkeys(sorted(row["task"] for row in rows)))
        write("kg.md", "read-tasks", "\n".join(read_shares(rows, "task", tasks)))
        write("kg.md", "read-agreement", "\n".join(read_agreement(rows)))
        if any(row["sample"] == SHEETS["reader"] for row in rows):
            write("kg.md", "read-again", "\n".join(read_again(rows)))


COLUMNS = {
    ("reviewed", "english"): "reviewed: English right",
    ("reviewed", "answer"): "answer right and unambiguous",
    ("reviewed", "tail"): "wrong tail surely wrong",
    ("automatic", "english"): "automatic: English right",
    ("automatic", "answer"): "answer right and unambiguous",
    ("automatic", "tail"): "wrong tail surely wrong",
    ("starter", "tail"): "starter-graph: surely wrong",
    ("exchanged once", "tail"): "12 triples, once exchanged",
    ("exchanged", "tail"): "16 triples, once more",
    ("last exchange", "tail"): "30 triples of effects, as they are",
}


def read_shares(rows: list[dict[str, str]], by: str, groups: Sequence[str]) -> list[str]:
    """Return the shares that both readers find good; half where one of two does."""
    out = [f"| {by} | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---|" * len(COLUMNS)]
    kept = [row for row in rows if row["task"] != CONTROL]
    for group in (*(g for g in groups if g != CONTROL), None):
        some = [row for row in kept if group in (None, row[by])]
        cells = [_cell(e) if (e := _share(some, *column)).n else "" for column in COLUMNS]
        out.append(f"| {group or '**all**'} | " + " | ".join(cells) + " |")
    return out


def read_again(rows: list[dict[str, str]]) -> list[str]:
    """Return the same shares of the suite with the rules beside those of the suite before."""
    new, asked = SHEETS["reader"], ("english", "answer", "tail")
    heads = [COLUMNS["reviewed", what].removeprefix("reviewed: ") for what in asked]
    titles = [f"{head}: {when}" for head in heads for when in ("before", new, "difference")]
    out = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    both = [row for row in rows if row["sample"] in ("reviewed", new)]
    groups = {
        relation: [row for row in both if row["relation"] == relation] for relation in RELATIONS
    }
    groups["the four with rules"] = [row for row in both if row["relation"] in TIGHTENED]
    groups |= {task: [row for row in both if row["task"] == task] for task in TASKS}
    groups["**all**"] = both
    for group, some in groups.items():
        cells = []
        for what in asked:
            before, after = (_share(some, sample, what) for sample in ("reviewed", new))
            cells += (
                [_cell(before), _cell(after), _points(between(after, before))]
                if after.n
                else [""] * 3
            )
        out.append(f"| {group} | " + " | ".join(cells) + " |")
    return out


def _share(rows: Iterable[dict[str, str]], sample: str, question: str) -> Estimate:
    """Return the share of a sample's items that readers find good."""
    items: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (row["sample"], row["question"]) == (sample, question):
            items[row["item"]].append(float(row["verdict"] in "yw"))
    return share([sum(v) / len(v) for v in items.values()])


def read_agreement(rows: list[dict[str, str]]) -> list[str]:
    """Return how far the readers agree, and how they judge right answers among the wrong ones."""
    out = ["| sample | question | rows | agree | Cohen's kappa |", "|---|---|---|---|---|"]
    again = [(SHEETS["reader"], question) for question in ASKED["reader"]]
    for sample, question in (*COLUMNS, *again, (CONTROL, "tail")):
        said: dict[str, dict[str, str]] = defaultdict(dict)
        for row in rows:
            control = row["task"] == CONTROL
            if row["question"] == question and (
                control if sample == CONTROL else (row["sample"] == sample and not control)
            ):
                said[row["item"]][row["reader"]] = row["verdict"]
        both = [[of[r] for r in sorted(of)] for of in said.values() if len(of) > 1]
        if both:
            kappa = cohen_kappa([b[0] for b in both], [b[1] for b in both])
            cells = f"{len(both)} | {percent_agreement(both):.1%} | {kappa:.2f}"
            out.append(f"| {sample} | {question} | {cells} |")
    return out


def refused(rows: list[dict[str, str]], build: Path) -> list[str]:
    """Return how many wrong tails that were read the rules of moods, wishes and food refuse.

    Needs the suites that were read, as `kg.py rebuild` made them before it had these rules.
    """
    people = open_wordnet()
    sampled = pl.read_parquet(build / "files" / "sampled.parquet")
    heads = dict(sampled.select("id", "head").iter_rows())
    items = {
        (sample, item.id): item
        for sample, folder in (("reviewed", "files"), ("automatic", "automatic"))
        for item in load_suite(build / folder / "kg.jsonl").items
    }
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        asked = row["question"] == "tail" and row["relation"] in TIGHTENED
        if asked and row["sample"] in ("reviewed", "automatic"):
            said[row["sample"], row["item"]].append(row["verdict"])
    if missing := sorted(set(said) - set(items)):
        raise SystemExit(
            f"{build} lacks {len(missing)} items that were read, such as {missing[0][1]}"
        )
    counts: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for name, verdicts in said.items():
        item = items[name]
        gone = _is_refused(item, heads[item.block or ""], people)
        sure = all(verdict == "w" for verdict in verdicts)
        for group in (item.tags["relation"], "**all**"):
            counts[group][sure, gone] += 1
    out = [
        "| relation | arguable or right | refused now | surely wrong | refused now |",
        "|---" * 5 + "|",
    ]
    for group in (*TIGHTENED, "**all**"):
        of = counts[group]
        cells = [f"{of[sure, False] + of[sure, True]} | {of[sure, True]}" for sure in (False, True)]
        out.append(f"| {group} | " + " | ".join(cells) + " |")
    return out


def _is_refused(item: Item, head: str, people: WordNet) -> bool:
    """Tell whether a wrong tail holds of nearly everything, or is food for a person."""
    right = "" if isinstance(item, Entail) else item.candidates[item.gold]
    text = item.hypothesis if isinstance(item, Entail) else item.candidates[1 - item.gold]
    words = set(re.findall(r"\w+", text.lower())) - set(re.findall(r"\w+", right.lower()))
    relation = item.tags["relation"]
    if relation == "desires" and "eat" in words:
        return people.is_person(head) or not ANYONE.isdisjoint(head.split())
    return not words.isdisjoint(ANYWHERE.get(relation, frozenset()))


CONTROL = "right answers"


def _answers() -> list[tuple[str, str, str, str]]:
    """Return every wrong answer of the starter graph in a sentence, and some right ones."""
    dice = random.Random(SEED)
    found: list[tuple[str, str, str, str]] = []
    controls: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for item in load_suite("starter-graph").items:
        if isinstance(item, Choice) and item.tags["task"] == "pairs":
            relation = item.tags["relation"]
            wrong, right = item.candidates[1 - item.gold], item.candidates[item.gold]
            found.append((relation, "wrong answers", item.id, wrong))
            controls[relation].append((relation, CONTROL, f"{item.id}-right", right))
    for relation in RELATIONS:
        found += dice.sample(controls[relation], CONTROLS)
    return found


def _tests(items: Sequence[Item], each: int, seed: int = SEED) -> list[Item]:
    """Return so many tests of every relation, of all tasks, each of another triple if it can be."""
    dice = random.Random(seed)
    out: list[Item] = []
    for relation in RELATIONS:
        of = [i for i in items if i.tags["relation"] == relation]
        dice.shuffle(of)
        tasks = sorted({task_of(i) for i in of})
        taken: list[Item] = []
        for number in range(each):
            task = tasks[number % len(tasks)]
            used = {i.block for i in taken}
            fit = [i for i in of if task_of(i) == task and i not in taken]
            taken.append(next((i for i in fit if i.block not in used), fit[0]))
        out += taken
    return out


def _shown(item: Item) -> str:
    if isinstance(item, Entail):
        label = " or ".join((item.label, *item.also))
        expected = "not entailed" if is_wrong(item.tags) else label
        return f"P: {item.premise} H: {item.hypothesis} expected: {expected}"
    assert isinstance(item, Choice)
    right, wrong = item.candidates[item.gold], item.candidates[1 - item.gold]
    goal = f"goal: {item.context} " if item.context else ""
    return f"{goal}right: {right} wrong: {wrong}"


def _write(path: Path, rows: Iterable[Sequence[object]]) -> None:
    lines = ("\t".join(map(str, row)) + "\n" for row in rows)
    path.write_text("".join(lines), "utf-8")


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        written = csv.writer(stream, lineterminator="\n")
        written.writerow(head)
        written.writerows(rows)


def _read(path: Path) -> list[list[str]]:
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line.strip()]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def judged(rows: list[dict[str, str]]) -> list[str]:
    """Return the table of shares; an item that one of two readers accepts counts half."""
    out = ["| relation |" + "|".join(f" {title} " for _, title in SAMPLES.values()) + "|"]
    out.append("|---|" + "---|" * len(SAMPLES))
    for relation in (*RELATIONS, None):
        cells = []
        for sample, (good, _) in SAMPLES.items():
            items: dict[str, list[float]] = defaultdict(list)
            for row in rows:
                if row["sample"] == sample and relation in (None, row["relation"]):
                    items[row["item"]].append(float(row["verdict"] == good))
            cells.append(_cell(share([sum(v) / len(v) for v in items.values()])))
        out.append(f"| {relation or '**all**'} | " + " | ".join(cells) + " |")
    return out


def agreement(rows: list[dict[str, str]]) -> list[str]:
    """Return how far the readers agree."""
    out = ["| sample | items | agree | Cohen's kappa |", "|---|---|---|---|"]
    for sample in SAMPLES:
        said: dict[str, dict[str, str]] = defaultdict(dict)
        for row in rows:
            if row["sample"] == sample:
                said[row["item"]][row["reader"]] = row["verdict"]
        both = [list(of.values()) for of in said.values()]
        kappa = cohen_kappa([b[0] for b in both], [b[1] for b in both])
        out.append(f"| {sample} | {len(both)} | {percent_agreement(both):.1%} | {kappa:.2f} |")
    return out


def _cell(e: Estimate) -> str:
    return f"{e.value:.0%} [{e.low:.0%}, {e.high:.0%}] of {e.n}"


def _points(e: Estimate) -> str:
    """Return a difference of shares in points of a per cent."""
    return f"{100 * e.value:+.0f} [{100 * e.low:+.0f}, {100 * e.high:+.0f}]"


if __name__ == "__main__":
    main()
