"""Find out what CADec learns and what it costs: the trainings and tables of docs/results/cadec.md.

    cadec.py prepare               build/cadec: a hundred documents, and a small corpus
    cadec.py train NAME [NAME …]   build/cadec/NAME, and its loss with other drafts and contexts
    cadec.py tables                docs/results/cadec.md

Names are hundred and hundred-RECIPE, which learn a hundred documents by heart; base; and
RECIPE-SEED or RECIPE-SEED-slow for the recipes that begin from base. Needs ``BOXPEN_MIRROR`` to
prepare. All of it is small enough for one core.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from results import write
from torch import Tensor
from torch.nn import functional

from boxpen.nmt.config import NmtConfig, read_config
from boxpen.nmt.context import cadec_layers
from boxpen.nmt.context.cadec_layers import TRACE
from boxpen.nmt.context.drafts import drafts_for_training
from boxpen.nmt.context.making import reads_of
from boxpen.nmt.data.batches import plan
from boxpen.nmt.data.inputs import PLAIN, batch_of
from boxpen.nmt.data.prepared import Prepared, open_prepared, prepare
from boxpen.nmt.objective import cross_entropy
from boxpen.nmt.training import Training, TrainState

ROOT = Path(__file__).parents[1]
PAGE = "cadec"
END = ".figures.json"
DOCUMENTS = {"hundred": (0, 100, 40), "train": (100, 200, None), "valid": (200, 203, 400)}
"""First document, first not taken, and lines of each."""
RECIPES: dict[str, dict[str, Any]] = {
    "more": {"architecture": "transformer"},
    "before": {"architecture": "cadec", "context": 1},
    "one": {"architecture": "cadec", "context": 1},
    "three": {"architecture": "cadec", "context": 3},
    "sampled": {"architecture": "cadec", "context": 3, "denoising": 0.0},
}
"""What begins from the base: a Transformer as control, and CADec. The second is as CADec was before
the context was hidden from it at first."""


@dataclass(frozen=True)
class Scale:
    """How large all is.

    Attributes:
        folder: Where the models go.
        settings: The configuration of the base.
        corpus: Folder of the corpus and of the base.
        base: Its name.
        steps: Of what begins from it.
        rate: Their learning rate; that of what ends with ``-slow`` is a third.
        lines: Tokens of a step for every sentence that is read of a line: as many lines in a step,
            however much of what stands before them is read.
        device: Where it is trained.
    """

    folder: Path
    settings: str
    corpus: Path
    base: str
    steps: int
    rate: float
    lines: int
    device: str


BUILD = ROOT / "build"
SMALL = Scale(BUILD / "cadec", "cadec.toml", BUILD / "cadec", "base", 400, 1e-3, 1000, "cpu")
FULL = Scale(
    BUILD / "cadec-full", "discourse.toml", BUILD / "discourse", "sentence", 4000,
    5e-4, 16_000, "auto",
)  # fmt: skip
BASES = {"hundred": 800, "base": 2500}
"""Steps of what begins from nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["prepare", "train", "tables"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--full", action="store_true", help="the models of discourse.py, on a GPU")
    given = parser.parse_args()
    scale = FULL if given.full else SMALL
    scale.folder.mkdir(parents=True, exist_ok=True)
    if given.command == "prepare":
        draw(Path(os.environ["BOXPEN_MIRROR"]) / "tvsub" / "train.doc.tsv.xz")
    elif given.command == "train":
        for name in given.names:
            train(name, scale)
    else:
        tables(scale)


def draw(subtitles: Path) -> None:
    """Write the lines of some documents."""
    kept: dict[str, list[str]] = {part: [] for part in DOCUMENTS}
    seen: dict[int, int] = {}
    with lzma.open(subtitles, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            document = int(line.split("\t", 1)[0])
            seen[document] = seen.get(document, 0) + 1
            for part, (first, end, most) in DOCUMENTS.items():
                if first <= document < end and (most is None or seen[document] <= most):
                    kept[part].append(line)
            if document >= max(end for _, end, _ in DOCUMENTS.values()):
                break
    for part, some in kept.items():
        (SMALL.folder / f"{part}.tsv").write_text("".join(some), "utf-8")


def config(name: str, scale: Scale = SMALL) -> NmtConfig:
    """Return the configuration of a training."""
    hundred, base = name.startswith("hundred"), scale.base
    recipe, _, seed = name.removesuffix("-slow").rpartition("-")
    if hundred:
        base, recipe, seed = "hundred", name.removeprefix("hundred").lstrip("-"), "1"
    first = name == base
    if not first and (recipe not in RECIPES or not seed.isdecimal()):
        sys.exit(f"no training '{name}'; see {Path(__file__).name} --help")
    found = _settings(hundred, scale)
    model, train = found.model, found.train
    if hundred:
        model, train = replace(model, dropout=0.0), replace(train, label_smoothing=0.0)
    steps = BASES.get(name, scale.steps)
    if not first:
        model = replace(model, base=scale.corpus / base, **RECIPES[recipe])
        read = 1 + (model.context if model.reads_context else 0)
        rate = scale.rate / (3 if name.endswith("-slow") else 1)
        train = replace(train, tokens=scale.lines * read, learning_rate=rate)
    train = replace(
        train,
        max_steps=steps,
        max_minutes=None,
        warmup=min(400, steps // 6),
        validate_every=steps // (5 if first else 4),
        compile="no",  # half of the steps wait for drafts
    )
    return replace(
        found, folder=scale.folder / name, seed=1 if first else int(seed), model=model, train=train
    )


def _settings(hundred: bool, scale: Scale) -> NmtConfig:
    text = (ROOT / "scripts" / scale.settings).read_text("utf-8")
    text = text.replace("FOLDER", str(scale.corpus))
    if hundred:  # what is learnt is what is looked at, so that nothing must be held out
        text = text.replace("/train.tsv", "/hundred.tsv").replace("/valid.tsv", "/hundred.tsv")
        text = text.replace("[clean]", '[clean]\nheld_out = "keep"')
        text = text.replace('"data"', '"hundred-data"')
    path = scale.corpus / f"{'hundred' if hundred else scale.base}.toml"
    path.write_text(text, "utf-8")
    return read_config(path)


def train(name: str, scale: Scale) -> None:
    """Train one model and write what it loses."""
    settings = config(name, scale)
    cadec_layers.TRACE = 0.0 if "before" in name else TRACE
    # All have one vocabulary: its lines are drawn by the seed.
    first = _settings(name.startswith("hundred"), scale)
    prepared = open_prepared(first.data) if scale is FULL else prepare(first, print)

    figures: dict[str, Any] = {}

    def watch(state: TrainState) -> None:
        print(name, json.dumps(state.log), state.validations[-1:], flush=True)
        over = state.validations and state.validations[-1].step == settings.train.max_steps
        if over and settings.model.architecture == "cadec" and not figures:
            # What it has become: the finished model is the best there was, of steps above 0.
            model = training.learner.model.eval()
            figures["losses"] = losses(model, settings, prepared)
            model.train()

    training = Training(settings, prepared, device=scale.device, watch=watch, note=print)
    training.limits = replace(training.limits, validate_first=True)
    figures |= training.run()
    figures["curve"] = [
        (line["step"], line["valid_loss"])
        for line in map(json.loads, (settings.folder / "log.jsonl").read_text().splitlines())
        if "valid_loss" in line
    ]
    (scale.folder / f"{name}{END}").write_text(json.dumps(figures, indent=1))
    print(name, figures.get("losses"), flush=True)


def losses(model: Any, settings: NmtConfig, prepared: Prepared) -> dict[str, float]:
    """Return the validation loss of a CADec with several drafts and contexts, and its base's."""
    found = {"base": loss(model.base, settings, prepared, _alone)}
    for name, changed in DRAFTS.items():
        found[f"draft: {name}"] = loss(model, settings, prepared, changed)
    for name, changed in CONTEXTS.items():
        found[f"context: {name}"] = loss(model, settings, prepared, changed)
    found["copied"] = copied(model, settings, prepared)
    return found


def copied(model: Any, settings: NmtConfig, prepared: Prepared) -> float:
    """Return the share of lines whose greedy translation is the draft, token for token."""
    same = total = 0
    for batch in _batches(model, settings, prepared):
        inputs = {n: t for n, t in batch.items() if n not in ("labels", "decoder_input_ids")}
        with torch.inference_mode():
            drafts = model.encoder(**inputs).draft_ids
            made = model.generate(**inputs, num_beams=1, max_length=None, max_new_tokens=60)[:, 1:]
        pad, width = model.config.pad_token_id, max(drafts.shape[1], made.shape[1])
        drafts, made = (
            functional.pad(x, (0, width - x.shape[1]), value=pad) for x in (drafts, made)
        )
        same += int((drafts == made).all(1).sum())
        total += len(made)
    return round(same / total, 4)


def loss(
    model: Any,
    settings: NmtConfig,
    prepared: Prepared,
    changed: Callable[[Any, dict[str, Tensor]], dict[str, Tensor]],
) -> float:
    """Return the mean cross-entropy of a target token, of batches changed in some way."""
    total, tokens = 0.0, 0
    for batch in _batches(model, settings, prepared):
        labels = batch["labels"]
        batch = changed(model, batch)
        with torch.inference_mode():
            logits = model(**{n: t for n, t in batch.items() if n != "labels"}).logits
        total += float(cross_entropy(logits, labels, 0.0))
        tokens += int((labels >= 0).sum())
    return round(total / tokens, 4)


def _batches(model: Any, settings: NmtConfig, prepared: Prepared) -> Iterator[dict[str, Tensor]]:
    examples = prepared.valid
    reads = reads_of(model, settings.model) if hasattr(model, "reads") else PLAIN
    lengths = reads.source_lengths(examples), examples.target_lengths
    for numbers in plan(*lengths, tokens=settings.train.tokens, seed=0, epoch=0):
        batch = batch_of(
            examples,
            numbers,
            pad=model.config.pad_token_id,
            start=model.config.decoder_start_token_id,
            reads=reads,
        )
        yield {name: tensor.to(model.device) for name, tensor in batch.items()}


def _alone(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:  # noqa: ARG001
    return batch


def _beam(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    with torch.inference_mode():
        made = model.base.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            num_beams=4,
            max_length=None,
            max_new_tokens=2 * batch["input_ids"].shape[1] + 10,
        )
    return {**batch, "draft_ids": made[:, 1:]}


def _trained(denoising: float) -> Callable[[Any, dict[str, Tensor]], dict[str, Tensor]]:
    def changed(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        dice = torch.Generator(model.device).manual_seed(1)
        return batch | drafts_for_training(model.base, batch, denoising=denoising, generator=dice)

    return changed


def _reference(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    labels = batch["labels"]
    return {**batch, "draft_ids": labels.masked_fill(labels < 0, model.config.pad_token_id)}


def _own(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:  # noqa: ARG001
    return {n: t for n, t in batch.items() if not n.startswith("context_target")}


def _none(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:  # noqa: ARG001
    return {n: t for n, t in batch.items() if not n.startswith("context")}


def _other(model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:  # noqa: ARG001
    return {n: t.roll(1, 0) if n.startswith("context") else t for n, t in batch.items()}


DRAFTS = {
    "greedy": _alone,
    "beam of 4": _beam,
    "sampled, as in training": _trained(0.0),
    "corrupted reference, as in training": _trained(1.0),
    "reference": _reference,
}
CONTEXTS = {"translated by the base": _own, "none": _none, "of another line": _other}


def tables(scale: Scale) -> None:
    """Put all tables into docs/results/cadec.md; print them if they are those of a GPU."""
    made = {
        "hundred": [(name, [kept]) for name, kept in kept_of(scale, "hundred.*")],
        "recipes": [
            (recipe + end, [kept for _, kept in kept_of(scale, rf"{recipe}-\d+{end}")])
            for end in ("", "-slow")
            for recipe in RECIPES
        ],
    }
    base = made["recipes"][0][1][0]["curve"][0][1]
    blocks = {
        "hundred": curve_table(made["hundred"], 0.0),
        "curves": curve_table(made["recipes"], base),
        "inputs": input_table(made["recipes"], base),
    }
    for key, lines in blocks.items():
        print("\n".join(lines)) if scale is FULL else write(PAGE, key, "\n".join(lines))


def kept_of(scale: Scale, pattern: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the figures of the trainings whose names match."""
    names = sorted(p.name.removesuffix(END) for p in scale.folder.glob(f"*{END}"))
    places = [(name, scale.folder / f"{name}{END}") for name in names]
    return [(n, json.loads(p.read_text("utf-8"))) for n, p in places if re.fullmatch(pattern, n)]


Rows = Sequence[tuple[str, list[dict[str, Any]]]]


def curve_table(rows: Rows, base: float) -> list[str]:
    """Return losses at the start, at each quarter (of bases: fifth) and at the end."""
    lines = [
        "| model | trainings | steps | at the start | validation loss afterwards |",
        "|---" * 5 + "|",
    ]
    for name, kept in rows:
        if kept:
            points = zip(*([loss for _, loss in some["curve"]] for some in kept), strict=True)
            first, *rest = (told(values, base) for values in points)
            steps = f"{kept[0]['steps']:,}"
            lines.append(f"| {name} | {len(kept)} | {steps} | {first} | {' → '.join(rest)} |")
    return lines


def input_table(rows: Rows, base: float) -> list[str]:
    """Return the losses of models after their last step with other drafts and other contexts."""
    read = [(name, [k["losses"] for k in kept if "losses" in k]) for name, kept in rows]
    read = [(name, kept) for name, kept in read if kept]
    shown = [name for name in read[0][1][0] if name not in ("base", "copied")]
    head = ["model", "trainings", *shown, "drafts kept"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, kept in read:
        cells = [told([k[column] for k in kept], base) for column in shown]
        share = sum(k["copied"] for k in kept) / len(kept)
        lines.append(f"| {name} | {len(kept)} | {' | '.join(cells)} | {share:.0%} |")
    return lines


def told(values: Sequence[float], base: float) -> str:
    """Return the mean, as a difference if there is a base, and how far the trainings are apart."""
    mean, half = sum(values) / len(values), (max(values) - min(values)) / 2
    shown = f"{mean - base:+.3f}" if base else f"{mean:.3f}"
    return f"{shown} ±{half:.3f}" if len(values) > 1 and half >= 0.0005 else shown


if __name__ == "__main__":
    main()
