"""boxpen compare: which system is better, and is the difference significant?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Json, Runs
from boxpen.cli.output import console, note, print_json, print_lines
from boxpen.errors import RunError

__all__ = ["compare"]


@command(app, "compare", panel="Look")
def compare(
    runs: Runs,
    force: Annotated[
        bool, typer.Option("--force", help="Compare runs with different settings.")
    ] = False,
    common: Annotated[
        bool, typer.Option("--common", help="Compare only items common to all runs of a suite.")
    ] = False,
    items: Annotated[int, typer.Option(min=0, help="Show N items on which two runs differ.")] = 0,
    json: Json = False,
) -> None:
    """Compare systems on the same items with paired tests.

    Uses the exact McNemar test for independent items and an exact randomisation test for blocks;
    p-values are corrected for the number of pairs (Holm).
    """
    from boxpen.report.differing import differing_lines, pairs_notes, pairs_table
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
        screen.print(pairs_table(suite, [pair for pair in pairs if pair.suite == suite]))
    for line in pairs_notes(pairs, loaded):
        note(f"• {line}")
    print("\ndifference: accuracy of A minus that of B; A>B: items on which A scored higher")
    for pair in pairs if items else ():
        print_lines(screen, differing_lines(pair, loaded, items))
