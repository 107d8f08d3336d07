"""boxpen check: a quality gate for CI."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Format, TrustRemoteCode
from boxpen.cli.output import note, print_json, progress_bar
from boxpen.errors import RunError

if TYPE_CHECKING:
    from boxpen.exchange.gate import CheckedGate, Gate

__all__ = ["check"]


@command(app, "check", panel="Evaluate")
def check(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Run directories or folders of them.",
            show_default="the table [run] of --rules",
        ),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="BOUND",
            help="Bound such as 'accuracy>=0.6' or 'set=LA:both_right>0.3'; repeatable.",
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Gate file: TOML with rules.", metavar="FILE")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Run or folder of runs to compare with.", metavar="RUN")
    ] = None,
    allow_sample: Annotated[
        bool, typer.Option("--allow-sample", help="Accept runs on a sample (run --limit).")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Without RUN: folder for run directories.", metavar="FOLDER", show_default="runs"
        ),
    ] = None,
    trust_remote_code: TrustRemoteCode = False,  # noqa: ARG001 (see TrustRemoteCode)
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML.", metavar="FILE")
    ] = None,
    *,
    form: Format,
) -> None:
    """Check runs against rules; exit with status 1 on failure.

    Without RUN: first run the table [run] of the gate file.
    """
    from boxpen.exchange.gate import Gate, read_gate
    from boxpen.runs.rules import parse_bound

    bounds = tuple(parse_bound(text) for text in minimum or ())
    gate = read_gate(rules) if rules is not None else Gate()
    gate = replace(gate, rules=bounds + gate.rules, baseline=baseline or gate.baseline)
    if not gate.rules:
        raise RunError("nothing to check; give --min or --rules")
    checked = _checked(gate, runs or [], rules, out, allow_sample=allow_sample)
    if junit is not None:
        from boxpen.report.formats.junit import write_junit

        write_junit(checked.outcomes, junit)
    _show(checked, form)
    if not checked.passed:
        raise typer.Exit(1)


def _checked(
    gate: Gate, runs: list[Path], rules: Path | None, out: Path | None, *, allow_sample: bool
) -> CheckedGate:
    if runs:
        if out is not None:
            raise RunError("--out only works without RUN; leave it out")
        return gate.check_saved(runs, allow_sample=allow_sample)
    if gate.run is None:
        where = "a gate file" if rules is None else rules
        raise RunError(f"nothing to run; name a RUN to check, or add a table [run] to {where}")
    if out is not None:
        gate = replace(gate, run=replace(gate.run, out=out))
    with progress_bar() as progress:
        return gate.check(note, progress)


def _show(checked: CheckedGate, form: Format) -> None:
    from boxpen.report.numbers import too_few_blocks

    outcomes = checked.outcomes
    if form.json:
        shown = [
            {
                "run": str(checked.place(o.run)),
                "rule": str(o.rule),
                "passed": o.passed,
                **asdict(o.row),
                "baseline": None if o.baseline is None else asdict(o.baseline),
                "p": o.p,
            }
            for o in outcomes
        ]
        print_json({"passed": checked.passed, "checks": shown})
    elif form.markdown:
        from boxpen.report.formats.outcomes import outcomes_markdown

        print(outcomes_markdown(outcomes), end="")
    else:
        for o in outcomes:
            verdict = "ok  " if o.passed else "FAIL"
            print(f"{verdict} {checked.place(o.run).resolve().name} {o.rule}: {o}")
    for o in outcomes:
        if too_few_blocks(o.row.metric, o.row.n):
            place = checked.place(o.run)
            note(f"{place}: {o.row.metric} of {o.row.slice} rests on {o.row.n} block(s)")
    for run in checked.runs:
        if not any(o.run is run for o in outcomes):
            note(f"no rule applies to {checked.place(run)}")
