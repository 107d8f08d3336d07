"""Draw duals for readers, add up what they say, and compare the rules with published duals.

    duals_judged.py draw FOLDER... --out FOLDER --key FOLDER
                                                 blind sheets, and elsewhere what each row is
    duals_judged.py answers FOLDER... --key FOLDER --answers A.tsv B.tsv
                                                 -> duals-review.jsonl, duals-drawn.csv
    duals_judged.py table                        -> docs/results/duals.md
    duals_judged.py join FOLDER... --samples 6 --out FOLDER
                                                    the judged duals of builds, a folder for a suite
    duals_judged.py models RUN...                -> docs/results/duals.md
    duals_judged.py published                    -> docs/results/duals.md

A FOLDER is that of a build of duals (``boxpen build run``). Six samples were read, the sixth
blind: readers say which sentence makes sense, in an order drawn for reader and dual; operations
take turns, and within them kinds of edit. The sheets of the first five, which earlier versions of
this script drew, showed the expected sentence first; their verdicts are kept. A dual is accepted
if both readers accept it. What is kept names duals by their ids, without their texts.

``join`` makes folders from which ``boxpen review apply`` writes suites of accepted duals, with
the verdicts of docs/results/data/duals-review.jsonl. ``models`` takes runs on these.

``published`` takes the first pair of every block of the suite cats-dual and asks whether a rule of
the same operation makes the second: word for word; or but for the choice of a word or two.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain, zip_longest
from pathlib import Path

from results import DOCS, write

import boxpen
from boxpen.analysis.robustness import Robustness
from boxpen.build.duals.pair import UnchangedError, pair_of
from boxpen.build.duals.propose import OPERATIONS, edits
from boxpen.build.duals.review import DualTask, decided
from boxpen.build.duals.rows import Row, read_rows, write_rows
from boxpen.build.duals.stages import PROPOSALS, SOURCE
from boxpen.catalog import read_suite, write_suite
from boxpen.english.sentence import plain, read
from boxpen.metrics.intervals import wilson
from boxpen.report.numbers import percent
from boxpen.report.robustness import robust_runs, share_of_pairs
from boxpen.review import (
    Journal,
    Judgement,
    Question,
    Rule,
    agreement_table,
    decide,
    latest,
    ordered,
)
from boxpen.review.judgement import lot
from boxpen.runs.run import Run

PAGE = "duals.md"
DRAWN = DOCS / "data" / "duals-drawn.csv"
REVIEW = DOCS / "data" / "duals-review.jsonl"
COLUMNS = ("id", "suite", "operation", "kind", "expected", "sample", "seen", "made")
SHEET = ("row", "source_1", "source_2", "edited_1", "edited_2")
SAMPLES = {
    6: "sixth, blind; present rules",
    5: "fifth, not blind; earlier rules",
    1: "first, not blind; first rules",
}
"""The samples of all kinds of edit, and what the table calls them."""
BLIND, SEED = 6, 24
EACH = 80
SENSE = "sense: "  # in a comment, before what was chosen although the English is wrong
Kind = tuple[str, str, str]
"""Operation, kind of edit, and whether the truth is expected to be flipped or kept."""
_CHOICE = 2  # words that may be chosen otherwise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("folders", nargs="+", type=Path)
    drawing.add_argument("--out", type=Path, required=True)
    drawing.add_argument("--readers", nargs="+", default=["A", "B"])
    drawing.add_argument("--leave-out", type=Path, help="ids of pairs, one per line")
    drawing.add_argument("--key", type=Path, required=True, help="folder for what each row is")
    answering = commands.add_parser("answers")
    answering.add_argument("folders", nargs="+", type=Path)
    answering.add_argument("--key", type=Path, required=True)
    answering.add_argument("--answers", nargs="+", type=Path, required=True)
    commands.add_parser("table")
    joining = commands.add_parser("join")
    joining.add_argument("folders", nargs="+", type=Path)
    joining.add_argument("--samples", nargs="+", type=int, choices=range(1, 7), required=True)
    joining.add_argument("--out", type=Path, required=True)
    running = commands.add_parser("models")
    running.add_argument("runs", nargs="+", type=Path)
    commands.add_parser("published")
    given = parser.parse_args()
    if given.command == "draw":
        left = given.leave_out.read_text("utf-8").split() if given.leave_out else ()
        draw(given.folders, given.out, given.readers, left, given.key)
    elif given.command == "answers":
        take_answers(given.folders, given.key, given.answers)
    elif given.command == "table":
        write(PAGE, "finding", finding())
        write(PAGE, f"accepted-{BLIND}", accepted(BLIND))
        write(PAGE, f"edits-{BLIND}", blind_edits())
        write(PAGE, f"faults-{BLIND}", faults())
    elif given.command == "join":
        join(given.folders, given.samples, given.out)
    elif given.command == "models":
        write(PAGE, "models-blind", models(given.runs))
    else:
        write(PAGE, "published", published())


def draw(
    folders: Sequence[Path], out: Path, readers: Sequence[str], left_out: Iterable[str], key: Path
) -> None:
    """Write a sheet for every reader."""
    rows = [row for row in drawable(folders) if row["item"] not in set(left_out)]
    drawn = of_strata(rows)
    asked = DualTask(drawn).questions()
    out.mkdir(parents=True, exist_ok=True)
    for reader in readers:
        mine = [question.shuffled(reader, SEED) for question in ordered(asked, "own", reader, SEED)]
        _write_blind(mine, reader, out, key)
    print("drawn", Counter((row["suite"], row["operation"], row["kind"]) for row in drawn))
    print(f"of {len(rows):,}", Counter((row["expected"], row["kind"]) for row in rows))


def drawable(folders: Iterable[Path]) -> list[Row]:
    """Return the duals of builds, each once, with the suite of each."""
    found: dict[str, Row] = {}
    for folder in folders:
        suite = read_suite(folder / SOURCE).name
        for row in read_rows(folder / PROPOSALS):
            found.setdefault(row["id"], {**row, "suite": suite})
    return list(found.values())


def _write_blind(asked: Sequence[Question], reader: str, out: Path, key: Path) -> None:
    """Write a sheet with the sentences alone, and elsewhere which dual each row is."""
    key.mkdir(parents=True, exist_ok=True)
    shown, known = [], []
    for number, question in enumerate(asked, 1):
        old = sorted(question.shown.values(), key=lambda t: lot(SEED, reader, question.item, t))
        shown.append((number, *old, *(option.text for option in question.options)))
        known.append((number, question.item, question.order))
    tables = (
        (out / f"sheet-{reader}.tsv", SHEET, shown),
        (key / f"key-{reader}.tsv", ("row", "item", "order"), known),
    )
    for path, header, lines in tables:
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t", lineterminator="\n").writerows([header, *lines])


def of_strata(rows: Sequence[Row]) -> list[Row]:
    """Return as many rows that flip the truth as that keep it, by lot; a pair comes once.

    Operations take turns, within them kinds of edit, and within these suites. Duals of earlier
    samples are left out.
    """
    out: list[Row] = []
    earlier = {one for one, row in _drawn().items() if int(row["sample"]) < BLIND}
    seen: set[str] = set()
    for expected in ("flipped", "kept"):
        fresh = [r for r in rows if r["expected"] == expected and r["id"] not in earlier]
        taken = 0
        for row in _in_turns(fresh, ("operation", "kind", "suite")):
            if row["item"] not in seen and taken < EACH:
                taken += 1
                seen.add(row["item"])
                out.append(row)
    return out


def _in_turns(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return rows in an order in which parts take turns, and parts of parts; the last by lot."""
    if not keys:
        dice = random.Random(f"{SEED} {rows[0]['kind']} {rows[0]['suite']}")
        return dice.sample(sorted(rows, key=lambda row: row["id"]), len(rows))
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row[keys[0]], []).append(row)
    queues = (_in_turns(part, keys[1:]) for _, part in sorted(parts.items()))
    turns = chain.from_iterable(zip_longest(*queues))
    return [row for row in turns if row is not None]


