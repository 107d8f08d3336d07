"""boxpen errors: people say what is wrong with the translations of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from boxpen.cli.app import app
from boxpen.cli.judging import (
    Disputed,
    Everything,
    JudgedAt,
    JudgedBy,
    Overwrite,
    check_sheet,
    history,
    number,
    progress,
    show_agreement,
    show_disagreements,
    show_imported,
)
from boxpen.cli.output import console, print_json
from boxpen.cli.run_sheets import (
    RunsAndSheets,
    Sample,
    Seed,
    SheetOrder,
    journal_beside,
    parted,
    written,
)

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.analysis.translation_errors import Output
    from boxpen.review import Decision, Journal, Judgement, LabelPair
    from boxpen.runs import Run

__all__ = ["errors"]

errors = typer.Typer(
    no_args_is_help=True, help="Let people say what is wrong with translations, and count it."
)
app.add_typer(errors, name="errors")

_JOURNAL = "translation-errors.jsonl"

Runs = Annotated[
    list[Path], typer.Argument(help="Run directories of translation models.", metavar="RUN...")
]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="Where judgements are kept.", show_default=f"{_JOURNAL} beside the runs"
    ),
]
RuleOption = Annotated[
    Literal["majority", "unanimous", "any", "adjudicator"],
    typer.Option(help="How judges who differ decide, for each type of error."),
]
Adjudicator = Annotated[
    str | None, typer.Option(help="The judge who decides, for the rule 'adjudicator'.")
]
MinJudges = Annotated[int, typer.Option(help="Fewest judges of a translation.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@errors.command("export")
def export_sheet(
    runs: Runs,
    judge: Annotated[str, typer.Option(help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(help="The sheet, a .csv file.")],
    journal: JournalFile = None,
    sample: Sample = None,
    order: SheetOrder = "own",
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
) -> None:
    """Write a sheet of the translations that a judge has not judged; it does not tell systems."""
    from boxpen.analysis.translation_errors import of_sample, translation_questions

    check_sheet(judge, out, overwrite=overwrite)
    outputs, _ = _outputs(runs)
    written(
        translation_questions(of_sample(outputs, sample, seed)), _journal(journal, runs), out,
        judge, order=order, disputed=disputed, everything=everything, seed=seed,
    )  # fmt: skip


@errors.command("import")
def import_answers(
    paths: RunsAndSheets,
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.analysis.translation_errors import TRANSLATION_ERRORS, translation_questions
    from boxpen.names import check_judge
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    runs, sheets = parted(paths)
    outputs, _ = _outputs(runs)
    kept = _journal(journal, runs)
    found = import_sheets(
        sheets,
        translation_questions(outputs),
        TRANSLATION_ERRORS,
        kept,
        judge=judge,
        time=time,
        origin="run" if len({output.system for output in outputs}) == 1 else "set of runs",
    )
    show_imported(found, kept, json=json)


@errors.command("status")
def show_status(
    runs: Runs,
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = 1,
    json: Json = False,
) -> None:
    """Show how far judges are, how far they agree, and where they differ."""
    from boxpen.analysis.translation_errors import (
        ERROR_TYPES,
        RIGHT,
        translation_questions,
    )
    from boxpen.review import (
        agreement_table,
        disagreements,
        label_agreement,
        label_pairs,
        labels_of,
    )

    outputs, _ = _outputs(runs)
    questions = translation_questions(outputs)
    given, decisions = _decided(outputs, _journal(journal, runs), rule, adjudicator, min_judges)
    judges = progress(given)
    rows = agreement_table(given, {q.item: q.part for q in questions})
    agreement = [row for row in rows if row.part]  # a suite need not have sets
    types = label_agreement(given, ERROR_TYPES)
    pairs = label_pairs(given, ERROR_TYPES)
    with_right = label_pairs(given, (RIGHT, *ERROR_TYPES))
    labels = [label for d in decisions.values() for label in labels_of(d.verdict or "")]
    counts = {name: labels.count(name) for name in (RIGHT, *ERROR_TYPES)}
    counts["open"] = sum(d.verdict is None for d in decisions.values())
    if json:
        print_json(
            {
                "translations": len(questions),
                "judges": judges,
                "labels": counts,
                "agreement": [asdict(row) for row in agreement],
                "types": [asdict(row) for row in types],
                "label_pairs": [asdict(pair) | {"share": pair.share} for pair in pairs],
                "label_pairs_with_right": [asdict(p) | {"share": p.share} for p in with_right],
                "disagreements": [asdict(one) for one in disagreements(given)],
                "open": {item: d.reason for item, d in decisions.items() if d.verdict is None},
            }
        )
        return
    screen = console()
    for name, judged in judges.items():
        screen.print(f"{name}: {judged} of {len(questions)} judged", markup=False)
    screen.print(", ".join(f"{what} {count}" for what, count in counts.items()), markup=False)
    show_agreement(screen, [*agreement, *types])
    _show_pairs(screen, pairs, with_right)
    show_disagreements(screen, disagreements(given))


@errors.command("table")
def show_table(
    runs: Runs,
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = 1,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show the share of each type of error, and whether wrong choices go with such errors."""
    from boxpen.errors import BuildError
    from boxpen.report.translation_errors import (
        error_table,
        errors_markdown,
        errors_object,
        errors_terminal,
    )

    if json and markdown:
        raise BuildError("--json and --markdown were given together, expected one of them")
    outputs, loaded = _outputs(runs)
    kept = _journal(journal, runs)
    given, decisions = _decided(outputs, kept, rule, adjudicator, min_judges)
    if all(decision.verdict is None for decision in decisions.values()):
        raise BuildError(
            f"no translation is decided: {kept.path} has {len(given)} judgement(s) of these runs; "
            "see boxpen errors status"
        )
    suites = {run.about["suite"]["name"].partition(".")[0] for run in loaded}
    table = error_table(outputs, given, decisions, paper=suites == {"commonmt"})
    if json:
        print_json(errors_object(table))
    elif markdown:
        print(errors_markdown(table), end="")
    else:
        screen = console()
        for part in errors_terminal(table):
            screen.print(part)


