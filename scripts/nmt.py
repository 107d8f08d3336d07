"""Train the translation models of docs/results/nmt.md, put them to their tests, make the tables.

    nmt.py prepare               build/nmt/data: cleaned, cut into subwords; scripts/nmt.toml
    nmt.py train NAME [NAME …]   build/nmt/NAME, and its runs; wants a GPU
    nmt.py tables --models DIR   docs/results/nmt.md; OPUS-MT is put beside them

Names are transformer, rnnsearch, and transformer-1-16 … transformer-1-2 for shares of the data.
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
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from results import DOCS, METRICS, SETS, said, table, write

import boxpen
from boxpen.analysis.curve import curves
from boxpen.analysis.slices import cut
from boxpen.metrics.bleu import Bleu, corpus_bleu
from boxpen.metrics.summary import estimates
from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.data.prepared import Prepared, open_prepared, prepare
from boxpen.nmt.loading import load_model
from boxpen.nmt.training import Training, TrainState
from boxpen.nmt.translate import translate_lines
from boxpen.report.curve import curve_svg
from boxpen.report.formats.markdown import cell
from boxpen.report.training.plot import read_log, training_svg
from boxpen.runs.directory import run_directories
from boxpen.text.normal import normalised

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "nmt"
PAGE = "nmt.md"
SHARES = {"1-16": 1 / 16, "1-8": 1 / 8, "1-4": 1 / 4, "1-2": 1 / 2}
STEPS = {"transformer": 4500, "rnnsearch": 3000}
"""Of a training on all data."""
SHARE_POWER = 0.75
"""A share of the data gets the share to this power of the steps: more epochs, in less time."""
LOOKS = 10
ARCHITECTURES = ("rnnsearch", "transformer")
JUDGED = DOCS / "nmt-errors.jsonl"
"""What readers said of the Transformer's translations, by the numbers of items and texts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", type=Path, help="folder of opus-mt-zh-en, for tables")
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(config("transformer"), print)
    elif given.command == "train":
        for name in given.names:
            prepared = prepare(config(name), print)
            train(name, prepared, boxpen.load_suite("commonmt"), lambda run, _: _saved(run))
    elif given.models is None:
        parser.error("tables wants --models, a folder with opus-mt-zh-en")
    else:
        tables(given.models)