def take_answers(folders: Sequence[Path], key: Path, paths: Sequence[Path]) -> None:
    """Keep what readers of blind sheets say; ``answers-A.tsv`` is read by ``key-A.tsv``."""
    made = drawable(folders)
    counts = Counter((row["operation"], row["kind"], row["expected"]) for row in made)
    rows = {
        row["id"]: {**row, "sample": BLIND, "seen": "",
                    "made": counts[row["operation"], row["kind"], row["expected"]]}
        for row in made
    }  # fmt: skip
    asked = {question.item: question for question in DualTask(list(rows.values())).questions()}
    given: list[Judgement] = []
    for path in paths:
        reader = path.stem.rpartition("-")[2]
        known = {row["row"]: row for row in _tsv(key / f"key-{reader}.tsv", ("row", "item"))}
        said = _tsv(path, ("row", "verdict", "english", "comment"))
        numbers = Counter(row["row"] for row in said)
        if wrong := [n for n in {**known, **numbers} if numbers[n] != (n in known)]:
            raise SystemExit(f"{path}: row {wrong[0]} is there {numbers[wrong[0]]} time(s)")
        for row in said:
            question = asked[known[row["row"]]["item"]].arranged(known[row["row"]]["order"])
            given.append(_judgement(question, row, reader, path))
    added = Journal(REVIEW).merge(given)
    _keep([rows[item] for item in dict.fromkeys(one.item for one in given)], BLIND)
    print(f"{len(added)} judgements added, {len(given) - len(added)} known")


