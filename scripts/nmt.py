"""Train the translation models of docs/results/nmt.md, put them to their tests, make the tables.

    nmt.py prepare               build/nmt/data: cleaned, cut into subwords; scripts/nmt.toml
    nmt.py train NAME [NAME …]   build/nmt/NAME, and its runs; wants a GPU
    nmt.py tables                docs/results/nmt.md

Names are transformer, rnnsearch, and transformer-1-16 … transformer-1-2 for shares of the data.
Needs ``BOXPEN_MIRROR`` to prepare and to train (the test set of TVsub).
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
from pathlib import Path
from typing import Any

import boxpen
from boxpen.metrics.bleu import Bleu, corpus_bleu
from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.folder import load_model
from boxpen.nmt.prepared import Prepared, prepare
from boxpen.nmt.text import normalised
from boxpen.nmt.training import Course, Training
from boxpen.nmt.translate import translate_lines

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "nmt"
SHARES = {"1-16": 1 / 16, "1-8": 1 / 8, "1-4": 1 / 4, "1-2": 1 / 2}
MINUTES = {"transformer": 5.0, "rnnsearch": 4.0, "1-16": 0.7, "1-8": 0.9, "1-4": 1.2, "1-2": 2.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(config("transformer"), print)
    elif given.command == "train":
        for name in given.names:
            prepared = prepare(config(name), print)
            train(name, prepared, boxpen.load_suite("commonmt"), lambda run, _: _saved(run))
    else:
        sys.exit("tables: see below")


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
    return replace(
        found,
        folder=FOLDER / name,
        model=replace(found.model, architecture=architecture),  # type: ignore[arg-type]
        train=replace(
            found.train,
            share=SHARES.get(share, 1.0),
            max_minutes=MINUTES[share or architecture],
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

    def watch(course: Course) -> None:
        print(name, json.dumps(course.log), course.looks[-1:], flush=True)

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
    (settings.folder / "figures.json").write_text(json.dumps(figures, indent=1))
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


def _saved(run: boxpen.Run) -> None:
    run.save(FOLDER / "runs")


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
