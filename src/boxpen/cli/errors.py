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
from boxpen.cli.output import console, note, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.analysis.translation_errors import Output
    from boxpen.judgements import Decision, Journal, Judgement, LabelPair
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
    sample: Annotated[
        int | None, typer.Option(help="So many items, drawn at random, the same for all judges.")
    ] = None,
    order: Annotated[
        Literal["own", "random", "suite"],
        typer.Option(help="Shuffled for each judge; shuffled; as in the suite."),
    ] = "own",
    disputed: Disputed = False,
    everything: Everything = False,
    overwrite: Overwrite = False,
    seed: Annotated[int, typer.Option(help="Seed of samples and orders.")] = 0,
) -> None:
    """Write a sheet of the translations that a judge has not judged; it does not tell systems."""
    from boxpen.analysis.translation_errors import of_sample, translation_questions
    from boxpen.judgements import (
        Order,
        disagreements,
        latest,
        of_these_texts,
        open_questions,
        ordered,
        write_sheet,
    )

    check_sheet(judge, out, overwrite=overwrite)
    outputs, _ = _outputs(runs)
    questions = translation_questions(of_sample(outputs, sample, seed))
    given, _ = of_these_texts(history(_journal(journal, runs)), questions)
    said = latest(given)
    if disputed:
        divided = {found.item for found in disagreements(g for g in given if g.judge != judge)}
        questions = [question for question in questions if question.item in divided]
    if not everything:
        questions = open_questions(questions, said, judge)
    ways: dict[str, Order] = {"own": "own", "random": "random", "suite": "given"}
    write_sheet(out, ordered(questions, ways[order], judge, seed), judge, said=said)
    note(f"{judge}: {len(questions)} translation(s) to judge, written to {out}")


@errors.command("import")
def import_answers(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Run directories, and sheets filled in.", metavar="RUN... SHEET..."),
    ],
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.analysis.translation_errors import TRANSLATION_ERRORS, translation_questions
    from boxpen.errors import BuildError
    from boxpen.judgements import import_sheets

    runs = [path for path in paths if path.is_dir()]
    sheets = [path for path in paths if not path.is_dir()]
    if not runs or not sheets:
        lacking = "run directory" if not runs else "sheet"
        raise BuildError(
            f"there is no {lacking} among {', '.join(map(str, paths))}; expected the runs that a "
            "sheet was made from, and then the sheet"
        )
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
    from boxpen.judgements import (
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
    """Return the journal; beside run directories, since one that is made anew is replaced."""
    from boxpen.errors import BuildError
    from boxpen.judgements import Journal
    from boxpen.rundir import run_directories

    if path is not None:
        return Journal(path)
    folders = sorted({run.resolve().parent for run in run_directories(runs)})
    if len(folders) > 1:
        raise BuildError(
            f"the runs stand in {' and '.join(map(str, folders))}, expected one folder, or "
            "--journal with the file of the judgements"
        )
    return Journal(folders[0] / _JOURNAL)


def _decided(
    outputs: Sequence[Output], journal: Journal, rule: str, adjudicator: str | None, fewest: int
) -> tuple[list[Judgement], dict[str, Decision]]:
    """Return the judgements of these translations, and what they come to."""
    from boxpen.analysis.translation_errors import TRANSLATION_ERRORS, translation_questions
    from boxpen.judgements import Rule, of_these_texts, settle_labels

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