def _tsv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read a table, whose cells may have white space around them."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        lines = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [{k: (v or "").strip() for k, v in row.items() if k} for row in lines]
    if lacking := [name for name in columns if rows and name not in rows[0]]:
        raise SystemExit(f"{path} has no column '{lacking[0]}'")
    return rows


def _judgement(
    question: Question | None, row: Mapping[str, str], reader: str, path: Path
) -> Judgement:
    """Return an answer as a judgement; wrong English outweighs sense, which the comment keeps."""
    assert question is not None
    verdict = DualTask.verdicts.read_option(row["verdict"].lower(), question.options)
    english = row["english"].lower()
    if verdict in (None, "english", "reject") or english not in ("ok", "bad"):
        raise SystemExit(
            f"{path}: row {row['row']} has the verdict {row['verdict']!r} and the English "
            f"{row['english']!r}, expected 1, 2, both or neither, and ok or bad"
        )
    comment = row["comment"]
    if english == "bad":
        comment, verdict = f"{SENSE}{verdict}; {comment}".removesuffix("; "), "english"
    return Judgement(
        question.item, reader, verdict or "", "", comment, question.digest, None, question.order
    )


def _keep(rows: Sequence[Row], sample: int) -> None:
    """Write which duals a sample has."""
    others = [row for row in _drawn().values() if row["sample"] != str(sample)]
    with DRAWN.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(sorted([*others, *rows], key=lambda row: int(row["sample"])))


def accepted(sample: int) -> str:
    """Return how many duals of a sample are accepted, and how far readers agree."""
    drawn, verdicts = _judged(sample)
    parts = {one: (row["operation"], row["expected"], "all") for one, row in drawn.items()}
    agreement: dict[str, str] = {}
    for level in range(2):
        agreement |= _agreement({one: names[level] for one, names in parts.items()})
    out = ["| operation | judged | accepted | share | label corrected | readers agree | kappa |"]
    out.append("|---" * 7 + "|")
    for part in (*OPERATIONS, "flipped", "kept", "all"):
        of = [v for one, v in verdicts.items() if part in parts[one]]
        if not of:
            continue
        out.append(
            f"| {part} | {len(of)} | {of.count('accept')} | {_share(of.count('accept'), len(of))} "
            f"| {of.count('relabel')} | {agreement[part]} |"
        )
    return "\n".join(out)


