"""boxpen translate: translate sentences from a file or stdin."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Device
from boxpen.cli.output import note, progress_bar, unescaped
from boxpen.errors import NmtError
from boxpen.files import replaced, resolved

__all__ = ["translate"]


@command(app, "translate", panel="Train")
def translate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model folder or hf:NAME.")],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="File with one sentence per line.", show_default="stdin"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Output file, written atomically.", show_default="stdout"
        ),
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
    scores: Annotated[
        bool, typer.Option("--scores", help="Print SCORE, a tab and the translation.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Translate sentences from a file or stdin.

    Translates input from a terminal or a pipe as it arrives.
    """
    from boxpen.nmt.translator import Translator, check_settings, checkpoint_of
    from boxpen.text.stream import LineStream

    check_settings(beam=beam, length_penalty=length_penalty, tokens=tokens, device=device)
    folder = Path(checkpoint_of(model)).resolve()
    stream = LineStream(source)
    if out is not None and stream.is_file(out):
        raise NmtError(f"--out {out} is the input file; choose another file")
    if out is not None and folder in resolved(out, NmtError).parents:
        raise NmtError(f"--out {out} is inside the model folder; choose another folder")
    translator = Translator(
        model, beam=beam, length_penalty=length_penalty, tokens=tokens, context=context,
        scores=scores, device=device,
    )  # fmt: skip
    hidden = not sys.stderr.isatty() or (out is None and sys.stdout.isatty())
    with contextlib.ExitStack() as stack:
        progress = None if hidden or not stream.size else stack.enter_context(progress_bar())
        file = None if out is None else stack.enter_context(replaced(out, NmtError))
        # Raw for another program, escaped for a terminal.
        shown = sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout)
        for lines in stream.windows(translator.window):
            text = translator.translate(lines)
            if file is not None:
                file.write(text.encode())
            else:
                shown.write(text)
                shown.flush()
            if progress is not None and stream.size:
                progress("bytes translated", stream.read, stream.size)
    if translator.truncated:
        which = "sentence(s)" if context is None else "sentence(s) or contexts of sentences"
        note(
            f"{translator.truncated:,} {which} exceeded the model's maximum length and were "
            "truncated"
        )
