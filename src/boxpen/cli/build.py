"""boxpen build: make suites of raw data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from boxpen.cli.app import app
from boxpen.cli.output import console, note, print_json, progress_bar

if TYPE_CHECKING:
    from boxpen.build.kg.pipeline import Done

__all__ = ["build"]


class _Whole(TyperGroup):
    """A group whose first word may also be a file: then all stages are done."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and _is_file(args[0]):
            args = ["all", *args]
        return super().resolve_command(ctx, args)


def _is_file(word: str) -> bool:
    """Say whether a word is meant as a file, and not as a stage that was misspelt."""
    return Path(word).exists() or "." in word or "/" in word


build = typer.Typer(no_args_is_help=True, help="Make suites of raw data.")
kg = typer.Typer(
    cls=_Whole,
    no_args_is_help=True,
    help="Make tests of a knowledge graph: boxpen build kg CONFIG does all stages.",
)
app.add_typer(build, name="build")
build.add_typer(kg, name="kg")


@kg.callback()
def _kg() -> None:
    """Make tests of a knowledge graph: boxpen build kg CONFIG does all stages."""
    from boxpen.build.libraries import need_libraries

    need_libraries()


Config = Annotated[Path, typer.Argument(help="The TOML file that says what is built.")]
Force = Annotated[bool, typer.Option("--force", help="Do it even if nothing has changed.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@kg.command("all")
def all_stages(config: Config, force: Force = False, json: Json = False) -> None:
    """Do every stage that is not up to date, and say what each has done."""
    _build(config, None, force=force, json=json)


def _stage(name: str, text: str) -> None:
    def command(config: Config, force: Force = False, json: Json = False) -> None:
        _build(config, name, force=force, json=json)

    command.__doc__ = text
    kg.command(name)(command)


_stage("read", "Read the graphs into one table of triples: triples.parquet, broken.parquet.")
_stage("filter", "Drop what is no use, each with its reason: filtered.parquet, dropped.parquet.")
_stage("rank", "Put triples into words and rank them by a language model: ranked.parquet.")
_stage("sample", "Draw triples of every relation: sampled.parquet.")
_stage("accept", "Take what the judges of the review accepted: accepted.parquet.")
_stage("negatives", "Draw wrong tails for every triple: negatives.parquet.")
_stage("render", "Put triples into templates: tests.parquet, and the suite itself.")


@kg.command("example")
def example() -> None:
    """Print a configuration to start from."""
    from boxpen.build.kg.config import EXAMPLE

    print(EXAMPLE, end="")


@kg.command("dropped")
def dropped(
    config: Config,
    step: Annotated[str | None, typer.Option(help="Only what this step dropped.")] = None,
    relation: Annotated[str | None, typer.Option(help="Only triples of this relation.")] = None,
    limit: Annotated[int, typer.Option(help="How many to print; 0 for all.", min=0)] = 20,
    json: Json = False,
) -> None:
    """List the triples that were dropped, with the step and the reason."""
    from boxpen.build.kg.config import read_config
    from boxpen.build.kg.dropped import dropped_triples

    rows, total = dropped_triples(read_config(config), step=step, relation=relation, limit=limit)
    if json:
        print_json({"total": total, "dropped": rows})
        return
    for row in rows:
        print("\t".join(str(row[k]) for k in ("step", "reason", "relation", "head", "tail")))
    note(f"{len(rows):,} of {total:,} dropped triple(s)")


@kg.command("forms")
def forms(
    templates: Annotated[
        list[Path] | None, typer.Option(help="Template files of your own, besides boxpen's.")
    ] = None,
    json: Json = False,
) -> None:
    """Count the surface forms of every task and relation."""
    from boxpen.build.kg.templates import form_counts, load_templates

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


def _build(config: Path, stage: str | None, *, force: bool, json: bool) -> None:
    from boxpen.build.kg.config import read_config
    from boxpen.build.kg.pipeline import build_kg
    from boxpen.errors import BuildError

    settings = read_config(config)
    done: list[Done] = []
    try:
        with progress_bar() as progress:
            done.extend(build_kg(settings, stage=stage, force=force, progress=progress))
    except BuildError:
        if not json:
            _print(done)  # what came before tells why the next stage failed
        raise
    if json:
        print_json([{"stage": d.stage, "done_now": d.fresh, **d.report} for d in done])
    else:
        _print(done)


def _print(done: list[Done]) -> None:
    screen = console()
    for each in done:
        screen.print(_headline(each), markup=False)
        for table in _tables(each):
            screen.print(table)


def _headline(done: Done) -> str:
    how = "" if done.fresh else " (up to date)"
    return f"{done.stage}{how}: {done.report['says']}"


def _tables(done: Done) -> list[Any]:
    """Return what a stage took, by step and relation, as tables."""
    from boxpen.report.plain_table import plain_table

    steps = done.report.get("steps")
    if not steps:
        return []
    table = plain_table()
    table.add_column("  step")
    for column in ("dropped", "left"):
        table.add_column(column, justify="right")
    for step in steps:
        table.add_row(f"  {step['step']}", f"{step['dropped']:,}", f"{step['left']:,}")
    return [table]
