"""boxpen slices: the numbers of runs, divided by a tag, a length, or two things at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, print_json
from boxpen.metrics.choice import Interval

__all__ = ["slices"]


@app.command()
def slices(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...")],
    by: Annotated[
        list[str] | None,
        typer.Option(help="A tag, 'length', 'source length', or two: 'set x length'."),
    ] = None,
    interval: Annotated[
        Interval, typer.Option(help="Wilson's, or a bootstrap over blocks.")
    ] = "wilson",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Divide the items of runs, and show the numbers of each part; by everything, if not told."""
    from boxpen.analysis.slices import cut, cuts
    from boxpen.metrics.summary import estimates
    from boxpen.rundir import run_directories
    from boxpen.runs import Run

    rows = []
    for path in run_directories(runs):
        run = Run.load(path)
        divided = {name: cut(run, name) for name in by} if by else cuts(run)
        for name, parts in divided.items():
            for value, verdicts in parts.items():
                rows.append(
                    {
                        "suite": run.about["suite"]["name"],
                        "model": run.about["model"]["name"],
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


def _print(rows: list[dict[str, object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console()
    heads: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for row in rows:
        heads.setdefault((row["suite"], row["model"], row["cut"]), []).append(row)
    for (suite, model, name), some in heads.items():
        title = Text.assemble((f"{suite}", "bold"), " × ", (f"{model}", "bold"), f" by {name}")
        table = Table(
            title=title, title_justify="left", title_style="", box=None, pad_edge=False,
            padding=(0, 1, 0, 0),
        )  # fmt: skip
        table.add_column(str(name), overflow="fold")
        for column in ("n", "of all", "accuracy [95 %]", "chance", "consist.", "both"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in some:
            table.add_row(
                Text(str(row["value"])), f"{row['n']:,}", f"{row['share']:.0%}",
                _shown(row.get("accuracy"), interval=True), _shown(row.get("chance")),
                _shown(row.get("consistency")), _shown(row.get("both_right")),
            )  # fmt: skip
        screen.print(table)
        screen.print()


def _shown(estimate: object, *, interval: bool = False) -> str:
    if not isinstance(estimate, dict) or not estimate["n"]:
        return ""
    value = f"{estimate['value']:.3f}"
    return f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]" if interval else value
