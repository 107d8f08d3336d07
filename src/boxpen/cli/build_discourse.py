"""boxpen build discourse: make a suite of discourse phenomena from subtitles."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from boxpen.cli.build import build
from boxpen.cli.discourse_group import DiscourseGroup
from boxpen.cli.judging import (
    Disputed,
    Everything,
    JudgedAt,
    JudgedBy,
    Overwrite,
    check_sheet,
    history,
    progress,
    show_agreement,
    show_disagreements,
    show_imported,
    write_questions,
)
from boxpen.cli.output import OverwriteFile, console, note, print_json
from boxpen.cli.several import Several

if TYPE_CHECKING:
    from boxpen.build.discourse.config import DiscourseConfig
    from boxpen.build.discourse.pool import Row

__all__ = ["discourse"]

discourse = typer.Typer(
    cls=DiscourseGroup,
    no_args_is_help=True,
    help="Review candidates and add contrasts to suites.",
)
build.add_typer(discourse, name="discourse")

Config = Annotated[Path, typer.Argument(help="The TOML file that says what is built.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@discourse.command("export", cls=Several)
def export_sheet(
    config: Config,
    judge: Annotated[str, typer.Option(help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(help="The sheet, a .csv file.")],
    sample: Annotated[int | None, typer.Option(help="So many items, drawn at random.")] = None,
    order: Annotated[
        Literal["score", "given", "random", "own"],
        typer.Option(help="Best first; as drawn; shuffled; shuffled for each judge."),
    ] = "own",
    blind: Annotated[
        bool, typer.Option("--blind", help="Do not show scores and reasons of the rules.")
    ] = False,
    judges: Annotated[
        list[str] | None, typer.Option(help="All judges, if each item is judged by some of them.")
    ] = None,
    each: Annotated[int | None, typer.Option(help="How many of them judge an item.")] = None,
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Annotated[int, typer.Option(help="Seed of samples, lots and orders.")] = 0,
) -> None:
    """Write a sheet of the drawn candidates that a judge has not judged yet."""
    from boxpen.build.discourse.review import questions
    from boxpen.errors import BuildError
    from boxpen.judgements import (
        Journal,
        assigned,
        disagreements,
        latest,
        of_these_texts,
        open_questions,
        ordered,
        sampled,
    )
    from boxpen.names import check_judge

    if (each is None) != (not judges):
        raise BuildError("--each and --judges were not given together, expected both or neither")
    for name in judges or ():
        check_judge(name, "--judges")
    check_sheet(judge, out, overwrite=overwrite)
    settings, rows = _drawn(config)
    asked = questions(rows)
    given, _ = of_these_texts(history(Journal(settings.journal)), asked)
    said = latest(given)
    asked = sampled(asked, sample, seed)
    if judges and each is not None:
        asked = assigned(asked, judge, judges, each, seed)
    if disputed:
        others = [one for one in given if one.judge != judge]
        divided = {found.item for found in disagreements(others)}
        asked = [question for question in asked if question.item in divided]
    if not everything:
        asked = open_questions(asked, said, judge)
    chosen = ordered(asked, order, judge, seed)
    write_questions(out, chosen, judge, what="item", said=said, blind=blind)


@discourse.command("import")
def import_answers(
    config: Config,
    sheets: Annotated[list[Path], typer.Argument(help="Sheets, filled in.", metavar="SHEET...")],
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.build.discourse.review import VERDICTS, checked_edit, questions
    from boxpen.judgements import Journal, import_sheets
    from boxpen.names import check_judge

    check_judge(judge, "--judge")
    settings, rows = _drawn(config)
    by_id = {row["id"]: row for row in rows}
    journal = Journal(settings.journal)
    found = import_sheets(
        sheets, questions(rows), VERDICTS, journal, judge=judge, time=time,
        canonical=lambda line: checked_edit(line, by_id),
    )  # fmt: skip
    show_imported(found, journal, json=json)


@discourse.command("status")
def show_status(config: Config, json: Json = False) -> None:
    """Show how far judges are, how far they agree, and where they differ."""
    from boxpen.build.discourse.review import questions, review_candidates
    from boxpen.build.discourse.work import review_rule
    from boxpen.judgements import Journal, agreement_table, disagreements, of_these_texts

    settings, rows = _drawn(config)
    given = history(Journal(settings.journal))
    least = settings.review.min_judges if settings.review is not None else 1
    rule = review_rule(settings)
    rule.check(given, settings.journal)
    reviewed = review_candidates(rows, given, rule, least)
    asked = questions(rows)
    current, outdated = of_these_texts(given, asked)
    agreement = agreement_table(current, {q.item: q.part for q in asked})
    differ = disagreements(current)
    judges = progress(current)
    verdicts = [decision.verdict or "open" for decision in reviewed.decisions.values()]
    counts = {name: verdicts.count(name) for name in ("accept", "edit", "reject", "open")}
    if json:
        print_json(
            {
                "items": len(asked),
                "judges": judges,
                "decisions": counts,
                "outdated": outdated,
                "agreement": [asdict(row) for row in agreement],
                "disagreements": [asdict(one) for one in differ],
            }
        )
        return
    screen = console()
    for name, number in judges.items():
        screen.print(f"{name}: {number} of {len(asked)} judged", markup=False)
    screen.print(", ".join(f"{what} {number}" for what, number in counts.items()), markup=False)
    show_agreement(screen, agreement)
    show_disagreements(screen, differ)
    if outdated:
        note(f"{outdated} judgement(s) of texts that have changed since: left out")


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


def _drawn(config: Path) -> tuple[DiscourseConfig, list[Row]]:
    """Return a configuration, and the candidates that were drawn."""
    from boxpen.build.discourse.config import read_config
    from boxpen.build.discourse.work import read_rows

    settings = read_config(config)
    return settings, read_rows(settings.folder / "sampled.parquet")
