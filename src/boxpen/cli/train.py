"""boxpen train: classifiers and multiple-choice models; language models are in train_lm.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.device import Device
from boxpen.cli.output import note, print_json

__all__ = ["train"]

train = typer.Typer(
    no_args_is_help=True,
    help="Train classifiers and language models.",
)
app.add_typer(train, name="train")

Base = Annotated[
    str, typer.Option(help="Preset, model folder or file, hf:NAME, new:tiny or new:small.")
]
Out = Annotated[Path, typer.Option(help="Folder for the model, its log and the held-out items.")]
Valid = Annotated[str | None, typer.Option(help="File with held-out items.")]
Holdout = Annotated[float, typer.Option(help="Share of items to hold out; groups stay whole.")]
Exclude = Annotated[
    list[str] | None, typer.Option(help="Suite to exclude from training; repeatable.")
]
Column = Annotated[
    list[str] | None, typer.Option(help="Column with another name, as WHAT=NAME; repeatable.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(help="For new: model to take the tokenizer from.", show_default="trained"),
]
Epochs = Annotated[float, typer.Option(help="Number of epochs.")]
BatchSize = Annotated[int, typer.Option(help="Items per batch.")]
Accumulate = Annotated[int, typer.Option(help="Batches per optimiser step.")]
LearningRate = Annotated[
    float | None, typer.Option(help="Peak learning rate.", show_default="3e-5; 5e-4 for new:")
]
Warmup = Annotated[float, typer.Option(help="Share of steps used for learning-rate warmup.")]
WeightDecay = Annotated[float, typer.Option(help="Weight decay of AdamW.")]
MaxLength = Annotated[int, typer.Option(help="Maximum tokens per pair.")]
Every = Annotated[
    int | None,
    typer.Option(
        help="Steps between evaluations, each with a checkpoint.",
        show_default="one epoch, at most 500",
    ),
]
Patience = Annotated[
    int, typer.Option(help="Evaluations without improvement before stopping (0: never).")
]
Seed = Annotated[int, typer.Option(help="Random seed for weights, order, dropout and split.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@train.command()
def nli(
    data: Annotated[str, typer.Option(help="Table (premise, hypothesis, label) or suite.")],
    base: Base,
    out: Out,
    valid: Valid = None,
    holdout: Holdout = 0.1,
    exclude: Exclude = None,
    column: Column = None,
    label_order: Annotated[
        str | None, typer.Option(help="Meaning of labels 0, 1 and 2, separated by commas.")
    ] = None,
    tokenizer: Tokenizer = None,
    epochs: Epochs = 3.0,
    batch_size: BatchSize = 32,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.01,
    max_length: MaxLength = 256,
    every: Every = None,
    patience: Patience = 3,
    seed: Seed = 1960,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train a classifier: does the premise entail the hypothesis?"""
    from boxpen.lm import Options, train_nli

    options = Options(
        epochs=epochs, batch_size=batch_size, accumulate=accumulate, learning_rate=learning_rate,
        warmup=warmup, weight_decay=weight_decay, max_length=max_length, every=every,
        patience=patience, seed=seed,
    )  # fmt: skip
    result = train_nli(
        data, base=base, out=out, valid=valid, holdout=holdout, exclude=exclude or (),
        columns=_columns(column), label_order=label_order.split(",") if label_order else None,
        tokenizer=tokenizer, options=options, device=device, progress=True, note=note,
    )  # fmt: skip
    _show(result, out, json)


@train.command()
def choice(
    data: Annotated[str, typer.Option(help="Table (goal, sol1, sol2, label) or suite.")],
    base: Base,
    out: Out,
    labels: Annotated[
        Path | None,
        typer.Option(help="File of labels, one per line.", show_default="NAME-labels.lst"),
    ] = None,
    valid: Valid = None,
    valid_labels: Annotated[Path | None, typer.Option(help="File of labels for --valid.")] = None,
    holdout: Holdout = 0.1,
    exclude: Exclude = None,
    column: Column = None,
    label_start: Annotated[int, typer.Option(help="Index of the first candidate.")] = 0,
    tokenizer: Tokenizer = None,
    epochs: Epochs = 3.0,
    batch_size: BatchSize = 32,
    accumulate: Accumulate = 1,
    learning_rate: LearningRate = None,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.01,
    max_length: MaxLength = 256,
    every: Every = None,
    patience: Patience = 3,
    seed: Seed = 1960,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train a multiple-choice model: which solution fits?"""
    from boxpen.lm import Options, train_choice

    options = Options(
        epochs=epochs, batch_size=batch_size, accumulate=accumulate, learning_rate=learning_rate,
        warmup=warmup, weight_decay=weight_decay, max_length=max_length, every=every,
        patience=patience, seed=seed,
    )  # fmt: skip
    result = train_choice(
        data, base=base, out=out, labels=labels, valid=valid, valid_labels=valid_labels,
        holdout=holdout, exclude=exclude or (), columns=_columns(column), label_start=label_start,
        tokenizer=tokenizer, options=options, device=device, progress=True, note=note,
    )  # fmt: skip
    _show(result, out, json)


def _columns(given: list[str] | None) -> dict[str, str]:
    out: dict[str, str] = {}
    for pair in given or ():
        what, equals, name = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--column {pair}: expected WHAT=NAME")
        out[what.strip()] = name
    return out


def _show(result: dict[str, Any], out: Path, json: bool) -> None:
    if json:
        print_json(result | {"out": str(out)})
        return
    items = result["items"]
    print(
        f"held-out accuracy  {result['accuracy']:.3f} [{result['low']:.3f}, {result['high']:.3f}] "
        f"of {result['n']:,} items"
    )
    print(f"for comparison     majority {result['majority']:.3f}, chance {result['chance']:.3f}")
    early = ", stopped early" if result["stopped_early"] else ""
    print(f"best step          {result['best_step']} of {result['steps']}{early}")
    left = {
        "without label": items["without_label"],
        "excluded": items["excluded"],
        "shared with --valid": items["shared_with_valid"],
        "cut": items["cut"],
    }
    shown = "".join(f", {count:,} {what}" for what, count in left.items() if count)
    print(f"items              {items['train']:,} for training, {items['read']:,} read{shown}")
    print(f"model              hf:{out}; held out: {out / 'held-out.jsonl'}")
