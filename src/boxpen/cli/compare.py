"""boxpen compare: which system is better, and is the difference significant?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, note, print_json, print_lines
from boxpen.errors import RunError
from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from boxpen.metrics.compare import Pair

__all__ = ["compare"]


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...")],
    force: Annotated[
        bool, typer.Option("--force", help="Compare runs with different settings.")
    ] = False,
    common: Annotated[
        bool, typer.Option("--common", help="Compare only items common to all runs of a suite.")
    ] = False,
    items: Annotated[int, typer.Option(min=0, help="Show N items on which two runs differ.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare systems on the same items with paired tests.

    Uses the exact McNemar test for independent items and an exact randomisation test for blocks;
    p-values are corrected for the number of pairs (Holm).
    """
    from boxpen.report.differing import differing_lines, noise_note
    from boxpen.runs.comparison import compare as compared
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    places = run_directories(runs)
    resolved = [path.resolve() for path in places]
    if again := next((p for n, p in enumerate(places) if resolved[n] in resolved[:n]), None):
        raise RunError(f"the same run is given twice: {again}")
    loaded = [Run.load(path) for path in places]
    pairs = compared(*loaded, force=force, common=common)
    if json:
        print_json({"pairs": [asdict(p) | {"difference": p.difference._asdict()} for p in pairs]})
        return
    screen = console()
    for suite in dict.fromkeys(pair.suite for pair in pairs):
        screen.print(_table(suite, [pair for pair in pairs if pair.suite == suite]))
    for suite, pair in {p.suite: p for p in pairs}.items():
        most = max(len(r.verdicts) for r in loaded if suite in (r.suite_title, r.info.suite.name))
        if pair.n < most:
            note(f"• {suite}: {pair.n:,} items common to all runs, out of up to {most:,}")
    for pair in pairs:
        if pair.noise is not None:
            note(f"• {pair.suite}: {noise_note(pair)}")
    print("\ndifference: accuracy of A minus that of B; A>B: items on which A scored higher")
    for pair in pairs if items else ():
        print_lines(screen, differing_lines(pair, loaded, items))


def _table(suite: str, pairs: list[Pair]) -> object:
    from rich.text import Text

    from boxpen.report.numbers import p_value

    table = plain_table(suite, gap=1)
    for column in ("A", "B"):
        table.add_column(column, overflow="fold")
    for column in ("n", "A>B", "B>A", "difference [95 %]", "p", "Holm"):
        table.add_column(column, justify="right", no_wrap=True)
    for p in pairs:
        d = p.difference
        table.add_row(
            Text(p.a),
            Text(p.b),
            f"{p.n:,}",
            str(p.only_a),
            str(p.only_b),
            f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}]",
            p_value(p.p),
            p_value(p.adjusted),
            style="bold" if p.adjusted < 0.05 else "",
        )
    return table
