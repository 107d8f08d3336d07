"""boxpen report and rescore: show and re-evaluate saved runs, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command
from boxpen.cli.options import Json, Markdown, NliOption, NormOption, Runs, TiesOption, load_runs
from boxpen.cli.output import (
    console,
    note,
    print_csv,
    print_json,
    print_matrix,
    print_runs,
    runs_object,
)
from boxpen.errors import RunError

if TYPE_CHECKING:
    from boxpen.runs.run import Run

__all__ = ["report", "rescore"]


@command(app, "report", panel="Look")
def report(
    runs: Runs,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="One row per model, one column per suite.")
    ] = False,
    failures: Annotated[
        bool, typer.Option("--failures", help="Failure rates, one row per relation.")
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Metric for --matrix, --latex and --csv.",
            show_default="accuracy",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Use the values of this tag as columns.", metavar="TAG")
    ] = None,
    markdown: Markdown = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one line per number.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the matrix as LaTeX.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a self-contained HTML page.", metavar="FILE")
    ] = None,
    items: Annotated[
        bool, typer.Option("--items/--no-items", help="Show every item on the page.")
    ] = True,
    to: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            "--to",
            metavar="FORMAT FOLDER",
            help="Write a folder for another tool: eee, hf or inspect.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --to: replace an earlier export.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the results of runs, or write them for another tool."""
    from boxpen.runs.directory import run_directories

    formats = {"matrix": matrix, "markdown": markdown, "csv": csv, "latex": latex, "json": json,
               "html": html is not None, "to": to is not None}  # fmt: skip
    chosen = [name for name, wanted in formats.items() if wanted]
    if len(chosen) > 1:
        raise RunError(f"--{chosen[0]} and --{chosen[1]} cannot be combined; choose one format")
    if overwrite and to is None:
        raise RunError("--overwrite requires --to")
    if failures and (matrix or html is not None or to is not None):
        raise RunError(f"--failures and --{chosen[0]} cannot be combined; choose one table")
    for option, value in (("metric", metric), ("by", by)):
        if value is not None and (failures or not (matrix or csv or latex)):
            raise RunError(f"--{option} requires --matrix, --csv or --latex")
    loaded = load_runs(runs)
    if to is not None:
        from boxpen.exchange import export_runs

        export_runs(loaded, *to, overwrite=overwrite)
        note(f"{len(loaded)} run(s) written to {to[1]}")
        titles = dict.fromkeys(run.suite_title for run in loaded if run.sample_note)
        if titles:
            note(f"• not results of a whole suite: {', '.join(titles)}")
    elif failures:
        _show_failures(loaded, chosen[0] if chosen else "terminal")
    elif matrix or latex:
        _show_matrix(loaded, metric or "accuracy", by, latex=latex)
    elif html is not None:
        _write_html(loaded, html, items=items)
    elif csv:
        from boxpen.report.formats.csv import rows_csv
        from boxpen.report.tables import chosen_rows

        print_csv(rows_csv(chosen_rows(loaded, metric, by)))
    elif markdown:
        from boxpen.report.formats.markdown import run_markdown
        from boxpen.report.recipes import recipes_page

        print("\n".join(map(run_markdown, loaded)))
        if page := recipes_page(loaded):
            print(page.markdown())
    else:
        _show(loaded, run_directories(runs), json=json, where="read from")


@command(app, "rescore", panel="Evaluate")
def rescore(
    runs: Runs,
    norm: NormOption = None,
    ties: TiesOption = None,
    nli: NliOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Also save the results in this folder.", metavar="FOLDER")
    ] = None,
    json: Json = False,
) -> None:
    """Re-evaluate runs with other settings, without a model."""
    from boxpen.runs.directory import run_directories

    loaded = load_runs(runs)
    for run, path in zip(loaded, run_directories(runs), strict=True):
        if run.info.model.kind == "human":
            raise RunError(f"{path} is a run of human answers, which have no scores to re-evaluate")
    changed = [run.rescore(norm=norm, ties=ties, nli=nli) for run in loaded]
    _show(changed, [None if out is None else run.save(out) for run in changed], json=json)


def _show(
    runs: list[Run], places: Sequence[Path | None], *, json: bool, where: str = "kept in"
) -> None:
    if json:
        print_json(runs_object(runs, places))
    else:
        print_runs(runs, places, where=where)


def _show_matrix(runs: list[Run], metric: str, by: str | None, *, latex: bool) -> None:
    if not latex:
        print_matrix(runs, metric, by)
        return
    from boxpen.report.formats.latex import matrix_latex
    from boxpen.report.tables import matrix

    print(matrix_latex(matrix(runs, metric, by), [run.signature for run in runs]), end="")


def _show_failures(runs: list[Run], form: str) -> None:
    from boxpen.report.failures import failure_tables
    from boxpen.report.formats import failures as formats

    tables = failure_tables(runs)
    signatures = list(dict.fromkeys(run.signature for run in runs))
    if form == "json":
        notes = dict.fromkeys(line for table in tables for line in table.notes)
        print_json(
            {
                "failures": formats.failure_records(tables),
                "notes": list(notes),
                "signatures": signatures,
            }
        )
    elif form == "csv":
        print_csv(formats.failures_csv(tables))
    elif form == "latex":
        print(formats.failures_latex(tables, signatures), end="")
    elif form == "markdown":
        print(formats.failures_markdown(tables), end="")
    else:
        screen = console()
        for table in tables:
            for part in formats.failures_terminal(table, screen.width):
                screen.print(part)
                screen.print()
            for line in table.notes:
                note(f"• {line}")
        for line in signatures:
            note(f"signature  {line}")


def _write_html(runs: list[Run], path: Path, *, items: bool) -> None:
    from boxpen.report.html.page import whole_page, write_page

    page, missing = whole_page(runs, items=items)
    write_page(page, path)
    for line in missing:
        note(f"• {line}")
    note(f"{len(runs)} run(s), {len(page) / 1e6:.1f} MB: {path}")
