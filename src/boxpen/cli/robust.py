"""boxpen robust: how much accuracy survives dual tests, and which answers do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import print_json, print_page

__all__ = ["robust"]


@app.command()
def robust(
    runs: Annotated[list[Path], typer.Argument(help="Runs on suites of duals.", metavar="RUN...")],
    by: Annotated[
        str | None,
        typer.Option(help="Tag that names the operation, if the suite does not say."),
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="Show unchanged answers, most confident first.")
    ] = False,
    top: Annotated[int | None, typer.Option(help="With --items: first N only.", min=1)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show how answers hold up when items change slightly.

    Shows, by operation and overall: accuracy on originals and on duals, both right, how much of the
    accuracy survives, and how often both sides got the same answer although the truth flips.
    """
    from boxpen.errors import RunError
    from boxpen.report.robustness import robust_object, robust_page, robust_runs
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    if json and markdown:
        raise RunError("--json and --markdown cannot be combined; choose one")
    if top is not None and not items:
        raise RunError("--top requires --items")
    found = robust_runs([Run.load(path) for path in run_directories(runs)], by)
    if json:
        print_json(robust_object(found, items=items, top=top))
    else:
        print_page(robust_page(found, items=items, top=top), markdown=markdown)
