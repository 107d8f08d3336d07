"""Draw duals for readers, add up what they say, and compare the rules with published duals.

    duals_judged.py draw FOLDER... --out FOLDER --readers A B   sheets from builds, blind, shuffled
    duals_judged.py gather FOLDER... --sheets A.csv B.csv       -> docs/results/duals-review.jsonl
    duals_judged.py table                                       -> docs/results/duals.md
    duals_judged.py published                                   -> docs/results/duals.md

A FOLDER is one of ``boxpen build duals propose SUITE --out FOLDER``. 320 duals are drawn: as many
of every suite and operation as can be, and within these of every kind of edit. A dual is accepted
if both readers accept it. What is kept names duals by their ids and says nothing of their texts.

``published`` takes the first pair of every block of the suite cats-dual and asks whether a rule of
the same operation makes the second: word for word; or but for the choice of a word or two.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from results import DOCS, write

import boxpen
from boxpen.build.duals.pair import UnchangedError, pair_of
from boxpen.build.duals.propose import OPERATIONS, edits
from boxpen.build.duals.review import VERDICTS, questions
from boxpen.build.duals.rows import Row, read_rows
from boxpen.build.duals.sentence import plain, read
from boxpen.build.duals.work import PROPOSALS, SOURCE
from boxpen.catalog import read_suite
from boxpen.judgements import (
    Journal,
    Rule,
    agreement_table,
    import_sheets,
    latest,
    ordered,
    settle,
    write_sheet,
)
from boxpen.metrics.intervals import wilson

PAGE = "duals.md"
DRAWN = DOCS / "duals-drawn.csv"
REVIEW = DOCS / "duals-review.jsonl"
COLUMNS = ("id", "suite", "operation", "kind", "expected")
MOST = 320
SEED = 9
_CHOICE = 2  # words that may be chosen otherwise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("folders", nargs="+", type=Path)
    drawing.add_argument("--out", type=Path, required=True)
    drawing.add_argument("--readers", nargs="+", default=["A", "B"])
    gathering = commands.add_parser("gather")
    gathering.add_argument("folders", nargs="+", type=Path)
    gathering.add_argument("--sheets", nargs="+", type=Path, required=True)
    commands.add_parser("table")
    commands.add_parser("published")
    given = parser.parse_args()
    if given.command == "draw":
        draw(given.folders, given.out, given.readers)
    elif given.command == "gather":
        gather(given.folders, given.sheets)
    elif given.command == "table":
        write(PAGE, "accepted", accepted())
        write(PAGE, "edits", accepted_edits())
    else:
        write(PAGE, "published", published())


def draw(folders: Sequence[Path], out: Path, readers: Sequence[str]) -> None:
    """Write a sheet for every reader."""
    asked = questions(spread(drawable(folders), MOST))
    out.mkdir(parents=True, exist_ok=True)
    for reader in readers:
        mine = ordered(asked, "own", reader, SEED)
        write_sheet(out / f"{reader}.csv", mine, reader, blind=True)
    print(Counter(question.part for question in asked))


def drawable(folders: Iterable[Path]) -> list[Row]:
    """Return the duals of builds, each once, with the suite of each."""
    found: dict[str, Row] = {}
    for folder in folders:
        suite = read_suite(folder / SOURCE).name
        for row in read_rows(folder / PROPOSALS):
            found.setdefault(row["id"], {**row, "suite": suite})
    return list(found.values())


def spread(rows: Sequence[Row], most: int) -> list[Row]:
    """Return so many rows, by lot: suites and operations take turns, and within them edits."""
    parts: dict[tuple[str, ...], dict[tuple[str, ...], list[Row]]] = {}
    for row in sorted(rows, key=lambda row: row["id"]):
        part = parts.setdefault((row["operation"], row["suite"]), {})
        part.setdefault((row["kind"], row["expected"]), []).append(row)
    queues = []
    for name, kinds in sorted(parts.items()):
        dice = random.Random(f"{SEED} {name}")
        for members in kinds.values():
            dice.shuffle(members)
        longest = max(map(len, kinds.values()))
        queues.append([m[turn] for turn in range(longest) for m in kinds.values() if turn < len(m)])
    turns = max(map(len, queues), default=0)
    return [q[turn] for turn in range(turns) for q in queues if turn < len(q)][:most]


def gather(folders: Sequence[Path], sheets: Sequence[Path]) -> None:
    """Keep what readers say, and which duals they were shown, without their texts."""
    rows = spread(drawable(folders), MOST)
    done = import_sheets(sheets, questions(rows), VERDICTS, Journal(REVIEW))
    with DRAWN.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(done.added)} judgements added, {done.known} known")


def accepted() -> str:
    """Return how many duals readers accept of every operation and suite, and how far they agree."""
    drawn, verdicts = _judged()
    given = Journal(REVIEW).read().judgements
    parts = {one: row["operation"] for one, row in drawn.items()}
    agreement = {row.part: row for row in agreement_table(given, parts)}
    out = ["| operation | judged | accepted | share | label corrected | alike | kappa |"]
    out.append("|---" * 7 + "|")
    for part in (*OPERATIONS, "all"):
        of = [v for one, v in verdicts.items() if part in ("all", drawn[one]["operation"])]
        row = agreement.get(part)
        alike = f"{row.percent:.2f} | {row.cohen:.2f}" if row else "– | –"
        out.append(
            f"| {part} | {len(of)} | {of.count('accept')} | {_share(of.count('accept'), len(of))} "
            f"| {of.count('relabel')} | {alike} |"
        )
    return "\n".join(out)


def accepted_edits() -> str:
    """Return the same by kind of edit."""
    drawn, verdicts = _judged()
    kinds: dict[tuple[str, ...], list[str | None]] = {}
    for one, verdict in verdicts.items():
        row = drawn[one]
        kinds.setdefault((row["operation"], row["kind"], row["expected"]), []).append(verdict)
    suites: dict[str, list[str | None]] = {}
    for one, verdict in verdicts.items():
        suites.setdefault(drawn[one]["suite"], []).append(verdict)
    out = ["| operation | edit | expected | judged | accepted | share |", "|---" * 6 + "|"]
    order = list(OPERATIONS)
    rows = sorted(kinds.items(), key=lambda each: (order.index(each[0][0]), each[0]))
    rows += [(("all", f"of {suite}", "–"), of) for suite, of in sorted(suites.items())]
    for (operation, kind, expected), of in rows:
        good = of.count("accept")
        out.append(
            f"| {operation} | {kind} | {expected} | {len(of)} | {good} | {_share(good, len(of))} |"
        )
    return "\n".join(out)


def _judged() -> tuple[dict[str, dict[str, str]], dict[str, str | None]]:
    with DRAWN.open(encoding="utf-8", newline="") as stream:
        drawn = {row["id"]: row for row in csv.DictReader(stream)}
    given = Journal(REVIEW).read().judgements
    judges = max(len(of) for of in latest(given).values())
    decided = settle(given, Rule("unanimous", otherwise="reject"), judges, drawn)
    return drawn, {one: decision.verdict for one, decision in decided.items()}


def published() -> str:
    """Return how many published duals the rules can make, by operation."""
    blocks = boxpen.load_suite("cats-dual").blocks()
    counts: dict[str, Counter[str]] = {name: Counter() for name in OPERATIONS}
    for first, second in blocks.values():
        count = counts[first.tags["set"]]
        count["blocks"] += 1
        assert isinstance(first, boxpen.Choice)
        assert isinstance(second, boxpen.Choice)
        try:
            made = edits(pair_of(first), first.tags["set"])
        except UnchangedError:
            continue
        flips = (first.gold != second.gold) != (_turned(first, second))
        count["changed"] += 1
        exact = [e for e in made if _same(e.texts, second.candidates)]
        near = [e for e in made if _same(e.texts, second.candidates, _CHOICE)]
        count["exact"] += bool(exact)
        count["near"] += bool(near)
        count["label"] += any(e.flipped == flips for e in near)
    out = [
        "| operation | published | the rules make a dual | word for word "
        "| but for a choice of words | with the same label |",
        "|---" * 6 + "|",
    ]
    total: Counter[str] = sum(counts.values(), Counter())
    for name, count in (*counts.items(), ("all", total)):
        out.append(
            f"| {name} | {count['blocks']} | {count['changed']} | {count['exact']} | "
            f"{count['near']} | {count['label']} |"
        )
    return "\n".join(out)


def _turned(first: boxpen.Choice, second: boxpen.Choice) -> bool:
    """Whether the candidates of the second pair stand in the other order."""
    straight = sum(_alike(a, b) for a, b in zip(first.candidates, second.candidates, strict=True))
    crossed = sum(
        _alike(a, b) for a, b in zip(first.candidates, second.candidates[::-1], strict=True)
    )
    return crossed > straight


def _alike(one: str, two: str) -> float:
    return SequenceMatcher(None, _words(one), _words(two), autojunk=False).ratio()


def _same(made: Sequence[str], wanted: Sequence[str], choice: int = 0) -> bool:
    """Whether sentences are the same in either order, but for a few words in one place each."""
    orders = (list(wanted), list(wanted)[::-1])
    return any(
        all(_near(a, b, choice) for a, b in zip(made, order, strict=True)) for order in orders
    )


def _near(one: str, two: str, choice: int) -> bool:
    first, second = _words(one), _words(two)
    if first == second:
        return True
    codes = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    other = [code for code in codes if code[0] != "equal"]
    if len(other) != 1:
        return False
    _, a, b, c, d = other[0]
    return 0 < b - a <= choice and 0 < d - c <= choice


def _words(text: str) -> list[str]:
    """Return the words of a sentence; 'cannot', 'can not' and 'can't' are the same."""
    out: list[str] = []
    for low in plain(read(text)):
        if low == "cannot":
            out += ["can", "not"]
        else:
            out.append({"n't": "not", "ca": "can", "wo": "will"}.get(low, low))
    return out


def _share(good: int, n: int) -> str:
    if not n:
        return "–"
    low, high = wilson(good / n, n)
    return f"{good / n:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
