"""Build the tests of docs/results/kg.md and make its tables.

    kg.py build          build/kg/files: the stages, from scripts/kg.toml;
                         build/kg/automatic: the same without the review
    kg.py rebuild        the same in minutes: the sample and its wordings come from the journal of
                         the review, whose digests tell which wording was read, and not from an
                         hour of ranking; negatives and tests are made anew
    kg.py near           docs/results/kg.md: how near wrong tails are to right ones, and how hard
                         for two models, with the preference for near ones and without
    kg.py models         docs/results/kg.md: two language models on one question and one pair of
                         sentences of every triple
    kg.py classifier RUN docs/results/kg.md: what a classifier of inference makes of the tests
    kg.py tables         docs/results/kg.md, from the build

Needs ``BOXPEN_MIRROR``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from results import write

import boxpen
from boxpen.analysis.behaviour import count_tests
from boxpen.analysis.suites.audit import audit
from boxpen.build.kg.config import KgConfig, read_config
from boxpen.build.kg.kinship import Phrase, phrase_of
from boxpen.build.kg.negatives import Limits, sample_negatives
from boxpen.build.kg.review import TripleTask
from boxpen.build.kg.stages import BUILDER, Work
from boxpen.build.kg.triples import CONCEPTNET
from boxpen.build.kg.wording.render import render
from boxpen.build.kg.wording.templates import form_counts, load_templates
from boxpen.build.kg.wording.wordings import wordings
from boxpen.english.normal import normal
from boxpen.english.wordnet import WordNet, open_wordnet
from boxpen.metrics.choice import failure_rate, margin
from boxpen.metrics.intervals import Estimate
from boxpen.report.failures import ALL, FailureTable, failure_tables

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "kg"
PAGE = "kg.md"
JOURNAL = ROOT / "docs" / "results" / "data" / "kg-review.jsonl"
# Tables 1, 2 and 3 of the paper: per cent failed; triples, templates and tests of MNLI and PIQA.
PAPER = {
    "capableof": ((55.9, 67.6, 15.8, 20.6), (7.4, 14.7), (89, 8, 272, 10, 700)),
    "desires": ((93.0, 92.4, 50.3, 54.4), (5.4, 17.9), (44, 8, 171, 100, 223)),
    "createdby": ((73.8, 80.7, 8.0, 19.0), (4.3, 14.0), (81, 16, 336, 10, 600)),
    "usedfor": ((53.3, 62.5, 1.1, 2.8), (1.3, 14.2), (182, 2, 360, 10, 1482)),
    "isa": ((10.0, 15.3, 4.7, 5.9), (4.1, 26.0), (84, 8, 170, 10, 716)),
    "madeof": ((58.4, 76.1, 16.8, 28.3), (9.1, 17.3), (58, 4, 226, 10, 450)),
    "hasa": ((71.4, 81.0, 19.6, 25.6), (5.3, 18.9), (82, 8, 168, 10, 628)),
    "xAttr": ((60.3, 68.3, 5.3, 3.8), (11.6, 33.2), (31, 15, 451, 15, 399)),
    "xNeed": ((100.0, 99.4, 36.2, 26.3), (19.2, 25.2), (58, 15, 847, 15, 802)),
    "xIntent": ((84.9, 86.1, 5.5, 6.0), (15.2, 24.2), (41, 15, 598, 15, 539)),
    "xEffect": ((86.4, 91.4, 17.3, 31.4), (29.0, 26.7), (45, 15, 653, 15, 660)),
    "xWant": ((95.6, 98.0, 21.6, 36.4), (11.3, 22.9), (39, 15, 407, 15, 548)),
}


COMMANDS = ("build", "rebuild", "near", "models", "classifier", "tables")
FEW = 10
"""Relations of fewer triples get a dash."""
SEED = 1964


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("runs", nargs="*", help="with classifier: one run per suite")
    parser.add_argument("--models", type=Path, default=ROOT.parent / "shared" / "models")
    given = parser.parse_args()
    command = given.command
    if command == "near":
        nearness(given.models)
        return
    if command == "models":
        models(given.models)
        return
    if command == "classifier":
        for run in map(boxpen.Run.load, given.runs):
            write(PAGE, f"classifier-{run.info.suite.name}", classified(run))
        return
    if command != "tables":
        reviewed = read_config(config())
        automatic = replace(reviewed, folder=FOLDER / "automatic", review=None)
        for build in (automatic, reviewed):
            done = BUILDER.runner(build).run() if command == "build" else rebuilt(build)
            for stage, report in ((one.stage, one.report) for one in done):
                print(f"{build.folder.name}, {stage}: {report['says']}", flush=True)
        return
    tables()


def tables() -> None:
    """Write the tables that the build and the runs at hand allow; the others stay."""
    suite = boxpen.load_suite(FOLDER / "files" / "kg.jsonl")
    stages = FOLDER / "files" / "stages.json"
    if stages.is_file():
        reports = json.loads(stages.read_text("utf-8"))
        write(PAGE, "filter", filtered({name: done["report"] for name, done in reports.items()}))
    write(PAGE, "tests", tests(suite))
    write(PAGE, "open", open_questions())
    write(PAGE, "audit", audited(suite))
    if (ROOT / "build" / "kg_scale.json").is_file():
        write(PAGE, "scale", scale(json.loads((ROOT / "build" / "kg_scale.json").read_text())))


def models(folder: Path) -> None:
    """Evaluate two language models on one question and one pair of sentences of every triple."""
    suite = boxpen.load_suite(FOLDER / "files" / "kg.jsonl")
    dice = random.Random(SEED)
    found: dict[tuple[str, str], list[boxpen.Item]] = {}
    for item in suite.items:
        if item.tags["task"] != "nli":
            found.setdefault((item.block or "", item.tags["task"]), []).append(item)
    few = boxpen.Suite("kg-sample", tuple(map(dice.choice, found.values())), suite.card)
    runs = [boxpen.evaluate(model, few) for model in ("smollm2", f"hf:{folder / 'bert-mini'}")]
    papers = {"qa": ("RoBERTa", "BERT"), "pairs": ()}
    for table in failure_tables(runs):
        write(PAGE, table.task, beside(table, papers[table.task]))
    write(PAGE, "signatures", "\n".join(f"- `{run.signature}`" for run in runs))


def classified(run: boxpen.Run) -> str:
    """Return one row per relation: the paper's failures, ours of both tails, both accuracies."""
    (right,) = failure_tables([run])
    tables = (right, *right.more)
    names = ("right tails failed", "wrong tails failed", "balanced accuracy", "paired accuracy")
    heads = [f"{name}, {setting}" for setting, _ in right.columns for name in names]
    papers = [f"{name} {way} (paper)" for way in ("3-way", "2-way") for name in ("RoBERTa", "BART")]
    heads = ["triples", *papers, *heads]
    out = [f"| relation | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for graph, relations in right.rows.items():
        for relation in relations:
            name = f"**{graph}, all**" if relation == ALL else relation
            cells = [
                shown(cell.rate)
                if (cell := of.cells.get((graph, relation, n))) and cell.triples >= FEW
                else "–"
                for n in range(len(right.columns))
                for of in tables
            ]
            triples = right.cells[graph, relation, 0].triples
            theirs = PAPER[relation][0] if relation in PAPER else [""] * len(papers)
            out.append(f"| {name} | " + " | ".join(map(str, (triples, *theirs, *cells))) + " |")
    return "\n".join((*out, "", f"`{run.signature}`"))


class Done(NamedTuple):
    """A stage and its report, as the runner of a build has them."""

    stage: str
    report: dict[str, Any]


def rebuilt(build: KgConfig) -> Iterator[Done]:
    """Run the stages of a build, with the journal of the review in the place of the ranking."""
    work = Work(build, lambda *_: None)
    build.folder.mkdir(parents=True, exist_ok=True)
    for stage in ("read", "filter"):
        yield Done(stage, getattr(work, stage)())
    table = sampled_by_journal(pl.read_parquet(build.folder / "filtered.parquet"))
    for name in ("ranked", "sampled"):
        table.write_parquet(build.folder / f"{name}.parquet")
    for stage in [*(["accept"] if build.review else []), "negatives", "render"]:
        yield Done(stage, getattr(work, stage)())


def sampled_by_journal(filtered: pl.DataFrame) -> pl.DataFrame:
    """Return the triples that were reviewed, in the words in which they were read."""
    seen: dict[str, set[str]] = {}
    for line in JOURNAL.read_text("utf-8").splitlines():
        judged = json.loads(line)
        seen.setdefault(judged["item"], set()).add(judged["seen"])
    rows = []
    known = filtered.filter(pl.col("id").is_in(list(seen))).unique("id", maintain_order=True)
    for row in known.iter_rows(named=True):
        for way in wordings(row["relation"], row["head"], row["tail"]):
            words = {"head_text": way.head, "tail_text": way.tail, "form": way.form}
            said = pl.DataFrame([{**row, **words, "sentence": way.sentence}])
            (question,) = TripleTask(said).questions()
            if question.digest in seen[row["id"]]:
                rows.append(said)
                break
    if len(rows) < len(seen):
        raise SystemExit(f"{len(seen) - len(rows)} reviewed triples are not worded as before")
    table = pl.concat(rows, how="vertical_relaxed")
    return table.with_columns(plausibility=pl.lit(None, pl.Float64))


def nearness(models: Path) -> None:
    """Compare the wrong tails of things with what they are without the preference for near ones."""
    table = pl.read_parquet(FOLDER / "files" / "accepted.parquet")
    table = table.filter(pl.col("relation").is_in(CONCEPTNET))
    graph = pl.read_parquet(FOLDER / "files" / "triples.parquet")
    words = open_wordnet()
    ids = random.Random(1).sample(sorted(table["id"]), 200)
    close: list[dict[str, tuple[float, float]]] = []
    suites = []
    for name, limits in (("any", Limits(nearness=0)), ("near", Limits())):
        found = sample_negatives(table, graph, seed=1, wordnet=words, limits=limits).table
        close.append(closeness(found, words))
        few = found.filter(pl.col("id").is_in(ids))
        forms = {"pairs": 1}
        items = render(few, load_templates(), tasks=["pairs"], seed=1, per_triple=forms)
        suites.append(boxpen.Suite(f"kg-{name}", tuple(items), boxpen.Card(language="en")))
    out = ["| relation | same field: any tail | near tails | closeness: any tail | near tails |"]
    out.append("|---|" + "---|" * 4)
    for relation in (name for name in (*CONCEPTNET, ALL) if name in close[0]):
        (a, b), (c, d) = (one[relation] for one in close)
        out.append(f"| {relation} | {a:.1%} | {c:.1%} | {b:.2f} | {d:.2f} |")
    write(PAGE, "near", "\n".join(out))
    out = ["| model | failed: any tail | near tails | margin: any tail | near tails |"]
    out.append("|---|" + "---|" * 4)
    for model in ("smollm2", f"hf:{models / 'bert-mini'}"):
        runs = [boxpen.evaluate(model, suite) for suite in suites]
        failed = [shown(failure_rate(run.verdicts)) for run in runs]
        margins = [f"{margin(run.verdicts).value:.2f}" for run in runs]
        name = runs[0].info.model.short
        out.append(f"| {name} | " + " | ".join((*failed, *margins)) + " |")
    write(PAGE, "near-models", "\n".join(out))


def closeness(table: pl.DataFrame, words: WordNet) -> dict[str, tuple[float, float]]:
    """Return the share of wrong tails in the field of the right one, and their mean closeness."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in table.iter_rows(named=True):
        right = phrase_of(normal(row["tail_text"]), row["form"])
        for tail in row["wrong_text"]:
            wrong = phrase_of(normal(tail), row["form"])
            fields = [field_of(words, phrase) for phrase in (right, wrong)]
            same = float(fields[0] == fields[1] != "")
            near = words.closeness(right.about, wrong.about, right.part)
            for relation in (row["relation"], ALL):
                found.setdefault(relation, []).append((same, near * (right.part == wrong.part)))
    return {
        relation: (sum(a for a, _ in some) / len(some), sum(b for _, b in some) / len(some))
        for relation, some in found.items()
    }


def open_questions() -> str:
    """Return how many wrong tails there are, and would be if open questions had any."""
    table = pl.read_parquet(FOLDER / "files" / "accepted.parquet")
    graph = pl.read_parquet(FOLDER / "files" / "triples.parquet")
    limits = Limits(open_ended=True)
    with_open = sample_negatives(table, graph, seed=1, wordnet=open_wordnet(), limits=limits).table
    sure = pl.read_parquet(FOLDER / "files" / "negatives.parquet")
    out = ["| relation | triples | with a wrong tail | wrong tails | with a wrong tail, if open |"]
    out[0] += " wrong tails, if open |"
    out.append("|---|" + "---:|" * 5)
    for relation in (*PAPER, ALL):
        cells = []
        for drawn in (sure, with_open):
            of = drawn.filter(pl.lit(relation == ALL) | (pl.col("relation") == relation))
            counts = of["wrong"].list.len()
            cells += [of.height, int((counts > 0).sum()), int(counts.sum())]
        del cells[3]
        out.append(f"| {relation} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(out)


def field_of(words: WordNet, phrase: Phrase) -> str:
    """Return the field of the commonest sense of what a tail is about: 'noun.food'."""
    senses = words.senses(words.lemma(phrase.about, phrase.part), phrase.part, 1)
    return words.field(senses[0]) if senses else ""


def shown(rate: Estimate) -> str:
    """Return a rate in per cent with its interval."""
    return f"{100 * rate.value:.1f} [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"


def config() -> Path:
    """Write the configuration with the mirror's folder in it, and return its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "kg.toml"
    text = (ROOT / "scripts" / "kg.toml").read_text("utf-8")
    text = text.replace("MIRROR", os.environ["BOXPEN_MIRROR"]).replace("ROOT", str(ROOT))
    path.write_text(text, "utf-8")
    return path


def filtered(reports: dict[str, dict[str, Any]]) -> str:
    """Return what each step of filter and ranking took."""
    out = ["| stage | step | dropped | left |", "|---|---|---|---|"]
    for stage in ("filter", "rank"):
        out += [
            f"| {stage} | {step['step']} | {step['dropped']:,} | {step['left']:,} |"
            for step in reports[stage]["steps"]
        ]
    return "\n".join(out)


def tests(suite: boxpen.Suite) -> str:
    """Return Table 3: ours beside the paper's."""
    forms = form_counts(load_templates())
    out = [
        "| relation | triples | NLI forms | NLI tests | of wrong tails | QA forms | QA tests "
        "| pairs | paper: triples | NLI forms | tests | PIQA forms | tests |",
        "|---|" + "---|" * 12,
    ]
    for count in count_tests(suite):
        name = count.relation
        made = {task: number for task, (_, number) in count.tasks.items()}
        cells = [
            count.triples, forms["nli", name], made["nli"], made.get("nli, wrong tails", 0),
            forms["qa", name], made.get("qa", 0), made.get("pairs", 0), *PAPER[name][2],
        ]  # fmt: skip
        out.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(out)


def beside(table: FailureTable, papers: Sequence[str]) -> str:
    """Return failure rates in per cent, ours with intervals, the paper's models in front."""
    paper = [f"{name} (paper)" for name in papers]
    heads = (*paper, *(name for _, name in table.columns))
    out = ["| relation | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for graph, relations in table.rows.items():
        for relation in relations:
            theirs = PAPER[relation][1] if papers and relation in PAPER else [""] * len(paper)
            name = f"**{graph}, all**" if relation == ALL else relation
            rates = [
                shown(cell.rate) if cell and cell.triples >= FEW else "–"
                for cell in table.row(graph, relation)
            ]
            out.append(f"| {name} | " + " | ".join(str(c) for c in (*theirs, *rates)) + " |")
    guess = [f"{100 * rate:.0f}" for rate in table.guessing]
    out.append("| guessing | " + " | ".join([""] * len(paper) + guess) + " |")
    return "\n".join(out)


def audited(suite: boxpen.Suite) -> str:
    """Return how well the tests are answered without sense."""
    out = ["| tests | shortcut | accuracy |", "|---|---|---|"]
    # A right tail of an open question has no wrong one beside it: such tests are not guessed at.
    answered = {item.block for item in suite.where(task="pairs").items}
    items = tuple(item for item in suite.items if item.block in answered)
    suite = replace(suite, items=items)
    for task in ("nli", "qa", "pairs"):
        for row in audit(suite.where(task=task)):
            if row.rule is None:  # one side of a shortcut; the better one has a row of its own
                continue
            e = row.estimate
            cells = f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
            out.append(
                f"| {task} | {row.shortcut} | {cells}{' (flagged)' if row.flagged else ''} |"
            )
    return "\n".join(out)


def scale(found: dict[str, Any]) -> str:
    """Return what benchmarks/kg_scale.py measured."""
    out = ["| | seconds | rows/s | CPU seconds | peak MB | triples |", "|---|---|---|---|---|---|"]
    out += [
        f"| {name} | {got['seconds']:.1f} | {got['rows_per_second']:,.0f} "
        f"| {got['cpu_seconds']:.1f} | {got['peak_mb']:,.0f} | {got['kept']:,} |"
        for name, got in found["readers"].items()
    ]
    return "\n".join(out)


if __name__ == "__main__":
    main()
