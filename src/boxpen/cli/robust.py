"""boxpen robust: how much of an accuracy survives dual tests, and which answers do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, print_json

__all__ = ["robust"]


@app.command()
def robust(
    runs: Annotated[
        list[Path], typer.Argument(help="Run directories on dual suites.", metavar="RUN...")
    ],
    by: Annotated[
        str | None,
        typer.Option(help="The tag of operations, where a suite is not known to be one of duals."),
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="Show every answer that was kept, the surest first.")
    ] = False,
    top: Annotated[int | None, typer.Option(help="With --items: only so many.", min=1)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what is left of the answers of runs when an item is changed a little.

    By operation and in all: accuracy on originals and on duals, both right, how much of the
    accuracy survives, and where one answer was given to both sides although the truth flips.
    """
    from boxpen.errors import RunError
    from boxpen.report.robustness import (
        robust_markdown,
        robust_object,
        robust_runs,
        robust_terminal,
    )
    from boxpen.rundir import run_directories
    from boxpen.runs import Run

    if json and markdown:
        raise RunError("--json and --markdown were given together, expected one of them")
    if top is not None and not items:
        raise RunError("--top goes with --items, expected both or none")
    found = robust_runs([Run.load(path) for path in run_directories(runs)], by)
    if json:
        print_json(robust_object(found, items=items, top=top))
    elif markdown:
        print(robust_markdown(found, items=items, top=top), end="")
    else:
        screen = console()
        for part in robust_terminal(found, items=items, top=top):
            screen.print(part)
