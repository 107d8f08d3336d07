"""boxpen build discourse: make a suite of discourse phenomena from subtitles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boxpen.cli.build import build
from boxpen.cli.output import OverwriteFile, console, note, print_json, progress_bar
from boxpen.cli.path_error_group import PathErrorGroup

if TYPE_CHECKING:
    from boxpen.build.kg.pipeline import Done

__all__ = ["discourse"]

discourse = typer.Typer(
    cls=PathErrorGroup,
    no_args_is_help=True,
    help="Make a suite of pronouns, connectives and ellipsis from English-Chinese subtitles.",
)
build.add_typer(discourse, name="discourse")

Config = Annotated[Path, typer.Argument(help="The TOML file that says what is built.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StageName = Literal["read", "mine", "sample", "accept", "write"]


@discourse.command("run")
def run(
    config: Config,
    stage: Annotated[StageName | None, typer.Option(help="Only this stage.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Do it even if nothing has changed.")
    ] = False,
    json: Json = False,
) -> None:
    """Do every stage that is not up to date, and say what each has done."""
    from boxpen.build.discourse.config import read_config
    from boxpen.build.discourse.pipeline import build_discourse
    from boxpen.errors import BoxpenError

    settings = read_config(config)
    done: list[Done] = []
    try:
        with progress_bar() as bar:
            done.extend(build_discourse(settings, stage=stage, force=force, progress=bar))
    except BoxpenError:
        if not json:
            _print(done)  # what came before tells why the next stage failed
        raise
    finally:
        for torn in filter(None, (each.report.get("torn") for each in done)):
            note(torn)
    if json:
        print_json([{"stage": d.stage, "done_now": d.fresh, **d.report} for d in done])
    else:
        _print(done)


@discourse.command("example")
def example() -> None:
    """Print a configuration to start from."""
    from boxpen.build.discourse.config import EXAMPLE

    print(EXAMPLE, end="")


@discourse.command("contrast")
def add_contrasts(
    suite: Annotated[
        str, typer.Argument(help="A suite by name or .jsonl file, with classes as tags.")
    ],
    out: Annotated[Path, typer.Option(help="The suite with contrasts, a .jsonl file.")],
    overwrite: OverwriteFile = False,
    json: Json = False,
) -> None:
    """Add wrong translations to the items of a suite that have none, by exchange of the word."""
    from boxpen.atomic import check_free
    from boxpen.build.discourse.contrast import with_contrasts
    from boxpen.catalog import load_suite, write_suite
    from boxpen.errors import BuildError
    from boxpen.names import check_name

    check_name(suite, "SUITE")
    _check_files(suite, out)
    check_free(out, BuildError, overwrite=overwrite)
    before = load_suite(suite)
    check_name(before.name, f"the name of the suite in {suite}")
    after = with_contrasts(before)
    write_suite(after, out)
    counts: dict[str, list[int]] = {}
    for item in after:
        shown = " ".join(dict.fromkeys(item.tags[t] for t in ("set", "class") if t in item.tags))
        count = counts.setdefault(shown or "all", [0, 0])
        count[0] += 1
        count[1] += bool(getattr(item, "contrast", ()))
    if json:
        print_json([{"class": n, "items": a, "contrastive": b} for n, (a, b) in counts.items()])
    else:
        for name, (items, contrastive) in counts.items():
            print(f"{name}\t{contrastive} of {items}")
    note(f"{len(after)} items written to {out}")


def _check_files(suite: str, out: Path) -> None:
    """Refuse to read or write another form of a suite, and to write over the one that is read."""
    from boxpen.catalog.files import FORMATS
    from boxpen.errors import BuildError

    path = Path(suite)
    ending = path.suffix.lower()
    if ending != ".jsonl" and (ending in FORMATS or path.name != suite):
        raise BuildError(f"SUITE is {suite}, expected the name of a suite, or a .jsonl file")
    if out.suffix.lower() != ".jsonl":
        raise BuildError(f"--out is {out}, expected a file that ends in .jsonl")
    if out.exists() and path.exists() and out.samefile(path):
        raise BuildError(f"--out is {out}, the suite that is read, expected another file")


def _print(done: list[Done]) -> None:
    screen = console()
    for each in done:
        how = "" if each.fresh else " (up to date)"
        screen.print(f"{each.stage}{how}: {each.report['says']}", markup=False)
        if left_out := _left_out(each.report):
            screen.print(f"  left out: {left_out}", markup=False)
        for columns in (_steps(each.report), _classes(each.report)):
            if columns:
                screen.print(_table(columns))


def _left_out(report: dict[str, Any]) -> str:
    """Return what a stage dropped for reasons that are no rules of the filter; empty if nothing."""
    drawn = report.get("left_out", {})
    overlap = {tuple(w.rsplit(", ", 1)): count for w, count in report.get("overlap", {}).items()}
    counts = {
        "below min_score": report.get("low_score", 0),
        **{f"in {suite} ({side})": count for (suite, side), count in overlap.items()},
        "duplicates": report.get("duplicates", 0),
        "of a sentence that was drawn": drawn.get("sentence", 0),
        "over per_document": drawn.get("document", 0),
        "judgements of texts that have changed since": report.get("outdated", 0),
    }
    return ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)


def _steps(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return what every rule took, with the names of the columns first."""
    if "steps" not in report:
        return []
    rows = [(s["step"], f"{s['dropped']:,}", f"{s['left']:,}") for s in report["steps"]]
    return [("  rule", "dropped", "left"), *rows]


def _classes(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return how many candidates every class has, with the names of the columns first."""
    if "classes" not in report:
        return []
    pool = report.get("pool")
    head = ("  class", "found", "kept") if pool else ("  class", "candidates")
    rows = [
        (name, f"{count:,}", *([f"{pool[name]:,}"] if pool else []))
        for name, count in report["classes"].items()
    ]
    return [head, *rows]


def _table(rows: list[tuple[str, ...]]) -> Any:
    from boxpen.report.plain_table import plain_table

    table = plain_table()
    for place, column in enumerate(rows[0]):
        table.add_column(column, justify="right" if place else "left")
    for first, *numbers in rows[1:]:
        table.add_row(f"  {first}", *numbers)
    return table
