"""boxpen build duals export, import and status: people say which duals are good."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from boxpen.cli.build_duals import (
    Adjudicator,
    Divided,
    Folder,
    JournalFile,
    Json,
    MinJudges,
    RuleOption,
    dual_rows,
    duals,
    fates,
    journal_of,
    reviewed_duals,
    table_of,
)
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
from boxpen.cli.output import console, note, print_json
from boxpen.cli.several import Several

__all__ = ["export_sheet", "import_answers", "show_status"]


@duals.command("export", cls=Several)
def export_sheet(
    folder: Folder,
    judge: Annotated[str, typer.Option(help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(help="The sheet, a .csv file.")],
    journal: JournalFile = None,
    sample: Annotated[int | None, typer.Option(help="So many duals, drawn at random.")] = None,
    order: Annotated[
        Literal["score", "given", "random", "own"],
        typer.Option(help="Most fluent first; as proposed; shuffled; shuffled for each judge."),
    ] = "own",
    blind: Annotated[
        bool, typer.Option("--blind", help="Do not show fluency and reasons of the rules.")
    ] = False,
    judges: Annotated[
        list[str] | None, typer.Option(help="All judges, if each dual is judged by some of them.")
    ] = None,
    each: Annotated[int | None, typer.Option(help="How many of them judge a dual.")] = None,
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Annotated[int, typer.Option(help="Seed of samples, lots and orders.")] = 0,
) -> None:
    """Write a sheet of the duals that a judge has not judged yet."""
    from boxpen.build.duals.review import questions
    from boxpen.errors import BuildError
    from boxpen.names import check_judge
    from boxpen.review import (
        assigned,
        disagreements,
        latest,
        of_these_texts,
        open_questions,
        ordered,
        sampled,
    )

    if (each is None) != (not judges):
        raise BuildError("--each and --judges were not given together, expected both or neither")
    for name in judges or ():
        check_judge(name, "--judges")
    check_sheet(judge, out, overwrite=overwrite)
    asked = questions(dual_rows(folder))
    given, _ = of_these_texts(history(journal_of(journal, folder)), asked)
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
    write_questions(out, chosen, judge, what="dual", said=said, blind=blind)


@duals.command("import")
def import_answers(
    folder: Folder,
    sheets: Annotated[list[Path], typer.Argument(help="Sheets, filled in.", metavar="SHEET...")],
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.build.duals.review import VERDICTS, questions
    from boxpen.names import check_judge
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    kept = journal_of(journal, folder)
    found = import_sheets(
        sheets, questions(dual_rows(folder)), VERDICTS, kept, judge=judge, time=time
    )  # fmt: skip
    show_imported(found, kept, json=json)


@duals.command("status")
def show_status(
    folder: Folder,
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    divided: Divided = None,
    min_judges: MinJudges = None,
    json: Json = False,
) -> None:
    """Show how far judges are, what they accept of every operation, and where they differ."""
    from boxpen.build.duals.review import questions
    from boxpen.review import agreement_table, disagreements, of_these_texts

    rows = dual_rows(folder)
    given, reviewed = reviewed_duals(rows, folder, journal, rule, adjudicator, divided, min_judges)
    asked = questions(rows)
    current, outdated = of_these_texts(given, asked)
    agreement = agreement_table(current, {q.item: q.part for q in asked})
    differ = disagreements(current)
    judges = progress(current)
    counts = fates(rows, reviewed)
    if json:
        print_json(
            {
                "duals": len(rows),
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
        screen.print(f"{name}: {number} of {len(rows)} judged", markup=False)
    columns = ("operation", "accept", "relabel", "reject", "open")
    table = [tuple(str(row[name]) for name in columns) for row in counts]
    screen.print(table_of([columns, *table]))
    show_agreement(screen, agreement)
    show_disagreements(screen, differ)
    if outdated:
        note(f"{outdated} judgement(s) of texts that have changed since: left out")
