"""Sample triples, wrong tails and tests for readers, gather what they say, and add it up.

    kg_judged.py sheets --out FOLDER --readers A B   the sheets, blind and shuffled
    kg_judged.py gather --sheets FOLDER              -> docs/results/kg-judged.csv
    kg_judged.py tables                              -> docs/results/kg.md

Triples come from the graphs as they are read (12 relations, without the tails 'none'), from what
is left when the build has filtered, ranked and sampled, and from what the reviewers then accepted;
tests and their wrong tails from the suites before and after that review. Readers do not see which
is which. The file that is kept names items by their ids and says nothing of their texts, which are
not ours.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
from collections import defaultdict
from pathlib import Path

import polars as pl
from results import write

from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.catalog import load_suite
from boxpen.items import Choice, Entail, Item
from boxpen.metrics.agreement import cohen_kappa, percent_agreement
from boxpen.metrics.intervals import Estimate, share
from boxpen.review import Question, VerdictSet, read_sheet, write_sheet

RELATIONS = (*CONCEPTNET, *ATOMIC)
KEPT = Path(__file__).parents[1] / "docs" / "results" / "kg-judged.csv"
COLUMNS = ("sample", "relation", "item", "reader", "verdict")
VERDICTS = {
    "triples": VerdictSet({"sensible": ("s", "y"), "not": ("n",)}),
    "tests": VerdictSet({"right": ("r", "y"), "wrong": ("w", "n")}),
    "tails": VerdictSet({"wrong": ("w",), "arguable": ("?", "a"), "right": ("r",)}),
}
# What counts as good in each sample, and what the tables call it.
SAMPLES = {
    "before": ("sensible", "sensible before"),
    "filtered": ("sensible", "after filter and ranking"),
    "reviewed": ("sensible", "after review"),
    "automatic tests": ("right", "grammatical tests before review"),
    "reviewed tests": ("right", "after review"),
    "starter": ("right", "of starter-graph"),
    "tails": ("wrong", "wrong tails surely wrong"),
}
BUILD = Path(__file__).parents[1] / "build" / "kg"
EACH = 20
SEED = 1960


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sheets_parser = commands.add_parser("sheets")
    sheets_parser.add_argument("--out", type=Path, required=True)
    sheets_parser.add_argument("--readers", nargs="+", default=["A", "B"])
    gather_parser = commands.add_parser("gather")
    gather_parser.add_argument("--sheets", type=Path, required=True)
    commands.add_parser("tables")
    given = parser.parse_args()
    if given.command == "sheets":
        sheets(given.out, given.readers)
    elif given.command == "gather":
        gather(given.sheets)
    else:
        tables()


def sheets(out: Path, readers: list[str]) -> None:
    """Write three sheets for every reader: triples, wrong tails and tests."""
    out.mkdir(parents=True, exist_ok=True)
    questions = asked()
    for reader in readers:
        dice = random.Random(f"{SEED} {reader}")
        for name in VERDICTS:
            of = list({q.item: q for q in questions[name].values()}.values())
            write_sheet(out / f"{name}-{reader}.csv", dice.sample(of, len(of)), reader)


def gather(folder: Path) -> None:
    """Join the filled-in sheets with the samples; nothing may be left out."""
    found = []
    for name, questions in asked().items():
        for path in sorted(folder.glob(f"{name}-*.csv")):
            by_item = {q.item: q for q in questions.values()}
            lines = read_sheet(path, by_item, VERDICTS[name])
            said = {line.judgement.item: line.judgement for line in lines if not line.blank}
            if missing := set(by_item) - set(said):
                raise SystemExit(f"{path} has no verdict on {len(missing)}: {min(missing)}")
            found += [
                (
                    sample,
                    question.part,
                    item,
                    said[question.item].judge,
                    said[question.item].verdict,
                )
                for (sample, item), question in questions.items()
            ]
    order = list(SAMPLES)
    found.sort(key=lambda r: (order.index(r[0]), RELATIONS.index(r[1]), r[2], r[3]))
    with KEPT.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(found)


def asked() -> dict[str, dict[tuple[str, str], Question]]:
    """Return what readers are asked, by sheet, then sample and id; a triple of two samples once."""
    triples = {
        (sample, row["id"]): Question(
            item=row["id"],
            shown={name: row[name] for name in ("relation", "head", "tail")},
            part=row["relation"],
        )
        for sample, frame in _triples().items()
        for row in frame.iter_rows(named=True)
    }
    suites = {
        "automatic tests": (_suite("automatic"), EACH),
        "reviewed tests": (_suite("files"), EACH),
        "starter": (load_suite("starter-graph").items, EACH // 2),
    }
    tests = {
        (sample, item.id): Question(
            # the same id is another text in another suite, so what is asked is named by its text
            hashlib.sha256("|".join(_shown(item).values()).encode()).hexdigest()[:12],
            _shown(item),
            item.tags["relation"],
        )
        for sample, (items, each) in suites.items()
        for item in _tests(items, each)
    }
    return {"triples": triples, "tests": tests, "tails": _tails()}


def tables() -> None:
    """Put the shares into docs/results/kg.md."""
    with KEPT.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    write("kg.md", "judged", "\n".join(judged(rows)))
    write("kg.md", "agreement", "\n".join(agreement(rows)))


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


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Return so many rows of every relation, the same ones every time."""
    dice = random.Random(SEED)
    ids: list[str] = []
    for relation in RELATIONS:
        of = sorted(frame.filter(pl.col("relation") == relation)["id"])
        ids += dice.sample(of, EACH)
    return frame.filter(pl.col("id").is_in(ids))


def _triples() -> dict[str, pl.DataFrame]:
    raw = pl.read_parquet(BUILD / "files" / "triples.parquet").filter(
        pl.col("relation").is_in(RELATIONS), pl.col("tail").str.to_lowercase() != "none"
    )
    return {
        "before": _drawn(raw.unique("id", maintain_order=True)),
        "filtered": _drawn(pl.read_parquet(BUILD / "automatic" / "sampled.parquet")),
        "reviewed": _drawn(pl.read_parquet(BUILD / "files" / "accepted.parquet")),
    }


def _tails() -> dict[tuple[str, str], Question]:
    """Return one wrong tail of so many triples of every relation."""
    table = _drawn(
        pl.read_parquet(BUILD / "files" / "negatives.parquet").filter(
            pl.col("wrong").list.len() > 0
        )
    )
    return {
        ("tails", row["id"]): Question(
            item=row["id"],
            shown={
                "relation": row["relation"],
                "head": row["head_text"],
                "right": row["tail_text"],
                "tail": row["wrong_text"][0],
            },
            part=row["relation"],
        )
        for row in table.iter_rows(named=True)
    }


def _suite(folder: str) -> tuple[Item, ...]:
    return load_suite(BUILD / folder / "kg.jsonl").items


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
