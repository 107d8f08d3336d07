"""Sample triples and tests for readers, gather what they say, and add it up.

    kg_judged.py sheets BUILD --out FOLDER --readers A B   the sheets, blind and shuffled
    kg_judged.py gather BUILD --sheets FOLDER              -> docs/results/kg-judged.csv
    kg_judged.py tables                                    -> docs/results/kg.md

Triples come from the graphs as they are read (12 relations, without the tails 'none') and from
what is left when the build has filtered, ranked and sampled; readers do not see which is which.
The file that is kept names triples and tests by their ids and says nothing of their texts, which
are not ours.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import defaultdict
from pathlib import Path

import polars as pl
from results import write

from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.catalog import load_suite
from boxpen.items import Choice, Entail, Item
from boxpen.judgements import Question, VerdictSet, read_sheet, write_sheet
from boxpen.metrics.agreement import cohen_kappa, percent_agreement
from boxpen.metrics.intervals import Estimate, share

RELATIONS = (*CONCEPTNET, *ATOMIC)
KEPT = Path(__file__).parents[1] / "docs" / "results" / "kg-judged.csv"
COLUMNS = ("sample", "relation", "item", "reader", "verdict")
SENSE = VerdictSet({"sensible": ("s", "y"), "not": ("n",)})
GRAMMAR = VerdictSet({"right": ("r", "y"), "wrong": ("w", "n")})
SAMPLES = {"before": "sensible", "after": "sensible", "tests": "right", "starter": "right"}
EACH = 20
SEED = 1960


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sheets_parser = commands.add_parser("sheets")
    sheets_parser.add_argument("build", type=Path)
    sheets_parser.add_argument("--out", type=Path, required=True)
    sheets_parser.add_argument("--readers", nargs="+", default=["A", "B"])
    gather_parser = commands.add_parser("gather")
    gather_parser.add_argument("build", type=Path)
    gather_parser.add_argument("--sheets", type=Path, required=True)
    commands.add_parser("tables")
    given = parser.parse_args()
    if given.command == "sheets":
        sheets(given.build, given.out, given.readers)
    elif given.command == "gather":
        gather(given.build, given.sheets)
    else:
        tables()


def sheets(build: Path, out: Path, readers: list[str]) -> None:
    """Write two sheets for every reader: triples and tests."""
    out.mkdir(parents=True, exist_ok=True)
    for reader in readers:
        dice = random.Random(f"{SEED} {reader}")
        for name, questions in asked(build).items():
            mixed = dice.sample(questions, len(questions))
            write_sheet(out / f"{name}-{reader}.csv", mixed, reader)


def gather(build: Path, folder: Path) -> None:
    """Join the filled-in sheets with the samples; nothing may be left out."""
    samples = sampled(build)
    found = []
    for name, questions in asked(build).items():
        verdicts = GRAMMAR if name == "tests" else SENSE
        for path in sorted(folder.glob(f"{name}-*.csv")):
            lines = [
                line
                for line in read_sheet(path, {q.item: q for q in questions}, verdicts)
                if not line.blank
            ]
            said = {line.judgement.item: line.judgement for line in lines}
            if missing := {q.item for q in questions} - set(said):
                raise SystemExit(f"{path} has no verdict on {len(missing)}: {min(missing)}")
            found += [
                (sample, relation, item, said[item].judge, said[item].verdict)
                for sample, members in samples.items()
                for item, relation in members.items()
                if item in said
            ]
    order = list(samples)
    found.sort(key=lambda r: (order.index(r[0]), RELATIONS.index(r[1]), r[2], r[3]))
    with KEPT.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(found)


def sampled(build: Path) -> dict[str, dict[str, str]]:
    """Return the relation of every item, by sample."""
    return {
        **{
            name: dict(frame.select("id", "relation").iter_rows())
            for name, frame in _triples(build).items()
        },
        "tests": {item.id: item.tags["relation"] for item in _tests(_built(build), EACH)},
        "starter": {item.id: item.tags["relation"] for item in _tests(_starter(), EACH // 2)},
    }


def asked(build: Path) -> dict[str, list[Question]]:
    """Return what readers are asked; a triple of both samples once."""
    triples = {
        row["id"]: Question(
            item=row["id"],
            shown={name: row[name] for name in ("relation", "head", "tail")},
            part=row["relation"],
        )
        for frame in _triples(build).values()
        for row in frame.iter_rows(named=True)
    }
    items = [*_tests(_built(build), EACH), *_tests(_starter(), EACH // 2)]
    tests = [Question(i.id, _shown(i), i.tags["relation"]) for i in items]
    return {"triples": list(triples.values()), "tests": tests}


def tables() -> None:
    """Put the shares into docs/results/kg.md."""
    with KEPT.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    write("kg.md", "judged", "\n".join(judged(rows)))
    write("kg.md", "agreement", "\n".join(agreement(rows)))


def judged(rows: list[dict[str, str]]) -> list[str]:
    """Return the table of shares; an item that one of two readers accepts counts half."""
    out = [
        "| relation | sensible before | sensible after | grammatical tests | of starter.graph |",
        "|---|---|---|---|---|",
    ]
    for relation in (*RELATIONS, None):
        cells = []
        for sample, good in SAMPLES.items():
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


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Return so many rows of every relation, the same ones every time."""
    dice = random.Random(SEED)
    ids: list[str] = []
    for relation in RELATIONS:
        of = sorted(frame.filter(pl.col("relation") == relation)["id"])
        ids += dice.sample(of, EACH)
    return frame.filter(pl.col("id").is_in(ids))


def _triples(build: Path) -> dict[str, pl.DataFrame]:
    raw = pl.read_parquet(build / "triples.parquet").filter(
        pl.col("relation").is_in(RELATIONS), pl.col("tail").str.to_lowercase() != "none"
    )
    after = pl.read_parquet(build / "sampled.parquet")
    return {"before": _drawn(raw.unique("id", maintain_order=True)), "after": _drawn(after)}


def _built(build: Path) -> tuple[Item, ...]:
    return load_suite(next(build.glob("*.jsonl"))).items


def _starter() -> tuple[Item, ...]:
    return load_suite("starter.graph").items


def _tests(items: tuple[Item, ...], each: int) -> list[Item]:
    """Return so many tests of every relation, of all tasks, each of another triple if it can be."""
    dice = random.Random(SEED)
    out: list[Item] = []
    for relation in RELATIONS:
        of = [i for i in items if i.tags["relation"] == relation]
        dice.shuffle(of)
        tasks = sorted({i.tags["task"] for i in of})
        used: set[str | None] = set()
        for number in range(each):
            task = tasks[number % len(tasks)]
            fit = [i for i in of if i.tags["task"] == task and i not in out]
            item = next((i for i in fit if i.block not in used), fit[0])
            used.add(item.block)
            out.append(item)
    return out


def _shown(item: Item) -> dict[str, str]:
    if isinstance(item, Entail):
        return {"task": "nli", "first": item.premise, "second": item.hypothesis, "third": ""}
    assert isinstance(item, Choice)
    first, second = item.candidates
    return {
        "task": item.tags["task"], "first": item.context or "", "second": first, "third": second
    }  # fmt: skip


def _cell(e: Estimate) -> str:
    return f"{e.value:.0%} [{e.low:.0%}, {e.high:.0%}] of {e.n}"


if __name__ == "__main__":
    main()
