"""boxpen train nli and boxpen train choice: classifiers and multiple-choice models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from boxpen.cli.command import command
from boxpen.cli.options import Device, Json, TrustRemoteCode
from boxpen.cli.output import note, print_json
from boxpen.cli.train import train
from boxpen.cli.train.options import Exclude, Training
from boxpen.cli.train.together import together

__all__ = ["choice", "nli"]


@dataclass(frozen=True)
class Data:
    """What to train, on which items."""

    data: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Table or suite; for nli: premise, hypothesis, label; for choice: goal, sol1, "
            "sol2, label.",
        ),
    ]
    base: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Preset, model folder or file, hf:NAME, new:tiny or new:small.",
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder for the model, its log and held-out items."),
    ]
    valid: Annotated[str | None, typer.Option(metavar="FILE", help="File with held-out items.")] = (
        None
    )
    holdout: Annotated[
        float, typer.Option(help="Share of items to hold out; groups stay whole.")
    ] = 0.1
    exclude: Exclude = None
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT=NAME", help="Column with another name; repeatable."),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="For new: model to take the tokenizer from.",
            show_default="trained",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return them as the trainings take them."""
        columns: dict[str, str] = {}
        for pair in self.column or ():
            what, equals, name = pair.partition("=")
            if not equals or not name:
                raise typer.BadParameter(f"--column {pair}: expected WHAT=NAME")
            columns[what.strip()] = name
        return {
            "base": self.base, "out": self.out, "valid": self.valid, "holdout": self.holdout,
            "exclude": self.exclude or (), "columns": columns, "tokenizer": self.tokenizer,
            "progress": True, "note": note,
        }  # fmt: skip


@command(train, "nli")
def nli(
    data: Data,
    label_order: Annotated[
        str | None, typer.Option(help="Meaning of labels 0, 1 and 2, separated by commas.")
    ] = None,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    device: Device = "auto",
    json: Json = False,
    *,
    training: Training,
) -> None:
    """Train a classifier: does the premise entail the hypothesis?"""
    from boxpen.lm import train_nli

    given = data.arguments()
    with together(device) as processes:
        result = train_nli(
            data.data, label_order=label_order.split(",") if label_order else None,
            options=processes.once(training.options), device=device, **given,
        )  # fmt: skip
    if processes.chief:
        _show(result, data.out, json)


@command(train, "choice")
def choice(
    data: Data,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels, one per line.", show_default="NAME-labels.lst"),
    ] = None,
    valid_labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels for --valid.")
    ] = None,
    label_start: Annotated[int, typer.Option(help="Index of the first candidate.")] = 0,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    device: Device = "auto",
    json: Json = False,
    *,
    training: Training,
) -> None:
    """Train a multiple-choice model: which solution fits?"""
    from boxpen.lm import train_choice

    given = data.arguments()
    with together(device) as processes:
        result = train_choice(
            data.data, labels=labels, valid_labels=valid_labels, label_start=label_start,
            options=processes.once(training.options), device=device, **given,
        )  # fmt: skip
    if processes.chief:
        _show(result, data.out, json)


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
