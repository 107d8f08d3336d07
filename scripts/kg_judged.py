"""Blind sheets of tests from graphs for two readers, and the tables of what readers said.

    kg_judged.py draw --out FOLDER       two sheets of tests of the suite as it is now, and a key
    kg_judged.py gather --sheets FOLDER  what readers filled in -> docs/results/data/kg-read.csv
    kg_judged.py tables                  -> docs/results/kg.md

A sheet says neither which answer is expected nor what suite it is of; the two differ in their
order. ``gather`` finds out whether a reader's answer is the expected one, and keeps what was said
of other samples. The files that are kept name items by their ids and say nothing of their texts,
which are not ours.

``kg-judged.csv`` is an earlier reading, of triples before and after each step and of
tests of the suite as it was then (kg@3c1391f2). Readers of the samples before *new wordings* saw
the expected answer; their sheets were drawn by earlier versions of this script.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from kg_readings import (
    ASKED,
    AUTHOR,
    BEFORE,
    NOW,
    RELATIONS,
    agreements,
    by_relation,
    by_triple,
    judged,
    readings,
    triples_read_before,
    wrong_tails,
)
from results import write

from boxpen.analysis.behaviour import task_of
from boxpen.analysis.relations import is_wrong
from boxpen.catalog import load_suite
from boxpen.items import Choice, Entail, Item

RESULTS = Path(__file__).parents[1] / "docs" / "results"
JUDGED, READ = RESULTS / "data" / "kg-judged.csv", RESULTS / "data" / "kg-read.csv"
KEY = ("relation", "task", "item", "right")
EACH = 20
BUILD = Path(__file__).parents[1] / "build" / "kg"
SEED = 1963

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fresh = commands.add_parser("draw")
    fresh.add_argument("--out", type=Path, required=True)
    fresh.add_argument("--before", type=Path, nargs="*", default=[], help="builds that were read")
    fresh.add_argument("--skip", type=Path, help="ids of tests read while the rules were made")
    commands.add_parser("gather").add_argument("--sheets", type=Path, required=True)
    commands.add_parser("tables")
    given = parser.parse_args()
    if given.command == "draw":
        draw(given.out, given.before, given.skip)
    elif given.command == "gather":
        gather(given.sheets)
    else:
        tables()


def draw(out: Path, before: Sequence[Path], skip: Path | None = None) -> None:
    """Write two blind sheets of tests that nobody has read, by id or in the same words.

    A row has the same number in both sheets, which differ in their order. Ids count the wrong tails
    of a triple, so a test that was read may have another id since the rules took some.
    """
    (out / "keys").mkdir(parents=True, exist_ok=True)
    (out / "INSTRUCTIONS.md").write_text(BLIND, "utf-8")
    read = {row["item"] for row in _rows(READ) if row["sample"] not in (NOW, AUTHOR)}
    texts = {
        _blind(item)
        for build in before
        for folder in ("files", "automatic")
        for item in load_suite(build / folder / "kg.jsonl").items
        if item.id in read
    }
    read |= {row["item"] for row in _rows(JUDGED)}
    read |= set(skip.read_text("utf-8").split()) if skip else set()
    items = load_suite(BUILD / "files" / "kg.jsonl").items
    fresh = [i for i in items if i.id not in read and _blind(i) not in texts]
    drawn = _tests(fresh)
    random.Random(f"{SEED} key").shuffle(drawn)
    key = [(n, i.tags["relation"], task_of(i), i.id, _right(i)) for n, i in enumerate(drawn, 1)]
    _write_csv(out / "keys" / "blind.csv", ("row", *KEY), key)
    for reader in (1, 2):
        shown = [(n, _blind(i), *[""] * 4) for n, i in enumerate(drawn, 1)]
        random.Random(f"{SEED} {reader}").shuffle(shown)
        _write_csv(out / f"blind-{reader}.csv", ("row", "text", *ASKED, "comment"), shown)
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
    """Join what readers wrote with the key; nothing may be left out, other samples stay."""
    key = {row["row"]: [row[name] for name in KEY] for row in _rows(folder / "keys" / "blind.csv")}
    paths = sorted(folder.glob("blind-?.csv"))
    if len(paths) != 2:
        raise SystemExit(f"{folder} has {len(paths)} sheets, not two")
    found: list[tuple[str, ...]] = []
    for path in paths:
        rows = _rows(path)
        said = {row["row"].strip(): [row.get(what) or "" for what in ASKED] for row in rows}
        if len(said) < len(rows):
            raise SystemExit(f"{path} has {len(rows) - len(said)} rows twice")
        if odd := set(said) ^ set(key):
            raise SystemExit(f"{path} lacks or adds {len(odd)} rows: {min(odd)}")
        for number, cells in said.items():
            relation, task, item, right = key[number]
            verdicts = _compared(cells, right, f"{path}, row {number}")
            for (what, allowed), verdict in zip(ASKED.items(), verdicts, strict=True):
                if what == "tail" and task == "nli":
                    continue  # a right tail, which has no wrong one beside it
                if verdict not in tuple(allowed):
                    raise SystemExit(f"{path}, row {number}: {what} is {verdict!r}")
                found.append((NOW, relation, task, item, what, path.stem[-1], verdict))
    order = ["reviewed", "automatic", "starter", "exchanged once", "exchanged", "last exchange"]
    order += ["with rules", BEFORE, AUTHOR, NOW]
    found += (tuple(row.values()) for row in _rows(READ) if row["sample"] != NOW)
    found.sort(key=lambda row: (order.index(row[0]), RELATIONS.index(row[1]), *row[2:]))
    _write_csv(READ, ("sample", "relation", "task", "item", "question", "reader", "verdict"), found)


def _compared(said: Sequence[str], right: str, where: str) -> list[str]:
    """Return whether the answer to a blind test is the expected one, and how wrong the other is.

    Of two answers a reader judges the one not chosen; a hypothesis is judged itself.
    """
    english, answer, tail = (cell.strip().lower() for cell in said)
    pair = right in ("a", "b")
    if answer not in (tuple("ab-") if pair else tuple("tluf")):
        raise SystemExit(f"{where}: answer is {answer!r}")
    if not pair:
        tail = {"f": "w", "u": "a"}.get(answer, "r") if "f" in right else "-"
    elif answer != right:
        tail = "a" if answer == "-" else "r"
    return [english, "y" if answer in right else "n", tail]


def tables() -> None:
    """Put the shares into docs/results/kg.md."""
    write("kg.md", "judged", "\n".join(judged(_rows(JUDGED))))
    rows = _rows(READ)
    write("kg.md", "read", "\n".join(readings(rows)))
    write("kg.md", "read-agreement", "\n".join(agreements(rows)))
    now, before, made_on = triples_read_before(rows)
    print(f"{now} triples with wrong tails: {before} read before, {made_on} to make the rule")
    if any(row["sample"] == NOW for row in rows):
        write("kg.md", "read-relations", "\n".join(by_relation(rows)))
        write("kg.md", "read-tails", "\n".join(by_triple(rows, wrong_tails())))


def _tests(items: Sequence[Item]) -> list[Item]:
    """Return some tests of every relation, of all tasks, each of another triple if it can be."""
    dice = random.Random(SEED)
    out: list[Item] = []
    for relation in RELATIONS:
        of = [i for i in items if i.tags["relation"] == relation]
        dice.shuffle(of)
        tasks = sorted({task_of(i) for i in of})
        taken: list[Item] = []
        for number in range(EACH):
            task = tasks[number % len(tasks)]
            used = {i.block for i in taken}
            fit = [i for i in of if task_of(i) == task and i not in taken]
            taken += [i for i in fit if i.block not in used][:1] or fit[:1]
        out += taken
    # Of a relation with few tests nearly all may have been read: others make up for them.
    used = {i.block for i in out}
    more = [i for i in items if i.block not in used and task_of(i) != "nli"]
    dice.shuffle(more)
    once = {i.block: i for i in more}
    return out + list(once.values())[: EACH * len(RELATIONS) - len(out)]


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        written = csv.writer(stream, lineterminator="\n")
        written.writerow(head)
        written.writerows(rows)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    main()
