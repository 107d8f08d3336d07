"""boxpen build duals: change pairs of sentences a little, and let people say what is right then."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boxpen.cli.build import build
from boxpen.cli.discourse_group import DiscourseGroup
from boxpen.cli.judging import history
from boxpen.cli.output import console, note, print_json, progress_bar
from boxpen.cli.several import Several

if TYPE_CHECKING:
    from boxpen.build.duals.review import Reviewed
    from boxpen.build.duals.rows import Row
    from boxpen.build.kg.pipeline import Done
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
    help="Make dual tests: pairs of sentences with words added, deleted, replaced or swapped.",
)
build.add_typer(duals, name="duals")

Folder = Annotated[
    Path, typer.Argument(help="The folder of 'boxpen build duals propose'.", metavar="DIR")
]
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


@duals.command("propose", cls=Several)
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
    sample: Annotated[int | None, typer.Option(help="So many pairs, drawn at random.")] = None,
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
    from boxpen.build.duals.suite import dual_suite, is_dual_suite
    from boxpen.build.duals.work import SOURCE
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
    from boxpen.build.duals.work import PROPOSALS

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
    from boxpen.build.duals.work import FILES
    from boxpen.errors import BuildError

    held = {folder / name: holds for name, holds in FILES.items()}
    for kept in (journal_of(journal, folder), journal_of(None, folder)):
        held[kept.path] = "the judgements"
    place = resolved(out, BuildError)
    for path, holds in held.items():
        if place == resolved(path, BuildError):
            raise BuildError(f"--out is {out}, which holds {holds}, expected another file")


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
    screen.print(table_of([names, *kinds]))
    unchanged = done[0].report["unchanged"]
    if unchanged:
        screen.print("\nNo rule can change:", markup=False)
    for row in unchanged:
        screen.print(f"  {row['pairs']:,}: {row['reason']}", markup=False)


def table_of(rows: list[tuple[str, ...]]) -> Any:
    """Return a table to be printed; the names of its columns come first."""
    from boxpen.report.plain_table import plain_table

    table = plain_table()
    for column in rows[0]:
        number = rows[1:] and all(row[rows[0].index(column)].isdigit() for row in rows[1:])
        table.add_column(column, justify="right" if number else "left")
    for row in rows[1:]:
        table.add_row(*row)
    return table
