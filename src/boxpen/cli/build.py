"""boxpen build: make suites from raw data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boxpen.cli.app import app
from boxpen.cli.multi_value_option import MultiValueCommand
from boxpen.cli.output import console, note, print_json, progress_bar
from boxpen.cli.path_error_group import PathErrorGroup

if TYPE_CHECKING:
    from boxpen.build.runner import Done, Report

__all__ = ["build"]

build = typer.Typer(cls=PathErrorGroup, no_args_is_help=True, help="Build suites from raw data.")
kg = typer.Typer(no_args_is_help=True, help="Count templates.")
app.add_typer(build, name="build")
build.add_typer(kg, name="kg")


@kg.callback()
def _kg() -> None:
    """Count templates."""
    from boxpen.build.libraries import need_libraries

    need_libraries()


Config = Annotated[
    Path, typer.Argument(help="TOML file; see 'boxpen build example'.", metavar="CONFIG")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@build.command("run")
def run(
    config: Config,
    stage: Annotated[str | None, typer.Option(help="Run this stage only.", metavar="STAGE")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run stages even if up to date.")] = False,
    json: Json = False,
) -> None:
    """Run the stages of a build that are out of date."""
    from boxpen.build.builders import open_build
    from boxpen.errors import BoxpenError

    builder, settings = open_build(config)
    done: list[Done] = []
    try:
        with progress_bar() as progress:
            done.extend(builder.runner(settings, progress).run(stage, force=force))
    except BoxpenError:
        if not json:
            _print(done)  # earlier stages explain why this one failed
        raise
    finally:
        for each in done:
            for warning in each.report.get("warnings", ()):
                note(warning)
    if json:
        print_json([{"stage": d.stage, "done_now": d.fresh, **d.report} for d in done])
    else:
        _print(done)


@build.command("status")
def status(config: Config, json: Json = False) -> None:
    """Show which stages are up to date, and why others are not."""
    from boxpen.build.builders import open_build

    builder, settings = open_build(config)
    states = builder.runner(settings).status()
    if json:
        print_json(
            [{"stage": s.stage, "up_to_date": not s.reason, "reason": s.reason or None,
              "seconds": s.seconds, "report": s.report} for s in states]
        )  # fmt: skip
        return
    screen = console()
    for state in states:
        says = f"; last: {state.report['says']}" if state.report else ""
        told = f"out of date, {state.reason}" if state.reason else "up to date"
        screen.print(f"{state.stage}: {told}{says}", markup=False, soft_wrap=True)


@build.command("dropped", cls=MultiValueCommand)
def dropped(
    config: Config,
    step: Annotated[
        str | None, typer.Option(help="Only rows that this step dropped.", metavar="STEP")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only rows like this: relation=isa.", metavar="KEY=VALUE"),
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows to print; 0 for all.", min=0, metavar="N")] = 20,
    json: Json = False,
) -> None:
    """List what a build dropped, with the step and the reason."""
    from boxpen.build.builders import open_build

    builder, settings = open_build(config)
    rows, total = builder.runner(settings).dropped(step, where=_pairs(where or ()), limit=limit)
    if json:
        print_json({"total": total, "dropped": rows})
        return
    for row in rows:
        shown = [row.get(name) for name in ("step", "reason", *builder.shown)]
        print("\t".join(str(value) for value in shown if value is not None))
    note(f"{len(rows):,} of {total:,} dropped row(s)")


@build.command("example")
def example(
    builder: Annotated[str, typer.Argument(help="kg, discourse, duals or nmt.", metavar="BUILDER")],
) -> None:
    """Print a commented configuration to start from."""
    from boxpen.build.builders import builder_named

    print(builder_named(builder).example, end="")


@kg.command("forms")
def forms(
    templates: Annotated[
        list[Path] | None, typer.Option(help="Template files of your own, besides boxpen's.")
    ] = None,
    json: Json = False,
) -> None:
    """Count the surface forms of every task and relation."""
    from boxpen.build.kg.wording.templates import form_counts, load_templates

    counts = form_counts(load_templates(templates or ()))
    if json:
        print_json([{"task": t, "relation": r, "forms": n} for (t, r), n in counts.items()])
        return
    from boxpen.report.plain_table import plain_table

    tasks = list(dict.fromkeys(task for task, _ in counts))
    table = plain_table()
    table.add_column("relation")
    for task in tasks:
        table.add_column(task, justify="right")
    for relation in dict.fromkeys(relation for _, relation in counts):
        table.add_row(relation, *(str(counts.get((task, relation), "")) for task in tasks))
    console().print(table)


def _pairs(words: Iterable[str]) -> Mapping[str, str]:
    from boxpen.errors import BuildError

    for word in words:
        if not all(word.partition("=")):
            raise BuildError(f"--where is '{word}', expected KEY=VALUE")
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


def _print(done: list[Done]) -> None:
    screen = console()
    for each in done:
        how = "" if each.fresh else " (up to date)"
        for line in (f"{each.stage}{how}: {each.report['says']}", *_notes(each.report)):
            screen.print(line, markup=False, soft_wrap=True)
        for table in _tables(each.report):
            screen.print(table)


def _notes(report: Report) -> list[str]:
    return [f"  {line}" for line in report.get("notes", ())]


def _tables(report: Report) -> list[Any]:
    from boxpen.report.plain_table import plain_table

    tables = []
    for rows in filter(None, (report.get("steps"), report.get("table"))):
        numbers = [isinstance(value, int) for value in rows[0].values()]
        table = plain_table()
        for place, (name, number) in enumerate(zip(rows[0], numbers, strict=True)):
            table.add_column(name if place else f"  {name}", justify="right" if number else "left")
        for row in rows:
            first, *others = (f"{v:,}" if isinstance(v, int) else str(v) for v in row.values())
            table.add_row(f"  {first}", *others)
        tables.append(table)
    return tables
