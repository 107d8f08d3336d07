"""boxpen slices: the results of runs, by tag, by length, or by two of these at once."""

from __future__ import annotations

from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Format, Runs, load_runs
from boxpen.errors import RunError
from boxpen.metrics.choice import Interval

__all__ = ["slices"]


@command(app, "slices", panel="Look")
def slices(
    runs: Runs,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TAG",
            help="A tag, length, source length, word class, or two: 'set x length'; repeatable.",
            show_default="all",
        ),
    ] = None,
    interval: Annotated[
        Interval, typer.Option(help="Wilson intervals, or a bootstrap over blocks.")
    ] = "wilson",
    trend: Annotated[
        bool, typer.Option("--trend", help="Test whether accuracy rises or falls with --by.")
    ] = False,
    *,
    form: Format,
) -> None:
    """Show results by tag or length."""
    from boxpen.analysis.slices import slice_rows
    from boxpen.analysis.trends import trends
    from boxpen.report import trends as shown
    from boxpen.report.slices import slices_terminal

    if trend and not by:
        raise RunError("--trend requires --by with the name of a numeric tag")
    if form.markdown and not trend:
        raise RunError("--markdown requires --trend")
    if trend and interval != "wilson":
        raise RunError(
            f"--interval {interval} cannot be combined with --trend, which always uses Wilson "
            "intervals"
        )
    loaded = load_runs(runs)
    if trend:
        found = [(run, [one for name in by or () for one in trends(run, name)]) for run in loaded]
        page = shown.trends_page(found)
        form.show_page(found, lambda found: {"trends": shown.trends_object(found)}, page)
        return
    rows = [row for run in loaded for row in slice_rows(run, by or (), interval)]
    form.show(rows, lambda rows: {"slices": rows}, slices_terminal)
