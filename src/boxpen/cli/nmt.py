"""boxpen nmt: train translation models, and translate with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, note, print_json

if TYPE_CHECKING:
    from boxpen.nmt.training import Course

__all__ = ["nmt"]

nmt = typer.Typer(no_args_is_help=True, help="Train translation models, and translate with them.")
app.add_typer(nmt, name="nmt")

Config = Annotated[Path, typer.Argument(help="A TOML file; see 'boxpen nmt example'.")]
Model = Annotated[str, typer.Argument(help="Folder of a model, or the name of a checkpoint.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@nmt.command()
def example(
    name: Annotated[str, typer.Argument(help="Which of them; without, they are listed.")] = "",
) -> None:
    """Print a configuration to begin with, or the names of those there are."""
    from boxpen.nmt.config import shipped_config, shipped_configs

    print(shipped_config(name) if name else "\n".join(shipped_configs()), end="\n" * (not name))


@nmt.command()
def sizes(
    vocabulary: Annotated[int, typer.Option(help="Pieces of each of two vocabularies.")] = 30_000,
    json: Json = False,
) -> None:
    """Show the sizes of models, and their parameters."""
    from boxpen.errors import ModelError
    from boxpen.nmt.sizes import SIZES, new_model, parameters

    if vocabulary < 3:
        raise ModelError(f"--vocabulary is {vocabulary}, expected 3 or more")
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
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in rows[0]:
        table.add_column(column, justify="left" if column in ("architecture", "size") else "right")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    console().print(table)


@nmt.command()
def prepare(config: Config, json: Json = False) -> None:
    """Read, clean and cut the corpora into subwords; 'train' does this by itself."""
    from boxpen.nmt.config import read_config
    from boxpen.nmt.prepared import prepare as prepared

    made = prepared(read_config(config), note)
    if json:
        print_json(made.counts)
        return
    rules = made.counts["clean"]["rules"]
    for rule, count in rules.items():
        print(f"{rule:<12}{count:>12,}")
    for where, count in made.counts["clean"]["overlap"].items():
        print(f"overlap with {where}: {count:,}")


@nmt.command()
def train(config: Config, device: Device = "auto", json: Json = False) -> None:
    """Train a model, or go on with a training that was stopped."""
    from boxpen.nmt.config import read_config
    from boxpen.nmt.prepared import prepare as prepared
    from boxpen.nmt.training import Training

    given = read_config(config)
    _check_device(device)
    data = prepared(given, note)
    with _watching(given.train.max_steps) as watch:
        result = Training(given, data, device=device, watch=watch, note=note).run()
    if json:
        print_json(result | {"folder": str(given.folder)})
        return
    averaged = f", mean of {len(result['averaged'])} looks" if result["averaged"] else ""
    print(f"validation loss  {result['loss']:.4f}{averaged}")
    if result["bleu"] is not None:
        print(f"validation BLEU  {result['bleu']:.2f}  {result['bleu_signature']}")
    print(
        f"steps            {result['steps']:,} ({result['epochs']:g} epochs, "
        f"{result['tokens']:,} target tokens, {result['seconds']:,.0f} s)"
    )
    print(f"model            hf:{given.folder}")


@nmt.command()
def translate(
    model: Model,
    source: Annotated[
        Path | None, typer.Argument(help="A file, a sentence a line; or stdin.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write here, whole or not at all; or stdout.")
    ] = None,
    beam: Annotated[
        int | None, typer.Option(help="Hypotheses followed.", show_default="the model's")
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Power of the length.", show_default="the model's")
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Tokens of a batch, beams included.", show_default="by device"),
    ] = None,
    scores: Annotated[bool, typer.Option(help="Print SCORE, a tab, and the translation.")] = False,
    device: Device = "auto",
) -> None:
    """Translate sentences, as many as there are, in their order."""
    import torch

    from boxpen.nmt.folder import load_model
    from boxpen.nmt.translate import translate_lines

    _check_device(device)
    loaded, tokenizer = load_model(model)
    cuda = device != "cpu" and torch.cuda.is_available()
    kept = loaded.generation_config
    made = translate_lines(
        loaded,
        tokenizer,
        _input(source),
        beam=beam or kept.num_beams or 5,
        length_penalty=kept.length_penalty if length_penalty is None else length_penalty,
        tokens=tokens or (131_072 if cuda else 4_096),
        scores=scores,
        device="cuda" if cuda else "cpu",
        dtype=torch.bfloat16 if cuda and loaded.config.model_type != "rnnsearch" else None,
    )
    cut = 0

    def lines() -> Iterator[str]:
        nonlocal cut
        for translation in made:
            cut += translation.cut
            before = f"{translation.score:.4f}\t" if scores else ""
            yield f"{before}{translation.text}\n"

    if out is None:
        for line in lines():
            sys.stdout.write(line)
        sys.stdout.flush()
    else:
        from boxpen.atomic import replaced
        from boxpen.nmt.errors import NmtError

        with replaced(out, NmtError) as stream:
            for line in lines():
                stream.write(line.encode())
    if cut:
        note(f"{cut:,} sentence(s) were longer than the model can read, and were cut")


@nmt.command()
def export(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    out: Annotated[Path, typer.Option(help="Folder of the CTranslate2 model.")],
    quantization: Annotated[
        str | None, typer.Option(help="int8, int8_float16, float16, bfloat16 …")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Write over what is there.")] = False,
) -> None:
    """Turn a Transformer into a CTranslate2 model, for fast serving."""
    from boxpen.nmt.export import export_ct2

    export_ct2(model, out, quantization=quantization, overwrite=overwrite)
    note(f"written; use it as ct2:{out}")


@nmt.command()
def plot(
    folders: Annotated[list[Path], typer.Argument(help="Folders of trainings.")],
    svg: Annotated[Path, typer.Option(help="The drawing.")],
    metric: Annotated[
        str, typer.Option(help="loss, valid_loss, bleu, learning_rate or tokens_per_second.")
    ] = "valid_loss",
) -> None:
    """Draw the course of trainings."""
    from boxpen.atomic import replaced
    from boxpen.nmt.errors import NmtError
    from boxpen.report.training import read_log, training_svg

    drawn = training_svg({folder.name: read_log(folder) for folder in folders}, metric)
    with replaced(svg, NmtError) as stream:
        stream.write(drawn.encode())
    note(f"drawn into {svg}")


@nmt.command()
def scale(
    config: Config,
    out: Annotated[Path, typer.Option(help="Folder of the models, the runs and the curve.")],
    share: Annotated[
        list[str] | None, typer.Option(help="Share of the data; again for more.")
    ] = None,
    suite: Annotated[list[str] | None, typer.Option(help="What each model is put to.")] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train on more and more of the data, and see what that does (Figure 5 of CommonMT)."""
    from boxpen.nmt.config import read_config
    from boxpen.nmt.scale import parse_share, run_scale

    _check_device(device)
    shares = [parse_share(s) for s in share or ["1/16", "1/8", "1/4", "1/2", "1"]]
    with _watching(None) as watch:
        points = run_scale(
            read_config(config), shares, suites=suite or ["commonmt"], out=out, device=device,
            watch=watch, note=note,
        )  # fmt: skip
    if json:
        print_json({"points": points})
        return
    note(f"points in {out / 'scale.json'}, drawn into {out / 'scale.svg'}")
    for point in points:
        print(point)


