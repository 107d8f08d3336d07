"""boxpen train lm and boxpen train sentences: language models, and graphs as sentences."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from boxpen.cli.device import Device
from boxpen.cli.output import OverwriteFile, note, print_json, progress_bar
from boxpen.cli.train import (
    Accumulate,
    BatchSize,
    Epochs,
    Every,
    Json,
    Patience,
    Seed,
    Warmup,
    WeightDecay,
    train,
)

__all__ = ["lm", "sentences"]

Triples = Annotated[
    list[str] | None,
    typer.Option(
        help="Graph file or folder, TOML file of a build, Parquet file of a stage, or .tsv file of "
        "sentences; repeatable."
    ),
]
Ways = Annotated[int, typer.Option(help="Maximum sentences per triple.")]


@train.command()
def lm(
    kind: Annotated[str, typer.Option(help="causal, masked or bilm (a bidirectional LSTM).")],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "--base",
            help="Model of that kind as for boxpen run, new:tiny or new:small; for bilm also "
            "new:base and new:public.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the model, its log and the held-out sentences.")
    ],
    text: Annotated[
        list[Path] | None,
        typer.Option(help="File with one sentence per line, also .gz or .xz; repeatable."),
    ] = None,
    triples: Triples = None,
    ways: Ways = 1,
    valid: Annotated[list[Path] | None, typer.Option(help="File with held-out sentences.")] = None,
    holdout: Annotated[float, typer.Option(help="Share of sentences to hold out.")] = 0.1,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Suite to exclude from training; repeatable."),
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the sentences.")] = "en",
    vocabulary: Annotated[
        int | None,
        typer.Option(help="For a new bilm: maximum vocabulary size.", show_default="50000"),
    ] = None,
    epochs: Epochs = 3.0,
    batch_size: BatchSize = 32,
    accumulate: Accumulate = 1,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Peak learning rate.", show_default="3e-5, new: 5e-4; bilm: 2e-4, new: 1e-3"
        ),
    ] = None,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.01,
    max_length: Annotated[int, typer.Option(help="Maximum tokens per sentence.")] = 256,
    every: Every = None,
    patience: Patience = 3,
    seed: Seed = 1960,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train a language model on text, a knowledge graph or both."""
    from boxpen.lm import Options, train_lm

    options = Options(
        epochs=epochs, batch_size=batch_size, accumulate=accumulate, learning_rate=learning_rate,
        warmup=warmup, weight_decay=weight_decay, max_length=max_length, every=every,
        patience=patience, seed=seed,
    )  # fmt: skip
    result = train_lm(
        kind=kind, model=model, out=out, text=text or (), triples=triples or (),
        valid=valid or (), ways=ways, holdout=holdout, exclude=exclude or (), language=language,
        vocabulary=vocabulary, options=options, device=device, progress=True, note=note,
    )  # fmt: skip
    _show(result, out, json)


@train.command()
def sentences(
    triples: Annotated[str, typer.Option(help="Source of triples, as for boxpen train lm.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file: .txt, or .tsv for sentences with triples.", show_default="stdout"
        ),
    ] = None,
    ways: Ways = 1,
    overwrite: OverwriteFile = False,
) -> None:
    """Write a knowledge graph as sentences, for inspection."""
    from boxpen.build.kg.wording.sentences import check_out, verbalise, write_sentences

    if out is not None:
        check_out(out, overwrite=overwrite)
    with progress_bar() as progress:
        found = verbalise(triples, ways=ways, progress=progress)
    if out is None:
        for row in found.rows:
            print(row.sentence)
    else:
        write_sentences(found, out)
    note(f"{triples}: {found.says}")


def _show(result: dict[str, Any], out: Path, json: bool) -> None:
    if json:
        print_json(result | {"out": str(out)})
        return
    some = result["sentences"]
    early = ", stopped early" if result["stopped_early"] else ""
    read = some["text"] + some["triples"] + some["valid"]
    left = {
        "shared with --valid": some["shared_with_valid"],
        "blank": some["blank"],
        "without a token": some["empty"],
        "cut": some["cut"],
    }
    # Suites that excluded nothing are listed too: their language may be a different one.
    shown = "".join(f", {n:,} excluded by {name}" for name, n in some["excluded"].items())
    shown += "".join(f", {count:,} {what}" for what, count in left.items() if count)
    for name, said in (
        (
            "held-out loss",
            f"{result['loss']:.4f} nats per token (perplexity {result['perplexity']:.1f}), "
            f"{result['loss_before']:.4f} before",
        ),
        ("held out", f"{result['tokens']:,} tokens in {some['held_out']:,} sentences"),
        ("best step", f"{result['best_step']} of {result['steps']}{early}"),
        ("sentences", f"{some['train']:,} for training, {read:,} read{shown}"),
    ):
        print(fill(said, 80, initial_indent=f"{name:16}", subsequent_indent=" " * 16))
    print(f"{'model':16}hf:{out}; held out: {out / 'held-out.txt'}")
