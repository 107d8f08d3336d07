"""Train the translation models of docs/results/nmt.md, put them to their tests, make the tables.

    nmt.py prepare               build/nmt/data: cleaned, cut into subwords; scripts/nmt.toml
    nmt.py train NAME [NAME …]   build/nmt/NAME, and its runs; wants a GPU
    nmt.py tables --models DIR   docs/results/nmt.md; OPUS-MT is put beside them

Names are transformer, rnnsearch, and transformer-1-16 … transformer-1-2 for shares of the data;
transformer@2 is the same training with another seed, which also draws another share. ``tables``
compares the two architectures over all seeds that are there. Two other scales make the tables of
docs/results/seeds.md alone: ``--scale seeds`` trains both architectures on all data for as many
steps, after ``prepare``; ``--scale small`` trains tiny models on one CPU core, in build/nmt-small.
Needs ``BOXPEN_MIRROR``: to prepare, to train (the test set of TVsub), and for CommonMT.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from results import DOCS, METRICS, SETS, beside_paper, said, table, write

import boxpen
from boxpen.analysis.slices import cut
from boxpen.metrics.bleu import Bleu, corpus_bleu
from boxpen.metrics.choice import accuracy
from boxpen.metrics.intervals import Estimate
from boxpen.metrics.seeds import accuracy_over_seeds, gap_over_seeds, seed_gap
from boxpen.metrics.summary import estimates
from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.data.prepared import Prepared, open_prepared, prepare
from boxpen.nmt.loading import load_model
from boxpen.nmt.training import Training, TrainState
from boxpen.nmt.translate import translate_lines
from boxpen.report.formats.markdown import cell
from boxpen.runs.directory import run_directories
from boxpen.scoring.verdicts import Verdict
from boxpen.text.normal import normalised

ROOT = Path(__file__).parents[1]
PAGE, SEEDS_PAGE = "nmt", "seeds"
ARCHITECTURES = ("rnnsearch", "transformer")
RECIPES = ("sound", "paper")


@dataclass(frozen=True)
class Scale:
    """How much is trained.

    Attributes:
        folder: Where it goes.
        shares: Shares of the data by name, the smallest first; "" is all of it.
        data: Folder of the prepared corpus.
        steps: Of a training on all data.
        power: A share of the data gets the share to this power of the steps.
        looks: Validations of a training.
        beam: Of the translations of TVsub's test set.
        sentences: How many of its sentences are translated; all if None.
        translate: Whether CommonMT is translated, too.
        small: Whether models are tiny, for a CPU.
    """

    folder: Path
    data: Path
    shares: Mapping[str, float]
    steps: Mapping[str, int]
    power: float
    looks: int
    beam: int
    sentences: int | None
    translate: bool
    small: bool


BUILD = ROOT / "build"
FULL = Scale(
    folder=BUILD / "nmt",
    data=BUILD / "nmt" / "data",
    shares={"1-16": 1 / 16, "1-8": 1 / 8, "1-4": 1 / 4, "1-2": 1 / 2, "": 1.0},
    steps={"transformer": 4500, "rnnsearch": 3000},
    power=0.75,  # more epochs of a smaller share, in less time
    looks=10,
    beam=5,
    sentences=None,
    translate=True,
    small=False,
)
SEEDS = replace(
    FULL,
    folder=BUILD / "nmt-seeds",
    shares={"1-16": 1 / 16, "": 1.0},
    steps={"transformer": 1500, "rnnsearch": 1500},
    power=0.5,
    looks=5,
    translate=False,
)
SMALL = Scale(
    folder=BUILD / "nmt-small",
    data=BUILD / "nmt-small" / "data",
    shares={"1-512": 1 / 512, "1-128": 1 / 128, "1-32": 1 / 32},
    steps={"transformer": 330, "rnnsearch": 330},
    power=0.0,  # the same steps, so that only the data differs
    looks=5,
    beam=1,
    sentences=300,
    translate=False,
    small=True,
)
SCALES = {"full": FULL, "seeds": SEEDS, "small": SMALL}
JUDGED = DOCS / "data" / "nmt-errors.jsonl"
"""What readers said of the Transformer's translations, by the numbers of items and texts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", type=Path, help="folder of opus-mt-zh-en, for tables")
    parser.add_argument("--scale", choices=SCALES, default="full", help="how much is trained")
    given = parser.parse_intermixed_args()
    scale = SCALES[given.scale]
    if given.command == "prepare":
        prepare(config(f"transformer-{next(iter(scale.shares))}", scale), print)
    elif given.command == "train":
        for name in given.names:
            settings = config(name, scale)
            train(name, open_prepared(settings.data), settings, scale)
    elif scale is not FULL:
        seed_tables(scale, f"nmt-{given.scale}")
    elif given.models is None:
        parser.error("tables wants --models, a folder with opus-mt-zh-en")
    else:
        tables(given.models)