def blind_edits() -> str:
    """Return what is accepted by kind of edit and by suite, and of a mix as the rules make it."""
    drawn, verdicts = _judged(BLIND)
    kinds = _by_kind(drawn, verdicts)
    made = {(r["operation"], r["kind"], r["expected"]): int(r["made"]) for r in drawn.values()}
    out = ["| operation | edit | expected | judged | accepted | share | made in all |"]
    out.append("|---" * 7 + "|")
    for key, of in kinds.items():
        good = of.count("accept")
        share = _share(good, len(of))
        out.append(f"| {' | '.join(key)} | {len(of)} | {good} | {share} | {made[key]:,} |")
    for suite in sorted({row["suite"] for row in drawn.values()}):
        mine = [verdict for one, verdict in verdicts.items() if drawn[one]["suite"] == suite]
        good = mine.count("accept")
        out.append(
            f"| all | of {suite} | – | {len(mine)} | {good} | {_share(good, len(mine))} | – |"
        )
    for part in ("flipped", "kept", "all"):
        some = {key: of for key, of in kinds.items() if part in ("all", key[2])}
        count = sum(made[key] for key in some)
        out.append(f"| as made | all | {part} | – | – | {_mixed(some, made)} | {count:,} |")
    return "\n".join(out)


def _mixed(kinds: Mapping[Kind, Sequence[str | None]], mix: Mapping[Kind, int]) -> str:
    """Return which share would be accepted if kinds of edit came as often as in a mix."""
    total = sum(mix[key] for key in kinds)
    mean = variance = 0.0
    for key, of in kinds.items():
        good, n, weight = of.count("accept"), len(of), mix[key] / total
        mean += weight * good / n
        wary = (good + 1) / (n + 2)  # a kind of which all are accepted is not certain either
        variance += weight**2 * wary * (1 - wary) / n
    reach = 1.96 * math.sqrt(variance)
    return f"{mean:.2f} [{max(0.0, mean - reach):.2f}, {min(1.0, mean + reach):.2f}]"


def finding() -> str:
    """Return what is accepted of the samples of all kinds of edit."""
    out = ["| sample | accepted | of duals that flip the truth | of duals that keep it "
           "| readers agree | kappa |", "|---" * 6 + "|"]  # fmt: skip
    for sample, name in SAMPLES.items():
        drawn, verdicts = _judged(sample)
        told = []
        for part in ("all", "flipped", "kept"):
            of = [v for one, v in verdicts.items() if part in ("all", drawn[one]["expected"])]
            good = of.count("accept")
            told.append(f"{good} of {len(of)}: {_share(good, len(of))}")
        out.append(
            f"| {' | '.join((name, *told))} | {_agreement(dict.fromkeys(drawn, 'all'))['all']} |"
        )
    return "\n".join(out)


def faults() -> str:
    """Return what each reader of the blind sample says, and how often either names each fault."""
    drawn, _ = _judged(BLIND)
    said = latest(one for one in Journal(REVIEW).read().judgements if one.item in drawn)
    readers = sorted({reader for of in said.values() for reader in of})
    names = ("accept", "relabel", "both", "neither", "english")
    out = ["| reader | expected label | expected one | the other one | both | neither "
           "| wrong English | sense as expected |", "|---" * 8 + "|"]  # fmt: skip
    for reader in readers:
        for part in ("flipped", "kept", "all"):
            mine = [
                of[reader]
                for item, of in said.items()
                if reader in of and part in ("all", drawn[item]["expected"])
            ]
            counts = Counter(one.verdict for one in mine)
            sense = sum(
                one.verdict == "accept" or one.comment.startswith(f"{SENSE}accept") for one in mine
            )
            cells = (str(counts[name]) for name in names)
            share = _share(sense, len(mine))
            out.append(f"| {reader} | {part} | {' | '.join(cells)} | {share} |")
    return "\n".join(out)


