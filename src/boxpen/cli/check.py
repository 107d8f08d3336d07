"""boxpen check: a quality gate for CI."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Json, Runs
from boxpen.cli.output import note, print_json
from boxpen.errors import RunError

__all__ = ["check"]


@command(app, "check", panel="Evaluate")
def check(
    runs: Runs,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="BOUND",
            help="Bound such as 'accuracy>=0.6' or 'set=LA:both_right>0.3'; repeatable.",
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="TOML file with rules.", metavar="FILE")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Run or folder of runs to compare with.", metavar="RUN")
    ] = None,
    allow_sample: Annotated[
        bool, typer.Option("--allow-sample", help="Accept runs on a sample (run --limit).")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Check runs against rules; exit with status 1 on failure."""
    from boxpen.report.numbers import too_few_blocks
    from boxpen.runs.directory import run_directories
    from boxpen.runs.rulefile import read_rules
    from boxpen.runs.rules import check_runs, parse_bound
    from boxpen.runs.run import Run

    wanted = [parse_bound(text) for text in minimum or ()]
    wanted += read_rules(rules) if rules is not None else []
    if not wanted:
        raise RunError("nothing to check; give --min or --rules")
    places = run_directories(runs)
    loaded = [Run.load(path) for path in places]
    sampled = [path for path, run in zip(places, loaded, strict=True) if run.sample_note]
    if sampled and not allow_sample:
        raise RunError(
            f"{sampled[0]} is a run on a sample of the suite; rerun without --limit, or give "
            "--allow-sample"
        )
    known = run_directories([baseline]) if baseline is not None else []
    own = {path.resolve() for path in places} & {path.resolve() for path in known}
    if own:
        raise RunError(f"{min(own)} is both a run to check and a baseline")
    outcomes = check_runs(loaded, wanted, [Run.load(path) for path in known])
    if junit is not None:
        from boxpen.report.formats.junit import write_junit

        write_junit(outcomes, junit)
    passed = all(o.passed for o in outcomes)
    names = {id(run): path for run, path in zip(loaded, places, strict=True)}
    if json:
        shown = [
            {
                "run": str(names[id(o.run)]),
                "rule": str(o.rule),
                "passed": o.passed,
                **asdict(o.row),
                "baseline": None if o.baseline is None else asdict(o.baseline),
                "p": o.p,
            }
            for o in outcomes
        ]
        print_json({"passed": passed, "checks": shown})
    else:
        for o in outcomes:
            verdict = "ok  " if o.passed else "FAIL"
            print(f"{verdict} {names[id(o.run)].resolve().name} {o.rule}: {o}")
    for o in outcomes:
        if too_few_blocks(o.row.metric, o.row.n):
            note(f"{names[id(o.run)]}: {o.row.metric} of {o.row.slice} rests on {o.row.n} block(s)")
    for run in loaded:
        if not any(o.run is run for o in outcomes):
            note(f"no rule applies to {names[id(run)]}")
    if not passed:
        raise typer.Exit(1)