def _outputs(paths: Sequence[Path]) -> tuple[list[Output], list[Run]]:
    from boxpen.analysis.translation_errors import outputs_of
    from boxpen.report.tables import systems
    from boxpen.rundir import run_directories
    from boxpen.runs import Run

    runs = [Run.load(path) for path in run_directories(paths)]
    return outputs_of(systems(runs)), runs


def _journal(path: Path | None, runs: Sequence[Path]) -> Journal:
    return journal_beside(path, runs, _JOURNAL)


def _decided(
    outputs: Sequence[Output], journal: Journal, rule: str, adjudicator: str | None, fewest: int
) -> tuple[list[Judgement], dict[str, Decision]]:
    """Return the judgements of these translations, and what they come to."""
    from boxpen.analysis.translation_errors import TRANSLATION_ERRORS, translation_questions
    from boxpen.review import Rule, of_these_texts, settle_labels

    questions = translation_questions(outputs)
    how = Rule("any-yes" if rule == "any" else rule, adjudicator=adjudicator)
    everything = history(journal)
    how.check(everything, journal.path)
    given, _ = of_these_texts(everything, questions)
    items = [question.item for question in questions]
    return given, settle_labels(given, TRANSLATION_ERRORS, how, fewest, items)


def _show_pairs(
    screen: Console, errors_alone: Sequence[LabelPair], with_right: Sequence[LabelPair]
) -> None:
    if errors_alone:
        screen.print("\nLabels given alike, of all labels of two judges:", markup=False)
    for pair, other in zip(errors_alone, with_right, strict=True):
        screen.print(
            f"  {pair.first}, {pair.second}: {number(pair.share)} of {pair.labels} labels of "
            f"errors, {number(other.share)} of {other.labels} with 'right'",
            markup=False,
        )