def join(folders: Sequence[Path], samples: Sequence[int], out: Path) -> None:
    """Write the duals of builds that were judged in some samples, a folder for every suite.

    Each folder has the suite as well.
    """
    drawn = {one for one, row in _drawn().items() if int(row["sample"]) in samples}
    rows = [row for row in drawable(folders) if row["id"] in drawn]
    suites = {suite.name: suite for suite in (read_suite(folder / SOURCE) for folder in folders)}
    if lacking := sorted(suites.keys() - {row["suite"] for row in rows}):
        numbers = " ".join(map(str, samples))
        raise SystemExit(f"no dual of suite '{lacking[0]}' was judged in --samples {numbers}")
    for name, suite in suites.items():
        mine = [row for row in rows if row["suite"] == name]
        place = out / name
        place.mkdir(parents=True, exist_ok=True)
        write_suite(suite, place / SOURCE)
        columns = [column for column in mine[0] if column != "suite"]
        write_rows(({one: row[one] for one in columns} for row in mine), place / PROPOSALS)
        print(f"{len(mine)} judged duals of {name}: {place}")


def models(paths: Sequence[Path]) -> str:
    """Return what models make of accepted duals, by operation and by what happens to the truth."""
    out: list[str] = []
    heads = ("originals", "duals", "both right", "consistent", "survives", "if flipped: same")
    runs = [Run.load(path) for path in paths]
    every = zip(robust_runs(runs), robust_runs(runs, "expected"), strict=True)
    for whole, parts in every:
        out += [f"#### {whole.name}, % [95 %]", "", f"| operation | n | {' | '.join(heads)} |"]
        out.append("|---|" + "---:|" * (len(heads) + 1))
        for row in sorted((*whole.rows, *parts.rows[:-1]), key=_place):
            cells = [percent(one) for one in (row.original, row.dual)]
            shares = (row.both, row.consistency, row.survives, row.same)
            cells += [share_of_pairs(one) for one in shares]
            out.append(f"| {row.operation} | {row.pairs} | {' | '.join(cells)} |")
        out.append("")
    out.append("Runs: " + ", ".join(f"`{run.signature}`" for run in runs))
    return "\n".join(out)


def _place(row: Robustness) -> int:
    return [*OPERATIONS, "all", "flipped", "kept"].index(row.operation)


def _by_kind(
    drawn: Mapping[str, Mapping[str, str]], verdicts: Mapping[str, str | None]
) -> dict[Kind, list[str | None]]:
    """Return verdicts by operation, kind of edit and expected label."""
    kinds: dict[Kind, list[str | None]] = {}
    for one, verdict in verdicts.items():
        row = drawn[one]
        kinds.setdefault((row["operation"], row["kind"], row["expected"]), []).append(verdict)
    order = list(OPERATIONS)
    return dict(sorted(kinds.items(), key=lambda each: (order.index(each[0][0]), each[0])))


def _agreement(parts: Mapping[str, str]) -> dict[str, str]:
    """Return how many verdicts are alike, and kappa, of every part."""
    given = map(decided, Journal(REVIEW).read().judgements)
    return {
        row.part: " | ".join("–" if math.isnan(x) else f"{x:.2f}" for x in (row.percent, row.cohen))
        for row in agreement_table(given, parts)
    }


def _judged(sample: int) -> tuple[dict[str, dict[str, str]], dict[str, str | None]]:
    drawn = {one: row for one, row in _drawn().items() if row["sample"] == str(sample)}
    given = [decided(one) for one in Journal(REVIEW).read().judgements if one.item in drawn]
    judges = max((len(of) for of in latest(given).values()), default=1)
    found = decide(given, Rule("unanimous", otherwise="reject"), judges, drawn)
    return drawn, {one: decision.verdict for one, decision in found.items()}


def _drawn() -> dict[str, dict[str, str]]:
    """Return which duals were shown to readers, by their ids."""
    with DRAWN.open(encoding="utf-8", newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


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
    """Whether the candidates of the second pair are in the other order."""
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
