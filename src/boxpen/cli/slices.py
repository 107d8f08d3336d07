"""boxpen slices: the results of runs, by tag, by length, or by two of these at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, print_json
from boxpen.metrics.choice import Interval
from boxpen.report.plain_table import plain_table

__all__ = ["slices"]


@app.command()
def slices(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...")],
    by: Annotated[
        list[str] | None,
        typer.Option(help="A tag, 'length', 'source length', or two: 'set x length'."),
    ] = None,
    interval: Annotated[
        Interval, typer.Option(help="Wilson intervals, or a bootstrap over blocks.")
    ] = "wilson",
    trend: Annotated[
        bool, typer.Option("--trend", help="Test whether accuracy rises or falls with --by.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With --trend: print Markdown.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show results by tag or length; by all of them without --by."""
    from boxpen.analysis.slices import cut, cuts
    from boxpen.errors import RunError
    from boxpen.metrics.summary import estimates
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    if trend and not by:
        raise RunError("--trend requires --by with the name of a numeric tag")
    if markdown and (json or not trend):
        raise RunError("--markdown requires --trend, and cannot be combined with --json")
    if trend and interval != "wilson":
        raise RunError(
            f"--interval {interval} cannot be combined with --trend, which always uses Wilson "
            "intervals"
        )
    if trend:
        _show_trends(runs, by or [], markdown=markdown, json=json)
        return
    rows = []
    for path in run_directories(runs):
        run = Run.load(path)
        divided = {name: cut(run, name) for name in by} if by else cuts(run)
        for name, parts in divided.items():
            for value, verdicts in parts.items():
                rows.append(
                    {
                        "suite": run.suite_title,
                        "model": run.info.model.name,
                        "cut": name,
                        "value": value,
                        "n": len(verdicts),
                        "share": len(verdicts) / len(run.verdicts),
                        **{m: e._asdict() for m, e in estimates(verdicts, interval)},
                        "signature": run.signature,
                    }
                )
    if json:
        print_json({"slices": rows})
        return
    _print(rows)


def _show_trends(paths: list[Path], by: list[str], *, markdown: bool, json: bool) -> None:
    from boxpen.analysis.trends import trends
    from boxpen.report.trends import trends_markdown, trends_object, trends_terminal
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    runs = [Run.load(path) for path in run_directories(paths)]
    found = [(run, [one for name in by for one in trends(run, name)]) for run in runs]
    if json:
        print_json({"trends": trends_object(found)})
    elif markdown:
        print(trends_markdown(found), end="")
    else:
        screen = console()
        for part in trends_terminal(found):
            screen.print(part)


def _print(rows: list[dict[str, object]]) -> None:
    from rich.text import Text

    screen = console()
    heads: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for row in rows:
        heads.setdefault((row["suite"], row["model"], row["cut"]), []).append(row)
    for (suite, model, name), some in heads.items():
        title = Text.assemble((f"{suite}", "bold"), " × ", (f"{model}", "bold"), f" by {name}")
        table = plain_table(title, gap=1)
        table.add_column(str(name), overflow="fold")
        for column in ("n", "of all", "accuracy [95 %]", "chance", "consist.", "both", "blocks"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in some:
            table.add_row(
                Text(str(row["value"])), f"{row['n']:,}", f"{row['share']:.0%}",
                _shown(row, "accuracy", interval=True), _shown(row, "chance"),
                _shown(row, "consistency"), _shown(row, "both_right"),
                _count(row.get("consistency")),
            )  # fmt: skip
        screen.print(table)
        screen.print()


def _count(estimate: object) -> str:
    return f"{estimate['n']:,}" if isinstance(estimate, dict) else ""


def _shown(row: dict[str, object], metric: str, *, interval: bool = False) -> str:
    from boxpen.report.numbers import DASH, too_few_blocks

    estimate = row.get(metric)
    if not isinstance(estimate, dict) or not estimate["n"]:
        return ""
    if too_few_blocks(metric, estimate["n"]):
        return DASH
    value = f"{estimate['value']:.3f}"
    return f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]" if interval else value