def parts_of(name: str, scale: Scale) -> tuple[str, str, int]:
    """Return architecture, share and seed of a training by its name."""
    found = re.fullmatch(r"([a-z]+)(?:-(\d+-\d+))?(?:@([1-9]\d{0,8}))?", name)
    architecture, share, seed = found.groups("") if found else ("", "", "")
    if architecture not in ARCHITECTURES or share not in scale.shares:
        known = ", ".join(f"-{each}" if each else "all data" for each in scale.shares)
        sys.exit(
            f"no training '{name}'; expected {' or '.join(ARCHITECTURES)}, a share ({known}) and "
            "perhaps a seed, such as @2"
        )
    return architecture, share, int(seed or 1)


def folder_name(architecture: str, share: str, seed: int) -> str:
    """Return the folder of a training; that of the first seed does not name it."""
    return architecture + (f"-{share}" if share else "") + (f"-seed{seed}" if seed != 1 else "")


def config(name: str, scale: Scale = FULL) -> NmtConfig:
    """Return the configuration of a training."""
    architecture, share, seed = parts_of(name, scale)
    scale.folder.mkdir(parents=True, exist_ok=True)
    path = scale.folder / "nmt.toml"
    text = (ROOT / "scripts" / "nmt.toml").read_text("utf-8")
    text = text.replace("MIRROR", os.environ["BOXPEN_MIRROR"])
    path.write_text(text.replace('data = "data"', f'data = "{scale.data}"'), "utf-8")
    found = read_config(path)
    part = scale.shares[share]
    steps = round(scale.steps[architecture] * part**scale.power)
    made = replace(
        found,
        folder=scale.folder / folder_name(architecture, share, seed),
        seed=seed,
        model=replace(found.model, architecture=architecture),  # type: ignore[arg-type]
        train=replace(
            found.train,
            share=part,
            max_steps=steps,
            warmup=max(steps // 8, 250),
            validate_every=-(-steps // scale.looks),
        ),
    )
    return small(made) if scale.small else made


def small(full: NmtConfig) -> NmtConfig:
    """Return the same training with a tiny model: no clock decides when it ends."""
    steps = full.train.max_steps or 1
    return replace(
        full,
        model=replace(full.model, size="tiny"),
        subwords=replace(full.subwords, size=4000, sample=200_000),
        train=replace(
            full.train, tokens=2000, learning_rate=2e-3, warmup=steps // 8, max_minutes=None
        ),
    )


def train(name: str, prepared: Prepared, settings: NmtConfig, scale: Scale) -> None:
    """Train one model, put it to CommonMT and to the test set of TVsub, and keep the figures."""
    # Beside the model: a file in its folder would make it another model.
    place = scale.folder / f"{settings.folder.name}.figures.json"
    if place.is_file():
        print(f"{name} is trained and evaluated: {place}")
        return

    def watch(state: TrainState) -> None:
        print(name, json.dumps(state.log), state.validations[-1:], flush=True)

    result = Training(settings, prepared, watch=watch, note=print).run()
    started = time.time()
    for recipe in RECIPES:
        run = boxpen.evaluate(
            f"hf:{settings.folder}", "commonmt", recipe=recipe, cache=":memory:",
            translate=scale.translate and recipe == "sound",
        )  # fmt: skip
        run.save(scale.folder / "runs")
        print(
            name, recipe, [round(r.value, 4) for r in run.summary() if r.metric == "accuracy"][:4]
        )
    sources, references = tvsub_test()
    few = slice(scale.sentences)
    model, tokenizer = load_model(settings.folder)
    made = [
        t.text
        for t in translate_lines(
            model, tokenizer, sources[few], beam=scale.beam, tokens=65_536, device=_device()
        )
    ]
    found = score(made, [one[few] for one in references])
    figures = {
        **result,
        "name": settings.folder.name,
        "seed": settings.seed,
        "pairs": round(len(prepared.train) * settings.train.share),
        "tvsub_bleu": list(found.estimate),
        "tvsub_signature": found.signature,
        "evaluation_seconds": round(time.time() - started, 1),
    }
    place.write_text(json.dumps(figures, indent=1))


def score(translations: list[str], references: list[list[str]]) -> Bleu:
    """Return BLEU as the test set wants it: its references have no capitals."""
    return corpus_bleu(translations, references, "en", lowercase=True)


def tvsub_test() -> tuple[list[str], list[list[str]]]:
    """Return the sources of TVsub's test set, and its three sets of references."""
    folder = Path(os.environ["BOXPEN_MIRROR"]) / "tvsub"
    sources = (folder / "test.orignal.zh").read_text("utf-8").splitlines()
    text = (folder / "test_trg.sgm").read_text("utf-8")
    references: list[list[str]] = []
    for part in re.findall(r"<refset.*?</refset>", text, re.S) or [text]:
        for name in sorted(set(re.findall(r'sysid="(\w+)"', part))):
            documents = re.findall(rf'<DOC[^>]*sysid="{name}"[^>]*>(.*?)</DOC>', part, re.S)
            segments = re.findall(r"<seg id=\d+>(.*?)</seg>", "".join(documents), re.S)
            references.append([normalised(html.unescape(s).strip(), "en") for s in segments])
    if {len(r) for r in references} != {len(sources)}:
        sys.exit(f"{len(sources)} sources, references {[len(r) for r in references]}")
    return sources, references


def tables(models: Path) -> None:
    """Put all tables into docs/results/nmt.md."""
    found = figures()
    places = run_directories([FULL.folder / "runs"])
    runs = loaded_runs(FULL)
    main_runs = {name: runs[name, "sound"] for name in ARCHITECTURES}
    main_runs["OPUS-MT"] = boxpen.evaluate(f"ct2:{models / 'opus-mt-zh-en'}", "commonmt")
    systems = {
        **{name: partial(_given, run) for name, run in main_runs.items()},
        **{f"{n}, paper": partial(_given, runs[n, "paper"]) for n in ARCHITECTURES},
    }
    write(PAGE, "data", data_table(open_prepared(FULL.folder / "data").counts))
    write(PAGE, "trainings", trainings_table(found))
    write(
        PAGE,
        "commonmt",
        beside_paper(table("commonmt", SETS["commonmt"], systems, metrics=(*METRICS, "bleu"))),
    )
    smallest = runs["transformer-1-16", "sound"]
    write(PAGE, "pairs", pairs_table({**main_runs, "transformer-1-16": smallest}))
    write(PAGE, "length", length_table(main_runs))
    write(PAGE, "scale", scale_table(found, runs))
    write(PAGE, "speed", speed_table(json.loads((ROOT / "build" / "nmt_speed.json").read_text())))
    judged = next(str(p) for p in places if p.name.startswith("commonmt-transformer-sound-"))
    read = ("--journal", str(JUDGED))
    write(PAGE, "errors", said("errors", "table", judged, *read, "--markdown"))
    agreement = said("errors", "status", judged, *read).partition("\nJudges differ:")[0].strip()
    write(PAGE, "agreement", f"```\n{agreement}\n```")


def figures() -> dict[str, dict[str, Any]]:
    """Return what was kept of every training, the smallest share first."""
    names = [folder_name("transformer", share, 1) for share in FULL.shares] + ["rnnsearch"]
    return {n: json.loads((FULL.folder / f"{n}.figures.json").read_text("utf-8")) for n in names}


def loaded_runs(scale: Scale) -> dict[tuple[str, str], boxpen.Run]:
    """Return the runs of all trainings, by folder and recipe."""
    runs = map(boxpen.Run.load, run_directories([scale.folder / "runs"]))
    return {(run.info.model.short, run.info.recipe.name): run for run in runs}


def data_table(counts: dict[str, Any]) -> str:
    """Return how many pairs each rule took."""
    out = ["| rule | pairs |", "|---|---|"]
    out += [f"| {rule} | {count:,} |" for rule, count in counts["clean"]["rules"].items()]
    overlap = counts["clean"]["overlap"].items()
    out += ["", "Overlap: " + "; ".join(f"{where} {count:,}" for where, count in overlap) + "."]
    made = counts["encode"]["train"]
    out.append(
        f"Left: {made['pairs']:,} pairs, {made['source_tokens']:,} source and "
        f"{made['target_tokens']:,} target tokens."
    )
    return "\n".join(out)


def trainings_table(found: dict[str, dict[str, Any]]) -> str:
    """Return what each training took and came to."""
    out = [
        "| training | steps | epochs | target tokens | seconds | validation loss "
        "| TVsub test, BLEU |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, f in found.items():
        value, low, high, _ = f["tvsub_bleu"]
        out.append(
            f"| {name} | {f['steps']:,} | {f['epochs']:.1f} | {f['tokens']:,} | "
            f"{f['seconds']:,.0f} | {f['loss']:.3f} | {value:.1f} [{low:.1f}, {high:.1f}] |"
        )
    signatures = dict.fromkeys(f["tvsub_signature"] for f in found.values())
    return "\n".join([*out, "", *(f"- BLEU: `{s}`" for s in signatures)])


def pairs_table(runs: dict[str, boxpen.Run]) -> str:
    """Return the accuracy of every two systems on the same items."""
    names = {run.info.model.short: name for name, run in runs.items()}
    out = ["| A | B | only A : only B | difference | p | Holm |", "|---|---|---|---|---|---|"]
    for p in boxpen.compare(*runs.values(), force=True):
        e = p.difference
        out.append(
            f"| {names[p.a]} | {names[p.b]} | {p.only_a} : {p.only_b} | "
            f"{e.value:+.3f} [{e.low:+.3f}, {e.high:+.3f}] | {p.p:.2g} | {p.adjusted:.2g} |"
        )
    return "\n".join(out)


def length_table(runs: dict[str, boxpen.Run]) -> str:
    """Return accuracy by the length of the source (Figure 6)."""
    parts = {name: cut(run, "source length") for name, run in runs.items()}
    first = next(iter(parts.values()))
    out = ["| characters of the source | share | " + " | ".join(parts) + " |"]
    out.append("|---" * (len(parts) + 2) + "|")
    total = sum(map(len, first.values()))
    for value, verdicts in first.items():
        cells = []
        for found in parts.values():
            e = dict(estimates(found[value], "wilson"))["accuracy"]
            cells.append(f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]")
        out.append(f"| {value} | {len(verdicts) / total:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def scale_table(found: dict[str, dict[str, Any]], runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Return accuracy against the size of the data (Figure 5)."""
    sets = SETS["commonmt"]
    out = ["| share | pairs | " + " | ".join([*sets, "all", "BLEU"]) + " |", "|---" * 7 + "|"]
    pairs = found["transformer"]["data"]["encode"]["train"]["pairs"]
    for key, share in FULL.shares.items():
        run = runs[f"transformer-{key}" if key else "transformer", "sound"]
        size = round(pairs * share)
        rows = {(r.slice, r.metric): r for r in run.summary()}
        cells = [cell(rows[f"set={s}", "accuracy"]) for s in sets]
        cells += [cell(rows["all", "accuracy"]), cell(rows["all", "bleu"])]
        out.append(f"| {key.replace('-', '/') or '1'} | {size:,} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def speed_table(found: list[dict[str, Any]]) -> str:
    """Return what benchmarks/nmt_speed.py measured."""
    out = ["| | model | of | plain loop | boxpen | ratio |", "|---|---|---|---|---|---|"]
    for f in found:
        size = f"{f['tokens']:,} a batch" if "tokens" in f else f"{f['sentences']:,}, beam 5"
        out.append(
            f"| {f['what']} | {f['architecture']} | {size} | {f['plain']:,} | {f['boxpen']:,} "
            f"| {f['ratio']} |"
        )
    return "\n".join(out)


class Seeds(NamedTuple):
    """The trainings of one architecture on one share, whatever their seed."""

    figures: list[dict[str, Any]]
    runs: dict[str, list[boxpen.Run]]  # by recipe

    def verdicts(self, recipe: str) -> list[tuple[Verdict, ...]]:
        """Return the verdicts of every seed."""
        return [run.verdicts for run in self.runs[recipe]]

    def accuracy(self, recipe: str) -> Estimate:
        """Return the accuracy over seeds."""
        return accuracy_over_seeds(self.verdicts(recipe))


def seed_tables(scale: Scale, key: str) -> None:
    """Put what seeds change into docs/results/seeds.md, for shares that have several."""
    runs = loaded_runs(scale)
    found: dict[tuple[str, str], Seeds] = {}
    for share in scale.shares:
        kept = {name: kept_figures(scale, name, share) for name in ARCHITECTURES}
        common = sorted(set.intersection(*map(set, kept.values())))
        for architecture, by_seed in kept.items() if len(common) > 1 else ():
            some = [by_seed[seed] for seed in common]
            of = {recipe: [runs[f["name"], recipe] for f in some] for recipe in RECIPES}
            found[share, architecture] = Seeds(some, of)
    if not found:
        print(f"{scale.folder}: no share has several seeds of both architectures")
        return
    write(SEEDS_PAGE, key, seeds_table(found))
    write(SEEDS_PAGE, f"{key}-gaps", gaps_table(found))


def kept_figures(scale: Scale, architecture: str, share: str) -> dict[int, dict[str, Any]]:
    """Return what was kept of the trainings of an architecture on a share, by seed."""
    name = re.escape(folder_name(architecture, share, 1))
    out = {}
    for path in scale.folder.glob("*.figures.json"):
        if found := re.fullmatch(rf"{name}(?:-seed(\d+))?\.figures\.json", path.name):
            out[int(found[1] or 1)] = json.loads(path.read_text("utf-8"))
    return out


def seeds_table(found: dict[tuple[str, str], Seeds]) -> str:
    """Return what the trainings of every share came to, over their seeds."""
    out = [
        "| pairs | model | seeds | epochs | validation loss | TVsub BLEU "
        "| accuracy, sound | lowest and highest seed | accuracy, paper |",
        "|---" * 9 + "|",
    ]
    for (_, architecture), s in found.items():
        first = s.figures[0]
        each = [accuracy(verdicts).value for verdicts in s.verdicts("sound")]
        out.append(
            f"| {first['pairs']:,} | {architecture} | {len(s.figures)} "
            f"| {first['epochs']:.1f} | {_spread([f['loss'] for f in s.figures], 3)} "
            f"| {_spread([f['tvsub_bleu'][0] for f in s.figures], 1)} "
            f"| {_interval(s.accuracy('sound'))} | {_spread(each, 3)} "
            f"| {_interval(s.accuracy('paper'))} |"
        )
    return "\n".join(out)


def gaps_table(found: dict[tuple[str, str], Seeds]) -> str:
    """Return how far the Transformer is above RNNSearch, with and without the seed."""
    out = [
        "| pairs | recipe | Transformer minus RNNSearch, seeds and items | items alone, seed 1 "
        "| validation loss, seeds |",
        "|---" * 5 + "|",
    ]
    for share in dict.fromkeys(share for share, _ in found):
        theirs, ours = (found[share, architecture] for architecture in ARCHITECTURES)
        losses = [[[f["loss"]] for f in s.figures] for s in (ours, theirs)]
        for recipe in RECIPES:
            alone = boxpen.compare(ours.runs[recipe][0], theirs.runs[recipe][0], force=True)[0]
            gap = gap_over_seeds(ours.verdicts(recipe), theirs.verdicts(recipe))
            out.append(
                f"| {ours.figures[0]['pairs']:,} | {recipe} "
                f"| {_interval(gap, sign='+')} | {_interval(alone.difference, sign='+')} "
                f"| {_interval(seed_gap(*losses), sign='+')} |"
            )
    return "\n".join(out)


def _spread(values: list[float], digits: int) -> str:
    """Return the mean of some numbers, the least and the largest."""
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _interval(e: Estimate, sign: str = "") -> str:
    return f"{e.value:{sign}.3f} [{e.low:{sign}.3f}, {e.high:{sign}.3f}]"


def _given(run: boxpen.Run, _: str) -> boxpen.Run:
    return run


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
