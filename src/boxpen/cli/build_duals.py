"""boxpen build duals: make small changes to pairs of sentences, for people to review."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boxpen.cli.build import build
from boxpen.cli.multi_value_option import MultiValueCommand
from boxpen.cli.output import console, note, print_json, progress_bar
from boxpen.cli.path_error_group import PathErrorGroup

if TYPE_CHECKING:
    from boxpen.build.kg.pipeline import Done

__all__ = ["duals"]

duals = typer.Typer(
    cls=PathErrorGroup,
    no_args_is_help=True,
    help="Make dual tests: pairs of sentences with words added, deleted, replaced or swapped.",
)
build.add_typer(duals, name="duals")

Folder = Annotated[
    Path, typer.Argument(help="The folder of 'boxpen build duals propose'.", metavar="DIR")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@duals.command("propose", cls=MultiValueCommand)
def propose_duals(
    suite: Annotated[str, typer.Argument(help="A suite by name or file: cats.sm.")],
    out: Annotated[Path, typer.Option(help="The folder for all files of the build.")],
    model: Annotated[
        str, typer.Option(help="The language model that ranks by fluency; none ranks nothing.")
    ] = "smollm2",
    operation: Annotated[
        list[str] | None, typer.Option(help="Only these: add, del, sub, swap.")
    ] = None,
    top: Annotated[int, typer.Option(help="Duals of every pair and operation.")] = 2,
    min_fluency: Annotated[
        float, typer.Option(help="Least change of the log-probability per token.")
    ] = -1.0,
    sample: Annotated[int | None, typer.Option(help="Sample N pairs.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    device: Annotated[str | None, typer.Option(help="Where the model computes.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Do it even if nothing has changed.")
    ] = False,
    json: Json = False,
) -> None:
    """Propose duals of the sentence pairs of a suite, with the label that is expected and why."""
    from boxpen.build.duals.work import RECORD, DualsConfig, build_duals
    from boxpen.catalog import load_suite

    config = DualsConfig(
        model=model, operations=tuple(operation or ()), top=top, least=min_fluency, sample=sample,
        seed=seed, device=device,
    )  # fmt: skip
    try:
        found = load_suite(suite)
        with progress_bar() as bar:
            done = build_duals(found, out, config, force=force, progress=bar)
    except KeyboardInterrupt:
        if (out / RECORD).exists():
            raise
        note("boxpen: interrupted before anything was done; the same command begins anew")
        raise typer.Exit(130) from None
    if json:
        print_json([{"stage": d.stage, "done_now": d.fresh, **d.report} for d in done])
        return
    _print(done)


@duals.command("unchanged")
def show_unchanged(
    folder: Folder,
    operation: Annotated[str | None, typer.Option(help="Only of this operation.")] = None,
    limit: Annotated[int, typer.Option(help="How many to print; 0 for all.", min=0)] = 20,
    json: Json = False,
) -> None:
    """List the pairs that an operation could not change, with the reason; then what is no pair."""
    from boxpen.build.duals.propose import check_operation
    from boxpen.build.duals.unchanged import left_unchanged

    if operation is not None:
        check_operation(operation)
    pairs, others = left_unchanged(folder, operation)
    chosen = [*pairs, *others]
    shown = chosen[:limit] if limit else chosen
    if json:
        print_json(
            {
                "total": len(chosen),
                "no_pairs": len(others),
                "unchanged": [asdict(one) for one in shown],
            }
        )
        return
    for one in shown:
        print("\t".join((one.item, one.operation or "all", one.reason)))
    no_pairs = f"; {len(others):,} item(s) that are no pairs come last" if others else ""
    note(f"{min(len(shown), len(pairs)):,} of {len(pairs):,} pair(s) and operation(s) without a "
         f"dual{no_pairs}")  # fmt: skip


def _print(done: list[Done]) -> None:
    screen = console()
    for each in done:
        how = "" if each.fresh else " (up to date)"
        screen.print(f"{each.stage}{how}: {each.report['says']}", markup=False)
    left = {
        "item(s) that are no pairs": done[0].report["no_pairs"],
        # A build of an earlier version that is up to date does not say.
        "pair(s) of which no dual is fluent enough": done[-1].report.get("lost", 0),
    }
    told = ", ".join(f"{count:,} {what}" for what, count in left.items() if count)
    if told:
        screen.print(f"left out: {told}", markup=False)
    names = ("operation", "edit", "expected", "duals")
    kinds = [tuple(str(row[name]) for name in names) for row in done[-1].report["duals"]]
    screen.print(_table([names, *kinds]))
    unchanged = done[0].report["unchanged"]
    if unchanged:
        screen.print("\nNo rule can change:", markup=False)
    for row in unchanged:
        screen.print(f"  {row['pairs']:,}: {row['reason']}", markup=False)


def _table(rows: list[tuple[str, ...]]) -> Any:
    """Return a table to be printed; the names of its columns come first."""
    from boxpen.report.plain_table import plain_table

    table = plain_table()
    for column in rows[0]:
        number = rows[1:] and all(row[rows[0].index(column)].isdigit() for row in rows[1:])
        table.add_column(column, justify="right" if number else "left")
    for row in rows[1:]:
        table.add_row(*row)
    return table
