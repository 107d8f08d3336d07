"""boxpen curve: how a metric changes with the amount of training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, note, print_json
from boxpen.errors import RunError
from boxpen.files import replaced
from boxpen.report.plain_table import plain_table

__all__ = ["curve"]


@app.command()
def curve(
    runs: Annotated[
        list[str],
        typer.Argument(help="Training size and run: 100k=runs/a 1M=runs/b.", metavar="SIZE=RUN..."),
    ],
    metric: Annotated[str, typer.Option(help="Metric to plot.")] = "accuracy",
    by: Annotated[str | None, typer.Option(help="Draw one curve per value: set, length.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the plot to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show a metric by amount of training data."""
    from boxpen.analysis.curve import curves, parse_size
    from boxpen.report.curve import curve_svg
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
        points = [
            {"curve": name, "size": p.size, **p.estimate._asdict()}
            for name, some in found.items()
            for p in some
        ]
        print_json({"metric": metric, "points": points})
        return
    from rich.text import Text

    table = plain_table()
    table.add_column("curve", overflow="fold")
    for column in ("size", "n", f"{metric} [95 %]"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, some in found.items():
        for p in some:
            e = p.estimate
            number = f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
            table.add_row(Text(name), f"{p.size:,.12g}", f"{e.n:,}", number)
    console().print(table)
