"""boxpen human: human answers to a suite as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import print_json, print_runs, runs_object

__all__ = ["human"]


@app.command()
def human(
    suite: Annotated[str, typer.Argument(help="A suite, a part of one (cats.sm), or a file.")],
    answers: Annotated[
        Path, typer.Argument(help="A .csv or .tsv file: item, judge, answer; or item, judges …")
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the system.", show_default="human (N judges)"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the run directory goes.")] = Path("runs"),
    min_judges: Annotated[int, typer.Option(help="Fewest judges of an item.")] = 3,
    start: Annotated[int, typer.Option(help="Number of the first candidate.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a run of human answers: accuracy of the majority, and how far the judges agree."""
    from boxpen.catalog import load_suite
    from boxpen.review.human_run import human_run

    run = human_run(load_suite(suite), answers, name=name, min_judges=min_judges, start=start)
    place = run.save(out)
    if json:
        shown = runs_object([run], [place])
        shown["runs"][0]["human"] = run.info.to_json()["human"]
        print_json(shown)
    else:
        print_runs([run], [place])
