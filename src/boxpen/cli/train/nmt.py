"""boxpen train nmt, and what goes with it: examples, sizes, plots and the effect of data size."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.command import command
from boxpen.cli.options import Device, Json
from boxpen.cli.output import console, note, print_json
from boxpen.cli.train import train
from boxpen.cli.train.together import together
from boxpen.report.plain_table import table_of

if TYPE_CHECKING:
    from boxpen.nmt.config import NmtConfig, TrainConfig

__all__ = ["example", "plot", "scale", "train_nmt"]

Config = Annotated[
    Path, typer.Argument(help="TOML file; see 'boxpen train example'.", metavar="CONFIG")
]


@command(train, "example")
def example(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of an example; lists them if omitted.")
    ] = "",
    sizes: Annotated[
        bool, typer.Option("--sizes", help="Show sizes of translation models instead.")
    ] = False,
    vocabulary: Annotated[
        int, typer.Option(help="Pieces in each of the two vocabularies, for --sizes.")
    ] = 30_000,
    json: Json = False,
) -> None:
    """Print an example configuration, or list the examples."""
    from boxpen.nmt.architectures.sizes import size_rows
    from boxpen.nmt.config import shipped_config, shipped_configs

    if sizes:
        rows = size_rows(vocabulary)
        if json:
            print_json({"vocabulary": vocabulary, "sizes": rows})
        else:
            console().print(table_of(list(rows[0]), [list(row.values()) for row in rows], left=2))
    elif name:
        print(shipped_config(name), end="")
    elif json:
        print_json(list(shipped_configs()))
    else:
        print("\n".join(shipped_configs()))


@command(train, "nmt")
def train_nmt(config: Config, device: Device = "auto", json: Json = False) -> None:
    """Train a translation model, or resume its training."""
    from boxpen.nmt.config import read_config
    from boxpen.nmt.data.prepared import prepare_once
    from boxpen.nmt.folder import check_folder
    from boxpen.report.training.display import TrainingDisplay

    def checked() -> NmtConfig:
        found = read_config(config)
        check_folder(found)  # before minutes of preparation
        return found

    with together(device) as processes:
        given = processes.once(checked)
        data = prepare_once(given, processes, note)
        from boxpen.nmt.training import Training

        with TrainingDisplay(given.train) as display:
            training = Training(given, data, device=device, watch=display.show, note=note)
            result = training.run()
    if not processes.chief:
        return
    if json:
        print_json(result | {"folder": str(given.folder)})
        return
    averaged = f", mean of {len(result['averaged'])} checkpoints" if result["averaged"] else ""
    print(f"validation loss  {result['loss']:.4f}{averaged}")
    if result["bleu"] is not None:
        print(f"validation BLEU  {result['bleu']:.2f}  {result['bleu_signature']}")
    print(
        f"steps            {result['steps']:,} ({result['epochs']:g} epochs, "
        f"{result['tokens']:,} target tokens, {result['seconds']:,.0f} s)"
    )
    print(f"model            hf:{given.folder}")


@command(train, "plot")
def plot(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Training folders.")],
    svg: Annotated[Path, typer.Option(metavar="FILE", help="Output file.")],
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="loss, valid_loss, bleu, accuracy, learning_rate, tokens_per_second or "
            "items_per_second.",
        ),
    ] = "valid_loss",
) -> None:
    """Plot training curves."""
    from boxpen.errors import NmtError
    from boxpen.files import replaced
    from boxpen.report.training.plot import named_folders, read_log, training_svg

    if svg.suffix != ".svg":
        raise NmtError(f"--svg is {svg}, expected a file name that ends in .svg")

    logs = {name: read_log(folder) for name, folder in named_folders(folders).items()}
    drawn = training_svg(logs, metric)
    with replaced(svg, NmtError) as stream:
        stream.write(drawn.encode())
    note(f"plot written to {svg}")


@command(train, "scale")
def scale(
    config: Config,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for models, runs and curve.")],
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE", help="Share of the data; repeatable.", show_default="1/16 to 1"
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUITE", help="Suite to evaluate on; repeatable.", show_default="commonmt"
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option(metavar="NAME", help="How to present items: sound or paper.")
    ] = "sound",
    steps_power: Annotated[
        float,
        typer.Option(metavar="POWER", help="Scale steps by share**POWER (0: same for all)."),
    ] = 0.0,
    train_only: Annotated[bool, typer.Option("--train-only", help="Skip evaluation.")] = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Score cache.", show_default="in the user's cache folder"
        ),
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train on shares of the data (CommonMT, Figure 5)."""
    from boxpen.errors import NmtError
    from boxpen.nmt.config import read_config
    from boxpen.nmt.data.prepared import prepare_once
    from boxpen.nmt.scale import parse_share, run_scale
    from boxpen.report.training.display import TrainingDisplay
    from boxpen.report.training.scale import scale_notes, scale_svg, scale_table

    if train_only and suite:
        raise NmtError("--suite and --train-only cannot be combined; choose one")
    with together(device) as processes:
        shares = [parse_share(s) for s in share or ["1/16", "1/8", "1/4", "1/2", "1"]]
        given = processes.once(lambda: read_config(config))
        if processes.count > 1:  # or all of them would prepare it
            prepare_once(given, processes, note)
        with contextlib.ExitStack() as shown:
            display = TrainingDisplay(given.train)

            def begin(train: TrainConfig) -> None:  # whose end may be its own
                nonlocal display
                shown.close()
                display = shown.enter_context(TrainingDisplay(train))

            points = run_scale(
                given, shares, suites=[] if train_only else suite or ["commonmt"], out=out,
                device=device, watch=lambda state: display.show(state), begin=begin,
                note=note if processes.chief else lambda _: None, recipe=recipe, cache=cache,
                steps_power=steps_power, plot=scale_svg,
            )  # fmt: skip
    if not processes.chief:
        return
    if json:
        print_json({"points": points})
        return
    screen = console()
    screen.print(scale_table(points))
    for line in scale_notes(points):
        screen.print(line, style="dim", soft_wrap=True)
    drawn = "" if train_only else f", plot in {out / 'scale.svg'}"
    note(f"points in {out / 'scale.json'}{drawn}")
