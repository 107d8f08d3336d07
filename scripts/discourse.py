"""Train the models of docs/results/discourse.md, evaluate them, make the tables.

    discourse.py prepare               build/discourse/data: divided, cleaned, cut into subwords
    discourse.py train NAME [NAME …]   build/discourse/NAME, and its runs; wants a GPU
    discourse.py sample                the items whose translations readers are shown, all models'
    discourse.py tables                docs/results/discourse.md; with --short, said-instead.md

Names are sentence; sentence-2, which is the same with another seed; and sentence-more, concat,
thumt, cadec and bert-fused, which begin from the first. Needs ``BOXPEN_MIRROR`` to prepare;
``BOXPEN_BERT`` is the folder of the BERT of bert-fused. What is prepared, build/discourse/data, may
be brought from another machine: then nothing else of the corpus is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import lzma
import os
import random
import re
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from results import DOCS, said, write

import boxpen
from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.context_gain import (
    CONTEXTS,
    CONTRASTS,
    ContextGains,
    context_gains,
)
from boxpen.analysis.slices import cut
from boxpen.metrics.choice import accuracy
from boxpen.metrics.compare import compare_verdicts, holm
from boxpen.metrics.intervals import Estimate
from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.data.prepared import Prepared, open_prepared, prepare
from boxpen.nmt.training import Training, TrainState
from boxpen.report.discourse.context_gain import context_notes
from boxpen.report.numbers import p_value

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "discourse"
DATA = FOLDER / "data"
SHORT = ROOT / "build" / "discourse-short"
PAGE, SHORT_PAGE = "discourse", "said-instead"
SHORT_VERDICTS = DOCS / "data" / "said-instead-verdicts.jsonl"
STATUS = ("review", "status", "--task", "classes")
DIFFER = "\nJudges disagree:"
VERDICTS = DOCS / "data" / "discourse-verdicts.jsonl"
"""What readers said of translations, by the numbers of items and texts."""
UNSEEN = 3044
"""Lines that are older than the rules of the class judge."""
SAMPLE = {"connective": 6, "ellipsis": 80, "pronoun": 12}
"""Items of each class that were drawn for readers."""
MORE = 120
"""Ellipses that were drawn later."""
CONTROL = "sentence-more"
"""Has learnt as long as the models that read context."""
STEPS = {
    "sentence": 3500,
    "sentence-2": 3500,
    "sentence-more": 1500,
    "concat": 1500,
    "thumt": 1500,
    "cadec": 2000,
    "bert-fused": 1200,
}
SENTENCE = ("sentence", "sentence-2", "sentence-more")
"""Those that read no context. The last learns on as the others do, but from the sentence alone."""
FROM_NOTHING = SENTENCE[:2]
SEEDS = {"sentence-2": 2}
LOOKS = 5
HELD_OUT = 300
"""One episode of so many is for validation."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "sample", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--short", action="store_true", help="half the steps; build/discourse-short"
    )
    given = parser.parse_intermixed_args()
    if given.short:
        global FOLDER, STEPS
        FOLDER, STEPS = SHORT, {name: steps // 2 for name, steps in STEPS.items()}
    if given.command == "prepare":
        divide(Path(os.environ["BOXPEN_MIRROR"]) / "tvsub" / "train.doc.tsv.xz")
        prepare(config("sentence"), print)
    elif given.command == "train":
        for name in given.names:
            settings = config(name)
            train(name, prepared(settings), suites(), lambda run, _: _saved(run), settings)
    elif given.command == "sample":
        print("\n".join(sample()))
    elif given.short:
        short_tables()
    else:
        tables()


def divide(subtitles: Path) -> None:
    """Divide subtitles by episode into what is learnt from and what validates it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if (FOLDER / "valid.tsv").is_file():
        return
    aside = [FOLDER / f".{part}.tsv" for part in ("train", "valid")]
    with (
        lzma.open(subtitles, "rt", encoding="utf-8", newline="\n") as lines,
        aside[0].open("w", encoding="utf-8") as learnt,
        aside[1].open("w", encoding="utf-8") as held,
    ):
        for line in lines:
            document = line.split("\t", 1)[0]
            (learnt if zlib.crc32(document.encode()) % HELD_OUT else held).write(line)
    for path in aside:
        path.replace(FOLDER / path.name[1:])


def prepared(settings: NmtConfig) -> Prepared:
    """Return the corpus: as it was brought here, or prepared of what was divided here.

    All models have one vocabulary, that of the first: its lines are drawn by the seed.
    """
    if (FOLDER / "train.tsv").is_file():
        return prepare(config("sentence"), print)
    return open_prepared(settings.data)


def config(name: str) -> NmtConfig:
    """Return the configuration of a training."""
    if name not in STEPS:
        sys.exit(f"no training '{name}'; there are {', '.join(STEPS)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "discourse.toml"
    text = (ROOT / "scripts" / "discourse.toml").read_text("utf-8")
    text = text.replace("FOLDER", str(FOLDER)).replace('data = "data"', f'data = "{DATA}"')
    path.write_text(text, "utf-8")
    found = read_config(path)
    model = found.model
    if name not in FROM_NOTHING:
        bert = Path(os.environ["BOXPEN_BERT"]) if name == "bert-fused" else None
        model = replace(
            model,
            architecture="transformer" if name in SENTENCE else name,  # type: ignore[arg-type]
            base=FOLDER / SENTENCE[0],
            bert=bert,
        )
    steps = STEPS[name]
    return replace(
        found,
        folder=FOLDER / name,
        seed=SEEDS.get(name, found.seed),
        model=model,
        train=replace(
            found.train,
            max_steps=steps,
            warmup=steps // 6,
            validate_every=-(-steps // LOOKS),
            # To compile two decoders takes longer than it saves: half of the steps wait for drafts.
            compile="no" if name == "cadec" else found.train.compile,
        ),
    )


def suites() -> list[boxpen.Suite]:
    """Return what the models are evaluated on: the published suite, with contrasts added."""
    from boxpen.build.discourse.contrast import with_contrasts

    return [with_contrasts(boxpen.load_suite("discourse"))]


def train(
    name: str,
    prepared: Prepared,
    tests: Sequence[boxpen.Suite],
    save: Callable[[boxpen.Run, str], None],
    settings: NmtConfig | None = None,
) -> dict[str, Any]:
    """Train one model, evaluate it on the suites with, without and with shuffled context."""
    settings = settings or config(name)

    def watch(state: TrainState) -> None:
        print(name, json.dumps(state.log), state.validations[-1:], flush=True)

    result = Training(settings, prepared, watch=watch, note=print).run()
    started = time.time()
    for suite in tests:
        for context in ("given", "none", "shuffled"):
            run = boxpen.evaluate(
                f"hf:{settings.folder}", suite, cache=":memory:", context=context,
                translate=context != "shuffled" and (context == "given" or name not in SENTENCE),
            )  # fmt: skip
            save(run, f"{suite.name}-{context}")
    figures = {**result, "name": name, "evaluation_seconds": round(time.time() - started, 1)}
    # Beside the model: a file in its folder would make it another model.
    (FOLDER / f"{name}.figures.json").write_text(json.dumps(figures, indent=1))
    return figures


def tables() -> None:
    """Put all tables into docs/results/discourse.md."""
    places = {name: FOLDER / f"{name}.figures.json" for name in STEPS}
    runs = {context: runs_on(context) for context in CONTEXTS}
    if not all(p.is_file() for p in places.values()) or any(
        len(some) != len(STEPS) for some in runs.values()
    ):
        sys.exit(
            f"nothing is written: expected a training and {len(runs)} runs of each of "
            f"{', '.join(STEPS)} ('discourse.py train' makes them)"
        )
    figures = {name: json.loads(place.read_text("utf-8")) for name, place in places.items()}
    given = runs["given"]
    write(PAGE, "data", data_table(figures["sentence"]["data"]))
    write(PAGE, "trainings", trainings_table(figures))
    readers()
    judged = _bold(said("discourse", "report", *given, "--paper", "--markdown"))
    write(PAGE, "judge", judged)
    write(PAGE, "summary", summary(judged))
    write(PAGE, "compare", said("discourse", "compare", *given, "--markdown"))
    write(PAGE, "alone", alone())
    write(PAGE, "control", against_control())
    loaded = [boxpen.Run.load(Path(path)) for some in runs.values() for path in some]
    write(PAGE, "context", context_table(context_gains(loaded)))


def short_tables() -> None:
    """Put what the shorter trainings show into docs/results/said-instead.md."""
    figures = {
        path.name.partition(".")[0]: json.loads(path.read_text("utf-8"))
        for path in (FOLDER / f"{name}.figures.json" for name in STEPS)
        if path.is_file()
    }
    given = runs_on("given")
    found = said("discourse", "report", *given, "--paper", "--markdown")
    judged, heading, instead = found.partition("### what wrong translations say instead")
    assert heading, found
    counts, _, notes = instead.strip().partition("\n\n")
    write(SHORT_PAGE, "trainings", trainings_table(figures))
    write(SHORT_PAGE, "judge", f"{_bold(judged)}{notes}")
    write(SHORT_PAGE, "summary", summary(judged))
    write(SHORT_PAGE, "instead", "\n".join(_first_system(counts.splitlines())))
    write(SHORT_PAGE, "compare", said("discourse", "compare", *given, "--markdown"))
    write(SHORT_PAGE, "alone", alone())
    loaded = [boxpen.Run.load(Path(path)) for c in CONTEXTS for path in runs_on(c)]
    write(SHORT_PAGE, "context", context_table(context_gains(loaded)))
    read = [path for path in given if "-sentence-more-" in path or "-concat-" in path]
    told = said(*STATUS, *read, "--journal", str(SHORT_VERDICTS))
    write(SHORT_PAGE, "agreement", f"```\n{told.partition(DIFFER)[0].strip()}\n```")


def _first_system(lines: Sequence[str]) -> Iterator[str]:
    """Yield the heading of a table and the rows of the control, without its name."""
    for number, line in enumerate(lines):
        cells = line.split("|")
        if number < 2 or cells[1].strip() == CONTROL:
            yield "|".join(["", *cells[2:]])


def summary(report: str) -> str:
    """Return what is right in each phenomenon, with one row per system."""
    lines = [line.split("|")[1:-1] for line in report.splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in line] for line in lines]
    heads, _, *rows = table[max(n for n, row in enumerate(table) if not row[0]) :]
    parts = [row for row in rows if row[0].partition(",")[0] in PHENOMENA]
    out = [f"| right, % [95 %] | {' | '.join(row[0] for row in parts)} |"]
    out.append("|---|" + "---:|" * len(parts))
    out += [
        f"| {system} | {' | '.join(row[n] for row in parts)} |"
        for n, system in enumerate(heads) if system
    ]  # fmt: skip
    return "\n".join(out)


def _bold(table: str) -> str:
    """Return a report without headings: pages have their own."""
    return re.sub(r"^### (.)(.*)$", lambda m: f"**{m[1].upper()}{m[2]}**", table, flags=re.M)


def runs_on(context: str) -> list[str]:
    """Return the folders of runs, in the order of the models."""
    folder = FOLDER / "runs" / context
    return [str(path) for name in STEPS for path in folder.glob(f"discourse-{name}-sound-*")]


def sample() -> list[str]:
    """Return the items whose translations by all models were read: as many of every class."""
    classes: dict[tuple[str, str], list[str]] = {}
    for item in sorted(boxpen.load_suite("discourse"), key=lambda item: item.id):
        classes.setdefault((item.tags["set"], item.tags.get("class", "")), []).append(item.id)
    dice = random.Random(612)
    drawn = [
        i for (part, _), ids in sorted(classes.items()) for i in dice.sample(ids, SAMPLE[part])
    ]
    left = [i for i in classes["ellipsis", ""] if i not in drawn]
    return drawn + dice.sample(left, MORE)  # in a second draw: there models differ most


def against_control() -> str:
    """Return contrastive accuracy of models with their context less that of one without."""
    runs = {_name(run): run for run in map(boxpen.Run.load, map(Path, runs_on("given")))}
    out = [
        f"| model | | n | right, of contrasts | minus {CONTROL} [95 %] | Holm |",
        "|---|---" + "|---:" * 4 + "|",
    ]
    parts = {name: {"all": run.verdicts} | cut(run, "set") for name, run in runs.items()}
    for part in ("all", *PHENOMENA):
        pairs = [
            compare_verdicts({name: by[part], CONTROL: parts[CONTROL][part]}, part)[0]
            for name, by in parts.items()
            if name != CONTROL
        ]
        for pair, corrected in zip(pairs, holm([pair.p for pair in pairs]), strict=True):
            d = pair.difference
            right = _percent(accuracy(parts[pair.a][part]))
            out.append(
                f"| {pair.a} | {part} | {d.n:,} | {right} "
                f"| {100 * d.value:+.1f} [{100 * d.low:+.1f}, {100 * d.high:+.1f}] "
                f"| {p_value(corrected)} |"
            )
    own = ", ".join(f"{part} {_percent(accuracy(parts[CONTROL][part]))}" for part in parts[CONTROL])
    return "\n".join(
        [*out, "", f"- {CONTROL}: {own}", "- test: exact McNemar; Holm: within a part"]
    )


def alone() -> str:
    """Return each model that reads context against itself without."""
    out: list[str] = []
    notes: list[str] = []
    without = {_name(boxpen.Run.load(Path(path))): path for path in runs_on("none")}
    for given in runs_on("given"):
        name = _name(boxpen.Run.load(Path(given)))
        if name in SENTENCE or name not in without:
            continue
        none = without[name]
        lines = said("discourse", "compare", given, none, "--markdown").strip().splitlines()
        table = [line.replace("Holm", "p") for line in lines if line.startswith("|")]
        out += table if not out else table[2:]  # one heading for all
        notes = [line for line in lines if line.startswith("- ") and "Holm" not in line]
    return "\n".join([*out, "", *notes])


def readers() -> None:
    """Put in what readers found, and how far the class judge agrees with them."""
    given = runs_on("given")
    lines = VERDICTS.read_text("utf-8").splitlines()
    drawn = set(sample())
    kept = [line for line in lines if json.loads(line)["item"].partition("/")[0] in drawn]
    with journal_of(kept) as some:
        by = ("--journal", some, "--by", "readers")
        found = said("discourse", "report", *given, *by, "--same-items", "--paper", "--markdown")
        bleu, _, right = found.partition("### right by readers")  # BLEU stands above
        assert bleu.startswith("### BLEU"), bleu
        right = right.replace("- BLEU is of all items\n", "")
        write(PAGE, "readers", f"**Right by readers{right.replace('% [95 %]', '% [95 %]**', 1)}")
        pairs = said("discourse", "compare", *given, *by, "--markdown").splitlines()
        write(PAGE, "readers compare", "\n".join(_without_bleu(pairs)))
    with journal_of(lines[UNSEEN:]) as late:
        told = said(*STATUS, *given, "--journal", late)
    write(PAGE, "agreement", f"```\n{told.partition(DIFFER)[0].strip()}\n```")


@contextlib.contextmanager
def journal_of(lines: Sequence[str]) -> Iterator[str]:
    """Keep some lines of a journal in a file for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        yield str(path)


def _without_bleu(lines: Sequence[str]) -> Iterator[str]:
    """Yield a comparison without BLEU, which stands elsewhere, of all and of ellipsis."""
    for line in lines:
        cells = line.split("|")
        if not line.startswith("|"):
            if "BLEU:" not in line:
                yield line.replace(", of BLEU approximate randomisation", "")
        elif cells[1].strip() in ("", "---", "all", "ellipsis"):
            yield "|".join([*cells[:9], ""])


def context_table(found: ContextGains) -> str:
    """Return contrastive accuracy and CXMI by model and phenomenon, on one page."""
    out = [
        "| model | | n | given | none | shuffled | given − none | Holm | given − shuffled | Holm "
        "| shuffled − none | Holm | CXMI, given − none | Holm | CXMI, shuffled − none | Holm |",
        "|---|---" + "|---:" * 14 + "|",
    ]
    for system in found.systems:
        for part in ("all", *PHENOMENA):
            if not system.reads:
                right = found.accuracy[system.name, part, "given"]
                out.append(
                    f"| {system.name} | {part} | {right.n:,} | {_percent(right)} |"
                    + " as given |" * 2 + " – |" * 10
                )  # fmt: skip
                continue
            rights = [found.accuracy[system.name, part, context] for context in CONTEXTS]
            none, shuffled, control = (found.gains[system.name, part, c] for c in CONTRASTS)
            cells = [f"{rights[0].n:,}", *map(_percent, rights)]
            for gain in (none, shuffled, control):
                d = gain.accuracy.difference
                cells += [
                    f"{100 * d.value:+.1f} [{100 * d.low:+.1f}, {100 * d.high:+.1f}]",
                    p_value(gain.accuracy.adjusted),
                ]
            for gain in (none, control):
                t = gain.token
                cells += [
                    "{:+.3f} [{:+.3f}, {:+.3f}]".format(*(round(x, 3) + 0.0 for x in t[:3])),
                    p_value(gain.adjusted),
                ]
            out.append(f"| {system.name} | {part} | " + " | ".join(cells) + " |")
    out += ["", *(f"- {note}" for note in context_notes(found))]
    return "\n".join(out)


def _percent(right: Estimate) -> str:
    return f"{100 * right.value:.1f} [{100 * right.low:.1f}, {100 * right.high:.1f}]"


def data_table(counts: dict[str, Any]) -> str:
    """Return how many pairs each rule took."""
    out = ["| rule | pairs |", "|---|---|"]
    out += [f"| {rule} | {count:,} |" for rule, count in counts["clean"]["rules"].items()]
    overlap = counts["clean"]["overlap"].items()
    out += ["", "Overlap: " + "; ".join(f"{where} {count:,}" for where, count in overlap) + "."]
    return "\n".join(out)


def trainings_table(found: dict[str, dict[str, Any]]) -> str:
    """Return what each training took and came to."""
    out = ["| model | steps | epochs | seconds | validation loss |", "|---|---|---|---|---|"]
    out += [
        f"| {name} | {f['steps']:,} | {f['epochs']:.1f} | {f['seconds']:,.0f} | {f['loss']:.3f} |"
        for name, f in found.items()
    ]
    return "\n".join(out)


def _name(run: boxpen.Run) -> str:
    name: str = run.info.model.short
    return name


def _saved(run: boxpen.Run) -> None:
    run.save(FOLDER / "runs" / run.info.policy.context)


if __name__ == "__main__":
    main()
