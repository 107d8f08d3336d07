"""boxpen nmt: train and use translation models."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.device import Device, check_device
from boxpen.cli.output import console, note, print_json
from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from boxpen.nmt.config import NmtConfig, TrainConfig
    from boxpen.nmt.data.prepared import Prepared
    from boxpen.training.processes import Processes

__all__ = ["nmt"]

nmt = typer.Typer(no_args_is_help=True, help="Train and use translation models.")
app.add_typer(nmt, name="nmt")

_MOST_PIECES = 1_000_000

Config = Annotated[Path, typer.Argument(help="TOML file; see 'boxpen nmt example'.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@nmt.command()
def example(
    name: Annotated[str, typer.Argument(help="Name of an example; lists them if omitted.")] = "",
) -> None:
    """Print an example configuration, or list the examples."""
    from boxpen.nmt.config import shipped_config, shipped_configs

    print(shipped_config(name) if name else "\n".join(shipped_configs()), end="\n" * (not name))


@nmt.command()
def sizes(
    vocabulary: Annotated[
        int, typer.Option(help="Pieces in each of the two vocabularies.")
    ] = 30_000,
    json: Json = False,
) -> None:
    """Show model sizes and their parameter counts."""
    from boxpen.errors import ModelError
    from boxpen.nmt.sizes import SIZES, new_model, parameters

    if not 3 <= vocabulary <= _MOST_PIECES:
        raise ModelError(f"--vocabulary is {vocabulary}, expected 3 to {_MOST_PIECES:,}")
    import torch

    rows = []
    for architecture, shapes in SIZES.items():
        for size, shape in shapes.items():
            with torch.device("meta"):
                model = new_model(
                    architecture, size, source_vocabulary=vocabulary,
                    target_vocabulary=vocabulary, shared=False, pad=2, eos=0,
                )  # fmt: skip
            rows.append(
                {"architecture": architecture, "size": size, "layers": shape.layers,
                 "width": shape.width, "heads": shape.heads, "parameters": parameters(model)}
            )  # fmt: skip
    if json:
        print_json({"vocabulary": vocabulary, "sizes": rows})
        return

    table = plain_table()
    for column in rows[0]:
        table.add_column(column, justify="left" if column in ("architecture", "size") else "right")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    console().print(table)


@nmt.command()
def train(config: Config, device: Device = "auto", json: Json = False) -> None:
    """Train a model, or resume an interrupted training."""
    from boxpen.cli.training_display import TrainingDisplay
    from boxpen.nmt.config import read_config
    from boxpen.nmt.folder import check_folder

    def checked() -> NmtConfig:
        found = read_config(config)
        check_folder(found)  # before minutes of preparation
        return found

    with _processes(device) as processes:
        given = processes.once(checked)
        data = _prepared(given, processes)
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


@nmt.command()
def export(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    out: Annotated[Path, typer.Option(help="Folder for the CTranslate2 model.")],
    quantization: Annotated[
        str | None, typer.Option(help="int8, int8_float16, float16, bfloat16 …")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Overwrite an existing folder.")] = False,
) -> None:
    """Convert a Transformer to CTranslate2, for fast serving."""
    from boxpen.nmt.export import export_ct2

    export_ct2(model, out, quantization=quantization, overwrite=overwrite)
    note(f"written; use it as ct2:{out}")


@nmt.command()
def plot(
    folders: Annotated[list[Path], typer.Argument(help="Training folders.")],
    svg: Annotated[Path, typer.Option(help="Output file.")],
    metric: Annotated[
        str, typer.Option(help="loss, valid_loss, bleu, learning_rate or tokens_per_second.")
    ] = "valid_loss",
) -> None:
    """Plot training curves."""
    from boxpen.errors import NmtError
    from boxpen.files import replaced
    from boxpen.report.training import read_log, training_svg

    if svg.suffix != ".svg":
        raise NmtError(f"--svg is {svg}, expected a file name that ends in .svg")

    logs = {name: read_log(folder) for name, folder in _told_apart(folders).items()}
    drawn = training_svg(logs, metric)
    with replaced(svg, NmtError) as stream:
        stream.write(drawn.encode())
    note(f"plot written to {svg}")


@nmt.command()
def scale(
    config: Config,
    out: Annotated[Path, typer.Option(help="Folder for models, runs and curve.")],
    share: Annotated[list[str] | None, typer.Option(help="Share of the data; repeatable.")] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(help="Suite to evaluate on; repeatable.", show_default="commonmt"),
    ] = None,
    recipe: Annotated[str, typer.Option(help="How to score suites: sound or paper.")] = "sound",
    steps_power: Annotated[
        float, typer.Option(help="Scale steps by share**POWER (0: same for all).")
    ] = 0.0,
    train_only: Annotated[bool, typer.Option("--train-only", help="Skip evaluation.")] = False,
    cache: Annotated[
        Path | None,
        typer.Option(help="Score cache file.", show_default="in the user's cache folder"),
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Measure the effect of data size (CommonMT, Figure 5)."""
    from boxpen.cli.training_display import TrainingDisplay
    from boxpen.errors import NmtError
    from boxpen.nmt.config import read_config
    from boxpen.nmt.scale import parse_share, run_scale
    from boxpen.report.scale import scale_notes, scale_svg, scale_table

    if train_only and suite:
        raise NmtError("--suite and --train-only cannot be combined; choose one")
    with _processes(device) as processes:
        shares = [parse_share(s) for s in share or ["1/16", "1/8", "1/4", "1/2", "1"]]
        given = processes.once(lambda: read_config(config))
        if processes.count > 1:  # or all of them would prepare it
            _prepared(given, processes)
        with contextlib.ExitStack() as shown:
            display = TrainingDisplay(given.train)

            def begin(train: TrainConfig) -> None:  # whose end may be its own
                nonlocal display
                shown.close()
                display = shown.enter_context(TrainingDisplay(train))

            points = run_scale(
                given, shares, suites=[] if train_only else suite or ["commonmt"], out=out,
                device=device, watch=lambda state: display.show(state), begin=begin,
                note=note if processes.chief else _silent, recipe=recipe, cache=cache,
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
        screen.print(line, style="dim", soft_wrap=True, markup=False)
    drawn = "" if train_only else f", plot in {out / 'scale.svg'}"
    note(f"points in {out / 'scale.json'}{drawn}")


@contextlib.contextmanager
def _processes(device: str) -> Iterator[Processes]:
    """Yield the processes started by ``accelerate launch``; report errors only once."""
    from boxpen.training.processes import Processes, ToldByChiefError

    processes = Processes(device)
    try:
        processes.each(lambda: check_device(device))
        yield processes
    except ToldByChiefError:
        time.sleep(1)  # the launcher kills the others when one exits; let the chief report first
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        if processes.chief:
            raise
        raise typer.Exit(130) from None
    finally:
        processes.part()


def _prepared(config: NmtConfig, processes: Processes) -> Prepared:
    """Prepare the corpus in one process; open it in all of them."""
    from boxpen.nmt.data.prepared import open_prepared, prepare

    if processes.count == 1:
        return prepare(config, note)

    def work() -> None:  # returns nothing: the corpus is too large to send to other processes
        prepare(config, note)

    processes.once(work)
    return processes.each(lambda: open_prepared(config.data))


def _silent(_: str) -> None: ...


def _told_apart(folders: list[Path]) -> dict[str, Path]:
    """Name folders by the shortest path suffix that distinguishes them."""
    found = list(dict.fromkeys(folder.resolve() for folder in folders))
    for count in range(1, 1 + max(len(folder.parts) for folder in found)):
        names = {str(Path(*folder.parts[-count:])): folder for folder in found}
        if len(names) == len(found):
            break
    return names


from boxpen.cli import nmt_translate  # noqa: E402, F401 (it adds its command)