def config(name: str) -> NmtConfig:
    """Return the configuration of a training."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "nmt.toml"
    text = (ROOT / "scripts" / "nmt.toml").read_text("utf-8")
    path.write_text(text.replace("MIRROR", os.environ["BOXPEN_MIRROR"]), "utf-8")
    found = read_config(path)
    architecture, _, share = name.partition("-")
    if architecture not in ("transformer", "rnnsearch") or (share and share not in SHARES):
        sys.exit(f"no training '{name}'")
    part = SHARES.get(share, 1.0)
    steps = round(STEPS[architecture] * part**SHARE_POWER)
    return replace(
        found,
        folder=FOLDER / name,
        model=replace(found.model, architecture=architecture),  # type: ignore[arg-type]
        train=replace(
            found.train,
            share=part,
            max_steps=steps,
            warmup=max(steps // 8, 250),
            validate_every=-(-steps // LOOKS),
        ),
    )


def train(
    name: str,
    prepared: Prepared,
    suite: boxpen.Suite,
    save: Callable[[boxpen.Run, str], None],
    tests: tuple[list[str], list[list[str]]] | None = None,
    settings: NmtConfig | None = None,
) -> dict[str, Any]:
    """Train one model, put it to CommonMT and to the test set of TVsub, and keep the figures."""
    settings = settings or config(name)

    def watch(state: TrainState) -> None:
        print(name, json.dumps(state.log), state.validations[-1:], flush=True)

    result = Training(settings, prepared, watch=watch, note=print).run()
    started = time.time()
    for recipe in ("sound", "paper"):
        run = boxpen.evaluate(
            f"hf:{settings.folder}", suite, recipe=recipe, cache=":memory:",
            translate=recipe == "sound",
        )  # fmt: skip
        save(run, recipe)
        print(name, recipe, [(r.slice, r.metric, round(r.value, 4)) for r in run.summary()])
    sources, references = tests or tvsub_test()
    model, tokenizer = load_model(settings.folder)
    made = [
        t.text
        for t in translate_lines(model, tokenizer, sources, beam=5, tokens=65_536, device=_device())
    ]
    found = score(made, references)
    figures = {
        **result,
        "name": name,
        "tvsub_bleu": list(found.estimate),
        "tvsub_signature": found.signature,
        "evaluation_seconds": round(time.time() - started, 1),
    }
    # Beside the model: a file in its folder would make it another model.
    (FOLDER / f"{name}.figures.json").write_text(json.dumps(figures, indent=1))
    return figures


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
    """Put all tables and drawings into docs/results/nmt.md."""
    found = figures()
    places = run_directories([FOLDER / "runs"])
    runs = {
        (run.info.model.short, run.info.recipe.name): run for run in map(boxpen.Run.load, places)
    }
    main_runs = {name: runs[name, "sound"] for name in ARCHITECTURES}
    main_runs["OPUS-MT"] = boxpen.evaluate(f"ct2:{models / 'opus-mt-zh-en'}", "commonmt")
    systems = {
        **{name: partial(_given, run) for name, run in main_runs.items()},
        **{f"{n}, paper": partial(_given, runs[n, "paper"]) for n in ARCHITECTURES},
    }
    write(PAGE, "data", data_table(open_prepared(FOLDER / "data").counts))
    write(PAGE, "trainings", trainings_table(found))
    write(
        PAGE,
        "commonmt",
        table("commonmt", SETS["commonmt"], systems, metrics=(*METRICS, "bleu")),
    )
    smallest = runs["transformer-1-16", "sound"]
    write(PAGE, "pairs", pairs_table({**main_runs, "transformer-1-16": smallest}))
    write(PAGE, "length", length_table(main_runs))
    write(PAGE, "scale", scale_table(found, runs))
    write(PAGE, "speed", speed_table(json.loads((ROOT / "build" / "nmt_speed.json").read_text())))
    for metric in ("loss", "valid_loss"):
        logs = {name: read_log(FOLDER / name) for name in ARCHITECTURES}
        (DOCS / f"nmt-{metric}.svg").write_text(training_svg(logs, metric), "utf-8")
    judged = next(str(p) for p in places if p.name.startswith("commonmt-transformer-sound-"))
    read = ("--journal", str(JUDGED))
    write(PAGE, "errors", said("errors", "table", judged, *read, "--markdown"))
    agreement = said("errors", "status", judged, *read).partition("\nJudges differ:")[0].strip()
    write(PAGE, "agreement", f"```\n{agreement}\n```")


def figures() -> dict[str, dict[str, Any]]:
    """Return what was kept of every training, the smallest share first."""
    names = [*(f"transformer-{share}" for share in SHARES), *reversed(ARCHITECTURES)]
    return {n: json.loads((FOLDER / f"{n}.figures.json").read_text("utf-8")) for n in names}


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
    """Return accuracy against the size of the data (Figure 5), and draw it."""
    sets = SETS["commonmt"]
    out = ["| share | pairs | " + " | ".join([*sets, "all", "BLEU"]) + " |", "|---" * 7 + "|"]
    loaded = []
    pairs = found["transformer"]["data"]["encode"]["train"]["pairs"]
    for key, share in {**SHARES, "": 1.0}.items():
        run = runs[f"transformer-{key}" if key else "transformer", "sound"]
        size = round(pairs * share)
        loaded.append((float(size), run))
        rows = {(r.slice, r.metric): r for r in run.summary()}
        cells = [cell(rows[f"set={s}", "accuracy"]) for s in sets]
        cells += [cell(rows["all", "accuracy"]), cell(rows["all", "bleu"])]
        out.append(f"| {key.replace('-', '/') or '1'} | {size:,} | " + " | ".join(cells) + " |")
    drawn = curve_svg(curves(loaded, "accuracy", "set"), metric="accuracy")
    (DOCS / "nmt-scale.svg").write_text(drawn, "utf-8")
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


def _given(run: boxpen.Run, _: str) -> boxpen.Run:
    return run


def _saved(run: boxpen.Run) -> None:
    run.save(FOLDER / "runs")


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
