"""boxpen train lm and boxpen train bilm: language models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, Literal

import typer

from boxpen.cli.command import command
from boxpen.cli.options import Device, Json, TrustRemoteCode
from boxpen.cli.output import note, print_json
from boxpen.cli.train import train
from boxpen.cli.train.options import Exclude, Training
from boxpen.cli.train.together import together

__all__ = ["bilm", "lm"]


@dataclass(frozen=True)
class Data:
    """What to train, on which sentences."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            "--base",
            metavar="MODEL",
            help="Model as for boxpen run, new:tiny or new:small; for bilm also new:base and "
            "new:public.",
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="Folder for the model, its log and held-out sentences."
        ),
    ]
    text: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="File with one sentence per line, also .gz or .xz; repeatable."
        ),
    ] = None
    triples: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="Graph file or folder, TOML file of a build, Parquet file of a stage, or .tsv "
            "file of sentences; repeatable.",
        ),
    ] = None
    ways: Annotated[int, typer.Option(help="Maximum sentences per triple.")] = 1
    valid: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="File with held-out sentences.")
    ] = None
    holdout: Annotated[float, typer.Option(help="Share of sentences to hold out.")] = 0.1
    exclude: Exclude = None
    language: Annotated[str, typer.Option(metavar="CODE", help="Language of the sentences.")] = "en"
    vocabulary: Annotated[
        int | None,
        typer.Option(
            help="Maximum vocabulary size of a new model.",
            show_default="8000 or 16000; bilm: 50000",
        ),
    ] = None
    uncased: Annotated[
        bool,
        typer.Option(
            "--uncased",
            help="Let a new model read lower-cased byte pairs, the same for every kind.",
        ),
    ] = False


@command(train, "lm")
def lm(
    kind: Annotated[Literal["causal", "masked"], typer.Option(help="What the model predicts.")],
    data: Data,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    device: Device = "auto",
    json: Json = False,
    *,
    training: Training,
) -> None:
    """Train a causal or masked language model.

    The data may be text, a knowledge graph or both.
    """
    _train(kind, data, training, device, json)


@command(train, "bilm")
def bilm(
    data: Data,
    device: Device = "auto",
    json: Json = False,
    *,
    training: Training,
) -> None:
    """Train a bidirectional LSTM language model (ELMo)."""
    _train("bilm", data, training, device, json)


def _train(
    kind: str,
    data: Data,
    training: Training,
    device: str,
    json: bool,
) -> None:
    from boxpen.lm import train_lm

    given: dict[str, Any] = {name: v for name, v in asdict(data).items() if v is not None}
    with together(device) as processes:
        options = processes.once(training.options)
        result = train_lm(
            kind=kind, options=options, device=device, progress=True, note=note, **given
        )
    if not processes.chief:
        return
    if json:
        print_json(result | {"out": str(data.out)})
    else:
        _show(result, data.out)


def _show(result: dict[str, Any], out: Path) -> None:
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
