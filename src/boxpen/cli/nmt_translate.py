"""boxpen nmt translate: translate sentences from a file or stdin."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from boxpen.cli.device import Device, check_device
from boxpen.cli.nmt import nmt
from boxpen.cli.output import note, unescaped
from boxpen.cli.sentences import Sentences
from boxpen.errors import NmtError
from boxpen.files import replaced, resolved
from boxpen.nmt.limits import MOST_BEAM, MOST_PENALTY

__all__ = ["translate"]

_TOKENS = 100_000_000


@nmt.command()
def translate(
    model: Annotated[str, typer.Argument(help="Model folder or hf:NAME.")],
    source: Annotated[
        Path | None, typer.Argument(help="File with one sentence per line (default: stdin).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file, written atomically (default: stdout).")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Beam size.", show_default="the model's")] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(help="Exponent of the length penalty.", show_default="the model's"),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Maximum tokens per batch, including beams.", show_default="by device"),
    ] = None,
    context: Annotated[
        Literal["lines", "none"] | None,
        typer.Option(
            help="Context for context-aware models: previous lines (an empty line ends a document) "
            "or none."
        ),
    ] = None,
    scores: Annotated[bool, typer.Option(help="Print SCORE, a tab and the translation.")] = False,
    device: Device = "auto",
) -> None:
    """Translate sentences from a file or stdin.

    Translates input from a terminal or a pipe as it arrives.
    """
    for name, value, most in (("beam", beam, MOST_BEAM), ("tokens", tokens, _TOKENS)):
        if value is not None and not 1 <= value <= most:
            raise NmtError(f"--{name} is {value}, expected 1 to {most:,}")
    if length_penalty is not None and not -MOST_PENALTY <= length_penalty <= MOST_PENALTY:
        raise NmtError(
            f"--length-penalty is {length_penalty:g}, expected {-MOST_PENALTY:g} to "
            f"{MOST_PENALTY:g}"
        )
    check_device(device)
    checkpoint = _checkpoint(model)
    sentences = Sentences(source)
    if out is not None and sentences.is_file(out):
        raise NmtError(f"--out {out} is the input file; choose another file")
    if out is not None and Path(checkpoint).resolve() in resolved(out, NmtError).parents:
        raise NmtError(f"--out {out} is inside the model folder; choose another folder")
    import torch

    from boxpen.nmt.loading import load_model
    from boxpen.nmt.reading import context_limits, reads_context
    from boxpen.nmt.translate import translate_lines
    from boxpen.text.documents import LinesBefore

    loaded, tokenizer = load_model(checkpoint)
    if reads_context(loaded) != (context is not None):
        raise NmtError(
            f"{model} reads context; give --context lines or --context none"
            if context is None
            else f"--context is {context}, but {model} does not read context; leave it out"
        )
    passed = LinesBefore(context_limits(loaded.config).context_sentences)

    def contexts_of(lines: list[str]) -> list[str] | None:
        if context is None:
            return None
        return passed.contexts(lines) if context == "lines" else [""] * len(lines)

    cuda = device != "cpu" and torch.cuda.is_available()
    kept = loaded.generation_config
    budget = tokens or (131_072 if cuda else 4_096)
    cut = 0

    def translated(lines: list[str]) -> str:
        nonlocal cut
        made = translate_lines(
            loaded,
            tokenizer,
            lines,
            contexts=contexts_of(lines),
            beam=beam or kept.num_beams or 5,
            length_penalty=kept.length_penalty if length_penalty is None else length_penalty,
            tokens=budget,
            scores=scores,
            device="cuda" if cuda else "cpu",
            dtype=torch.bfloat16 if cuda and loaded.config.model_type != "rnnsearch" else None,
        )
        text = []
        for translation in made:
            cut += translation.cut
            before = f"{translation.score:.4f}\t" if scores else ""
            text.append(f"{before}{translation.text}\n")
        return "".join(text)

    # At least ten batches or so: enough to group sentences of similar length, and few enough that
    # output appears soon.
    windows = sentences.windows(max(1, budget // 4))
    if out is None:
        # Raw for another program, escaped for a terminal.
        shown = sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout)
        with _translation_progress(sentences, hidden=sys.stdout.isatty()) as progress:
            for lines in windows:
                shown.write(translated(lines))
                shown.flush()
                progress(len(lines))
    else:
        with (
            _translation_progress(sentences) as progress,
            replaced(out, NmtError) as stream,
        ):
            for lines in windows:
                stream.write(translated(lines).encode())
                progress(len(lines))
    if cut:
        which = "sentence(s)" if context is None else "sentence(s) or contexts of sentences"
        note(f"{cut:,} {which} exceeded the model's maximum length and were truncated")


def _checkpoint(model: str) -> str:
    """Return the name for Transformers; only ``hf:NAME`` may refer to the hub."""
    name = model.removeprefix("hf:")
    if name == model and not Path(name).is_dir():
        raise NmtError(f"folder {name} does not exist; expected a model folder or hf:NAME")
    return name


@contextlib.contextmanager
def _translation_progress(
    sentences: Sentences, *, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr if it is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    screen = Console(stderr=True)
    lines = 0
    with Progress(
        TextColumn("{task.fields[lines]:,} lines"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        redirect_stdout=False,
        disable=hidden or not screen.is_terminal or not sentences.size,
    ) as bars:
        task = bars.add_task("", total=sentences.size, lines=0)

        def report(more: int) -> None:
            nonlocal lines
            lines += more
            bars.update(task, completed=sentences.read, lines=lines)

        yield report