def _check_device(device: str) -> None:
    from boxpen.errors import ModelError

    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device '{device}' is unknown, expected auto, cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ModelError("there is no device 'cuda' here, expected cpu or auto")


def _input(path: Path | None) -> Iterator[str]:
    """Yield the lines of a file or of stdin."""
    from boxpen.nmt.errors import NmtError

    name = "stdin" if path is None else str(path)
    try:
        stream = sys.stdin.buffer if path is None else path.open("rb")
    except OSError as error:
        raise NmtError(f"{name} cannot be read: {error.strerror}") from None
    with stream:
        for number, line in enumerate(stream, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise NmtError(f"{name} line {number} is not UTF-8") from None


class _watching:  # noqa: N801 (used as a function)
    """Show the course of a training on stderr: a line that moves, or plain lines in a file."""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def __enter__(self) -> Any:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        self.live = Live(console=self.console, refresh_per_second=4, transient=False)
        if self.console.is_terminal:
            self.live.__enter__()
        return self._show

    def __exit__(self, *error: object) -> None:
        if self.console.is_terminal:
            self.live.__exit__(None, None, None)

    def _show(self, course: Course) -> None:
        from rich.text import Text

        log = course.log
        steps = f"{course.step:,}" + (f"/{self.last:,}" if self.last else "")
        line = (
            f"step {steps}  epoch {log.get('epoch', 0):.2f}  loss {log.get('loss', 0):.3f}  "
            f"{log.get('tokens_per_second', 0) / 1000:,.0f}k tok/s"
        )
        if course.looks:
            look = course.looks[-1]
            line += f"  | valid {look.valid_loss:.3f}"
            if look.bleu is not None:
                line += f" BLEU {look.bleu:.1f}"
        if self.console.is_terminal:
            self.live.update(Text(line))
        else:
            note(line)
