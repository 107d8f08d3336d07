"""boxpen build kg review: sheets for judges, their answers, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

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

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.kg.review import Reviewed
    from boxpen.review import Journal, Judgement, Question, Rule

__all__ = ["review"]

review = typer.Typer(no_args_is_help=True, help="Let people judge triples or wrong tails.")


OrderName = Literal["plausibility", "table", "random", "own"]
RuleName = Literal["majority", "unanimous", "any-reject", "adjudicator"]
Table = Annotated[Path, typer.Argument(help="The Parquet file of a stage: DIR/ranked.parquet.")]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="Where judgements are kept.", show_default="review.jsonl beside TABLE"
    ),
]
Wrong = Annotated[bool, typer.Option("--wrong", help="Judge the wrong tails, not the triples.")]
RuleOption = Annotated[RuleName, typer.Option(help="How judges who differ decide.")]
Adjudicator = Annotated[
    str | None, typer.Option(help="The judge who decides, for the rule 'adjudicator'.")
]
Divided = Annotated[
    Literal["open", "reject"], typer.Option(help="What becomes of ties, and of judges divided.")
]
MinJudges = Annotated[int, typer.Option(help="Fewest judges of an item.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@review.command("export", cls=Several)
def export_sheet(
    table: Table,
    judge: Annotated[str, typer.Option(help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(help="The sheet, a .csv file.")],
    journal: JournalFile = None,
    sample: Annotated[int | None, typer.Option(help="So many items, drawn at random.")] = None,
    order: Annotated[
        OrderName | None,
        typer.Option(
            help="Likely-good first; as in the table; shuffled; shuffled for each judge.",
            show_default="plausibility, or own if --blind",
        ),
    ] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Do not show plausibilities.")] = False,
    judges: Annotated[
        list[str] | None, typer.Option(help="All judges, if each item is judged by some of them.")
    ] = None,
    each: Annotated[int | None, typer.Option(help="How many of them judge an item.")] = None,
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Annotated[int, typer.Option(help="Seed of samples, lots and orders.")] = 0,
    wrong: Wrong = False,
) -> None:
    """Write a sheet of what a judge has not judged yet."""
    from boxpen.errors import BuildError
    from boxpen.names import check_judge
    from boxpen.review import (
        Order,
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
    _, questions = _asked(table, wrong)
    given, _ = of_these_texts(history(_journal(journal, table, wrong)), questions)
    said = latest(given)
    questions = sampled(questions, sample, seed)
    if judges and each is not None:
        questions = assigned(questions, judge, judges, each, seed)
    if disputed:
        others = [one for one in given if one.judge != judge]
        divided = {found.item for found in disagreements(others)}
        questions = [question for question in questions if question.item in divided]
    if not everything:
        questions = open_questions(questions, said, judge)
    ways: dict[str, Order] = {"plausibility": "score", "table": "given"}
    ways |= {"random": "random", "own": "own"}
    way = ways[order or ("own" if blind else "plausibility")]
    chosen = ordered(questions, way, judge, seed)
    write_questions(out, chosen, judge, what="item", said=said, blind=blind)


@review.command("import")
def import_answers(
    table: Table,
    sheets: Annotated[list[Path], typer.Argument(help="Sheets, filled in.", metavar="SHEET...")],
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    wrong: Wrong = False,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.build.kg.review import ACCEPTABILITY
    from boxpen.build.kg.review_edits import canonical_edit
    from boxpen.names import check_judge
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    _, questions = _asked(table, wrong)
    by_item = {question.item: question for question in questions}
    kept = _journal(journal, table, wrong)
    found = import_sheets(
        sheets, questions, ACCEPTABILITY, kept, judge=judge, time=time,
        canonical=lambda line: canonical_edit(line, by_item),
    )  # fmt: skip
    show_imported(found, kept, json=json)


@review.command("status")
def show_status(
    table: Table,
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    divided: Divided = "open",
    min_judges: MinJudges = 1,
    wrong: Wrong = False,
    json: Json = False,
) -> None:
    """Show how far judges are, how far they agree, and where they differ."""
    from boxpen.review import agreement_table, disagreements, of_these_texts

    frame, questions = _asked(table, wrong)
    given, how = _ruled(_journal(journal, table, wrong), rule, adjudicator, divided)
    reviewed = _reviewed(frame, given, how, min_judges, wrong)
    current, _ = of_these_texts(given, questions)
    agreement = agreement_table(current, {q.item: q.part for q in questions})
    differ = disagreements(current)
    judges = progress(current)
    counts = _counts(reviewed)
    if json:
        print_json(
            {
                "items": len(questions),
                "judges": judges,
                "decisions": counts,
                "outdated": reviewed.outdated,
                "agreement": [asdict(row) for row in agreement],
                "disagreements": [asdict(one) for one in differ],
                "open": {
                    item: d.reason for item, d in reviewed.decisions.items() if d.verdict is None
                },
            }
        )
        return
    screen = console()
    for name, number in judges.items():
        screen.print(f"{name}: {number} of {len(questions)} judged", markup=False)
    screen.print(", ".join(f"{what} {number}" for what, number in counts.items()), markup=False)
    show_agreement(screen, agreement)
    show_disagreements(screen, differ)
    _note_outdated(reviewed)


@review.command("apply")
def apply_review(
    table: Table,
    out: Annotated[Path, typer.Option(help="The Parquet file of what is accepted.")],
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    divided: Divided = "open",
    min_judges: MinJudges = 1,
    wrong: Wrong = False,
) -> None:
    """Write what judges accept, beside it what they drop (-dropped) and what is open (-open)."""
    from boxpen.atomic import resolved
    from boxpen.build.kg.triples import write_table
    from boxpen.errors import BuildError

    frame, _ = _asked(table, wrong)
    if resolved(out, BuildError) == table.resolve():
        raise BuildError(f"--out is the table {table} itself, expected another file")
    given, how = _ruled(_journal(journal, table, wrong), rule, adjudicator, divided)
    reviewed = _reviewed(frame, given, how, min_judges, wrong)
    suffix = out.suffix or ".parquet"
    write_table(reviewed.dropped, out.with_name(f"{out.stem}-dropped{suffix}"))
    write_table(reviewed.open, out.with_name(f"{out.stem}-open{suffix}"))
    write_table(reviewed.accepted, out)
    _note_outdated(reviewed)
    note(
        f"{reviewed.accepted.height} triple(s) written to {out}; "
        f"{reviewed.dropped.height} dropped, {reviewed.open.height} open"
    )


def _asked(table: Path, wrong: bool) -> tuple[pl.DataFrame, list[Question]]:
    from boxpen.build.kg.review import triple_questions, wrong_tail_questions
    from boxpen.build.kg.triples import read_table

    if wrong:
        frame = read_table(table, "wrong", "wrong_text")
        return frame, wrong_tail_questions(frame)
    frame = read_table(table)
    return frame, triple_questions(frame)


def _journal(path: Path | None, table: Path, wrong: bool) -> Journal:
    from boxpen.review import Journal

    name = "review-wrong.jsonl" if wrong else "review.jsonl"
    return Journal(table.with_name(name) if path is None else path)


def _ruled(
    journal: Journal, name: str, adjudicator: str | None, divided: str
) -> tuple[Sequence[Judgement], Rule]:
    """Return all judgements of a journal, and the rule that decides on them."""
    from boxpen.review import Rule

    otherwise = "reject" if divided == "reject" else None
    rule = Rule(name, otherwise=otherwise, adjudicator=adjudicator)
    given = history(journal)
    rule.check(given, journal.path)
    return given, rule


def _reviewed(
    frame: pl.DataFrame, given: Sequence[Judgement], rule: Rule, min_judges: int, wrong: bool
) -> Reviewed:
    from boxpen.build.kg.review import review_triples, review_wrong_tails

    decide = review_wrong_tails if wrong else review_triples
    return decide(frame, given, rule, min_judges)


def _counts(reviewed: Reviewed) -> dict[str, int]:
    verdicts = [decision.verdict or "open" for decision in reviewed.decisions.values()]
    return {name: verdicts.count(name) for name in ("accept", "edit", "reject", "open")}


def _note_outdated(reviewed: Reviewed) -> None:
    if reviewed.outdated:
        note(f"{reviewed.outdated} judgement(s) of texts that have changed since: left out")
