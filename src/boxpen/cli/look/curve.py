"""boxpen curve: how a metric changes with the amount of training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Json
from boxpen.cli.output import console, note, print_json
from boxpen.errors import RunError
from boxpen.files import replaced

__all__ = ["curve"]


@command(app, "curve", panel="Look")
def curve(
    runs: Annotated[
        list[str],
        typer.Argument(help="Training size and run: 100k=runs/a 1M=runs/b.", metavar="SIZE=RUN"),
    ],
    metric: Annotated[str, typer.Option(help="Metric to plot.", metavar="NAME")] = "accuracy",
    by: Annotated[
        str | None, typer.Option(help="Draw one curve per value: set, length.", metavar="TAG")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the plot to this file.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Show a metric by amount of training data."""
    from boxpen.analysis.curve import curves, parse_size
    from boxpen.report.curve import curve_object, curve_svg, curve_table
    from boxpen.runs.run import Run

    loaded = []
    for text in runs:
        size, sign, path = text.partition("=")
        if not sign:
            raise RunError(f"'{text}' has no size; expected SIZE=RUN, like 100k=runs/a")
        loaded.append((parse_size(size), Run.load(Path(path))))
    found = curves(loaded, metric, by)
    if svg is not None:
        with replaced(svg, RunError) as stream:
            stream.write(curve_svg(found, metric=metric).encode())
        note(f"plot written to {svg}")
    if json:
        print_json(curve_object(found, metric))
    else:
        console().print(curve_table(found, metric))
