"""boxpen report, rescore and check: what run directories say, without a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import print_json, print_runs, runs_object
from boxpen.errors import RunError
from boxpen.scoring.policy import Norm, Ties

if TYPE_CHECKING:
    from boxpen.runs import Run

__all__ = ["check", "report", "rescore"]

Runs = Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def report(
    runs: Runs,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Json = False,
) -> None:
    """Show the numbers of runs."""
    from boxpen.runs import Run

    _show([Run.load(path) for path in runs], runs, markdown=markdown, json=json)


@app.command()
def rescore(
    runs: Runs,
    norm: Annotated[Norm | None, typer.Option(help="What a score is divided by.")] = None,
    ties: Annotated[Ties | None, typer.Option(help="What a tie earns.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also keep the result here.")] = None,
    json: Json = False,
) -> None:
    """Decide runs again under another norm or tie rule; no model is needed."""
    from boxpen.runs import Run

    changed = [Run.load(path).rescore(norm=norm, ties=ties) for path in runs]
    places = runs if out is None else [run.save(out) for run in changed]
    _show(changed, places, markdown=False, json=json)


@app.command()
def check(
    runs: Runs,
    minimum: Annotated[
        list[str],
        typer.Option("--min", help="A bound: 'accuracy>=0.6', 'set=LA:both_right>0.3'."),
    ],
) -> None:
    """Exit with status 1 if a number of a run is not what it should be."""
    from boxpen.runs import Run

    bounds = [_bound(text) for text in minimum]
    failed = False
    for path in runs:
        rows = {(r.slice, r.metric): r for r in Run.load(path).summary()}
        for text, (place, metric, operator, limit) in zip(minimum, bounds, strict=True):
            row = rows.get((place, metric))
            if row is None:
                raise RunError(f"{path} has no {metric} for {place}, as '{text}' asks")
            fine = row.value >= limit if operator == ">=" else row.value > limit
            failed |= not fine
            verdict = "ok  " if fine else "FAIL"
            print(f"{verdict} {path.name} {text}: {row.value:.4f} [{row.low:.4f}, {row.high:.4f}]")
    if failed:
        raise typer.Exit(1)


def _bound(text: str) -> tuple[str, str, str, float]:
    match = re.fullmatch(
        r"(?:(.+):)?\s*(\w+)\s*(>=|>)\s*(\d+\.?\d*(?:[eE]-?\d+)?|\.\d+)", text.strip()
    )
    if match is None:
        raise RunError(f"--min is {text!r}, expected something like 'accuracy>=0.6'")
    return match[1] or "all", match[2], match[3], float(match[4])


def _show(runs: list[Run], places: list[Path], *, markdown: bool, json: bool) -> None:
    if json:
        print_json(runs_object(runs, places))
    elif markdown:
        from boxpen.report.markdown import run_markdown

        print("\n".join(run_markdown(r) for r in runs))
    else:
        print_runs(runs, places)
