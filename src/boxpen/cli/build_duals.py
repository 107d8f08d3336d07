"""boxpen build duals: change pairs of sentences a little, and let people say what is right then."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boxpen.cli.build import build
from boxpen.cli.discourse_group import DiscourseGroup
from boxpen.cli.judging import history
from boxpen.cli.output import note, print_json

if TYPE_CHECKING:
    from boxpen.build.duals.review import Reviewed
    from boxpen.build.duals.rows import Row
    from boxpen.judgements import Journal, Judgement

__all__ = [
    "Adjudicator",
    "Divided",
    "Folder",
    "JournalFile",
    "Json",
    "MinJudges",
    "RuleOption",
    "dual_rows",
    "duals",
    "fates",
    "journal_of",
    "reviewed_duals",
    "table_of",
]

duals = typer.Typer(
    cls=DiscourseGroup,
    no_args_is_help=True,
    help="Review duals and write those that judges accept.",
)
build.add_typer(duals, name="duals")

Folder = Annotated[Path, typer.Argument(help="The folder of the build.", metavar="DIR")]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="Where judgements are kept.", show_default="review.jsonl in DIR"
    ),
]
RuleOption = Annotated[
    Literal["majority", "unanimous", "any-reject", "adjudicator"] | None,
    typer.Option(help="How judges who differ decide.", show_default="majority"),
]
Adjudicator = Annotated[
    str | None, typer.Option(help="The judge who decides, for the rule 'adjudicator'.")
]
Divided = Annotated[
    Literal["open", "reject"] | None,
    typer.Option(help="What becomes of ties, and of judges divided.", show_default="open"),
]
MinJudges = Annotated[int | None, typer.Option(help="Fewest judges of a dual.", show_default="1")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@duals.command("write")
def write_duals(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="The suite, a .jsonl file.")],
    name: Annotated[
        str | None,
        typer.Option(help="Of the suite.", show_default="that of the source, with -duals"),
    ] = None,
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    divided: Divided = None,
    min_judges: MinJudges = None,
    unjudged: Annotated[
        bool, typer.Option("--unjudged", help="All duals, as they were proposed.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the duals that people accepted as a suite: each in a block with its original."""
    from boxpen.build.duals.stages import SOURCE
    from boxpen.build.duals.suite import dual_suite, is_dual_suite
    from boxpen.catalog import read_suite, write_suite
    from boxpen.errors import BuildError
    from boxpen.names import check_suite_name

    if out.suffix.lower() != ".jsonl":
        raise BuildError(f"--out is {out}, expected a file that ends in .jsonl")
    check_suite_name(name, "--name")
    _check_place(out, folder, journal)
    options = {"--journal": journal, "--rule": rule, "--adjudicator": adjudicator,
               "--divided": divided, "--min-judges": min_judges}  # fmt: skip
    for option, value in options.items():
        if unjudged and value is not None:
            raise BuildError(
                f"--unjudged and {option} were given together, expected one of them: without "
                "judgements nothing is decided"
            )
    rows = chosen = dual_rows(folder)
    source = read_suite(folder / SOURCE)
    if out.is_file() and not is_dual_suite(out, source):
        raise BuildError(
            f"--out is {out}, which is there and is no suite of duals of '{source.name}' that this "
            "command wrote; expected one, or a file that is not there yet"
        )
    counts: list[dict[str, Any]] = []
    judges: list[int] = []
    if not unjudged:
        _, reviewed = reviewed_duals(rows, folder, journal, rule, adjudicator, divided, min_judges)
        chosen = reviewed.accepted
        judges = [reviewed.decisions[row["id"]].judges for row in chosen]
        counts = fates(rows, reviewed)
        if not chosen:
            raise BuildError(
                f"people accepted none of {len(rows):,} duals: {reviewed.rejected:,} rejected, "
                f"{reviewed.open:,} open; see boxpen build duals status"
            )
    suite = dual_suite(source, chosen, name or f"{source.name}-duals", judges=judges)
    write_suite(suite, out)
    if json:
        print_json({"items": len(suite), "blocks": len(chosen), "hash": suite.hash,
                    "decisions": counts})  # fmt: skip
    note(f"{len(chosen):,} blocks of a pair and its dual written to {out}")


def dual_rows(folder: Path) -> list[Row]:
    """Return the duals that were proposed."""
    from boxpen.build.duals.rows import read_rows
    from boxpen.build.duals.stages import PROPOSALS

    return read_rows(folder / PROPOSALS)


def journal_of(path: Path | None, folder: Path) -> Journal:
    """Return the journal of a build."""
    from boxpen.judgements import Journal

    return Journal(path or folder / "review.jsonl")


def reviewed_duals(
    rows: list[Row],
    folder: Path,
    journal: Path | None,
    rule: str | None,
    adjudicator: str | None,
    divided: str | None,
    min_judges: int | None,
) -> tuple[tuple[Judgement, ...], Reviewed]:
    """Return all judgements, and what follows from them."""
    from boxpen.build.duals.review import review_duals
    from boxpen.judgements import Rule

    kept = journal_of(journal, folder)
    given = history(kept)
    how = Rule(
        rule or "majority",
        otherwise="reject" if divided == "reject" else None,
        adjudicator=adjudicator,
    )
    how.check(given, kept.path)
    return given, review_duals(rows, given, how, 1 if min_judges is None else min_judges)


def fates(rows: list[Row], reviewed: Reviewed) -> list[dict[str, Any]]:
    """Return what became of the duals of every operation."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        verdict = reviewed.decisions[row["id"]].verdict or "open"
        found.setdefault(row["operation"], Counter())[verdict] += 1
    found["all"] = sum(found.values(), Counter())
    names = ("accept", "relabel", "reject", "open")
    return [{"operation": key, **{n: of[n] for n in names}} for key, of in found.items()]


def _check_place(out: Path, folder: Path, journal: Path | None) -> None:
    """Refuse to write a suite over a file of the build, or over what people have judged."""
    from boxpen.atomic import resolved
    from boxpen.build.duals.stages import FILES
    from boxpen.errors import BuildError

    held = {folder / name: holds for name, holds in FILES.items()}
    for kept in (journal_of(journal, folder), journal_of(None, folder)):
        held[kept.path] = "the judgements"
    place = resolved(out, BuildError)
    for path, holds in held.items():
        if place == resolved(path, BuildError):
            raise BuildError(f"--out is {out}, which holds {holds}, expected another file")


def table_of(rows: list[tuple[str, ...]]) -> Any:
    """Return a table to be printed; the names of its columns come first."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in rows[0]:
        number = rows[1:] and all(row[rows[0].index(column)].isdigit() for row in rows[1:])
        table.add_column(column, justify="right" if number else "left")
    for row in rows[1:]:
        table.add_row(*row)
    return table
