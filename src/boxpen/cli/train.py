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
    help="Train a classifier of inference, a multiple-choice model or a language model.",
)
app.add_typer(train, name="train")

Base = Annotated[
    str, typer.Option(help="A preset, a model folder or file, hf:NAME, new:tiny or new:small.")
]
Out = Annotated[Path, typer.Option(help="Folder of the model, its log and the held-out items.")]
Valid = Annotated[str | None, typer.Option(help="Held-out items of another file.")]
Holdout = Annotated[float, typer.Option(help="Share of the items to hold out, by groups.")]
Exclude = Annotated[
    list[str] | None, typer.Option(help="A suite that must not be learnt from; again for more.")
]
Column = Annotated[
    list[str] | None, typer.Option(help="WHAT=NAME, where a column has another name.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(help="For new: the model whose tokenizer is taken.", show_default="learnt"),
]
Epochs = Annotated[float, typer.Option(help="Passes over the data.")]
BatchSize = Annotated[int, typer.Option(help="Items of a batch.")]
Accumulate = Annotated[int, typer.Option(help="Batches that make one step.")]
LearningRate = Annotated[
    float | None, typer.Option(help="Its peak.", show_default="3e-5; 5e-4 for new:")
]
Warmup = Annotated[float, typer.Option(help="Share of the steps in which it rises.")]
WeightDecay = Annotated[float, typer.Option(help="Weight decay of AdamW.")]
MaxLength = Annotated[int, typer.Option(help="Most tokens of a pair.")]
Every = Annotated[
    int | None,
    typer.Option(
        help="Steps between looks at the held-out items, each with a checkpoint.",
        show_default="an epoch, 500 at most",
    ),
]
Patience = Annotated[int, typer.Option(help="Looks without gain before it stops; 0: never.")]
Seed = Annotated[int, typer.Option(help="Of weights, order, dropout and split.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@train.command()
def nli(
    data: Annotated[str, typer.Option(help="A table (premise, hypothesis, label) or a suite.")],
    base: Base,
    out: Out,
    valid: Valid = None,
    holdout: Holdout = 0.1,
    exclude: Exclude = None,
    column: Column = None,
    label_order: Annotated[
        str | None, typer.Option(help="What labels 0, 1 and 2 mean, divided by commas.")
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
    from boxpen.train import Options, train_nli

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
    data: Annotated[str, typer.Option(help="A table (goal, sol1, sol2, label) or a suite.")],
    base: Base,
    out: Out,
    labels: Annotated[
        Path | None, typer.Option(help="Labels, one a line.", show_default="NAME-labels.lst")
    ] = None,
    valid: Valid = None,
    valid_labels: Annotated[Path | None, typer.Option(help="Labels of --valid.")] = None,
    holdout: Holdout = 0.1,
    exclude: Exclude = None,
    column: Column = None,
    label_start: Annotated[int, typer.Option(help="Number of the first candidate.")] = 0,
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
    """Train a multiple-choice model: which solution reaches the goal?"""
    from boxpen.train import Options, train_choice

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
    print(f"items              {items['train']:,} to learn from, {items['read']:,} read{shown}")
    print(f"model              hf:{out}; held out: {out / 'held-out.jsonl'}")
