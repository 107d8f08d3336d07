"""boxpen robust: how much accuracy survives dual tests, and which answers do not change."""

from __future__ import annotations

from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Format, Runs, load_runs
from boxpen.errors import RunError

__all__ = ["robust"]


@command(app, "robust", panel="Look")
def robust(
    runs: Runs,
    by: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Tag with the operation, if the suite names none."),
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="Show unchanged answers, most confident first.")
    ] = False,
    top: Annotated[int | None, typer.Option(help="With --items: first N only.", min=1)] = None,
    *,
    form: Format,
) -> None:
    """Show how answers hold up when items change slightly.

    Shows, by operation and overall: accuracy on originals and on duals, both right, how much of the
    accuracy survives, and how often both sides got the same answer although the truth flips.
    """
    from boxpen.report import robustness as shown

    if top is not None and not items:
        raise RunError("--top requires --items")
    found = shown.robust_runs(load_runs(runs), by)
    form.show_page(
        found,
        lambda found: shown.robust_object(found, items=items, top=top),
        shown.robust_page(found, items=items, top=top),
    )
