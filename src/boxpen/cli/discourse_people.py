"""boxpen discourse export, import and status: people say what is translated right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boxpen.cli.discourse import (
    Adjudicator,
    JournalFile,
    Json,
    MinJudges,
    RuleOption,
    Runs,
    decided,
    discourse,
    journal_of,
    judged_renderings,
)
from boxpen.cli.judging import (
    Disputed,
    Everything,
    JudgedAt,
    JudgedBy,
    Overwrite,
    check_sheet,
    number,
    progress,
    show_agreement,
    show_disagreements,
    show_imported,
)
from boxpen.cli.output import console, print_json
from boxpen.cli.run_sheets import RunsAndSheets, Sample, Seed, SheetOrder, parted, written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from boxpen.analysis.discourse.people import Comparison
    from boxpen.metrics.intervals import Estimate

__all__ = ["export_sheet", "import_answers", "show_status"]


@discourse.command("export")
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
    from boxpen.analysis.discourse.people import discourse_questions, of_sample

    check_sheet(judge, out, overwrite=overwrite)
    _, found = judged_renderings(runs)
    written(
        discourse_questions(of_sample(found, sample, seed)), journal_of(journal, runs), out, judge,
        order=order, disputed=disputed, everything=everything, seed=seed,
    )  # fmt: skip


@discourse.command("import")
def import_answers(
    paths: RunsAndSheets,
    journal: JournalFile = None,
    judge: JudgedBy = None,
    time: JudgedAt = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal; a sheet may be imported again and again."""
    from boxpen.analysis.discourse.people import DISCOURSE_VERDICTS, discourse_questions
    from boxpen.judgements import import_sheets
    from boxpen.names import check_judge

    check_judge(judge, "--judge")
    runs, sheets = parted(paths)
    _, found = judged_renderings(runs)
    kept = journal_of(journal, runs)
    added = import_sheets(
        sheets,
        discourse_questions(found),
        DISCOURSE_VERDICTS,
        kept,
        judge=judge,
        time=time,
        origin="run" if len({one.system for one in found}) == 1 else "set of runs",
    )
    show_imported(added, kept, json=json)


@discourse.command("status")
def show_status(
    runs: Runs,
    journal: JournalFile = None,
    rule: RuleOption = "majority",
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = 1,
    json: Json = False,
) -> None:
    """Show how far people agree with each other, and the class judge with them."""
    from boxpen.analysis.discourse.people import compared, discourse_questions
    from boxpen.analysis.discourse.ruling import OUTCOMES
    from boxpen.judgements import agreement_table, disagreements

    _, found = judged_renderings(runs)
    questions = discourse_questions(found)
    given, decisions = decided(found, journal_of(journal, runs), rule, adjudicator, min_judges)
    judges = progress(given)
    agreement = agreement_table(given, {q.item: q.part for q in questions})
    verdicts = [decision.verdict for decision in decisions.values()]
    counts: dict[str, int] = {outcome: verdicts.count(outcome) for outcome in OUTCOMES}
    counts["open"] = verdicts.count(None)
    against = compared(found, decisions)
    if json:
        print_json(
            {
                "translations": len(questions),
                "judges": judges,
                "verdicts": counts,
                "agreement": [asdict(row) for row in agreement],
                "class_judge": [_comparison(row) for row in against],
                "disagreements": [asdict(one) for one in disagreements(given)],
                "open": {item: d.reason for item, d in decisions.items() if d.verdict is None},
            }
        )
        return
    screen = console()
    for name, judged in judges.items():
        screen.print(f"{name}: {judged} of {len(questions)} judged", markup=False)
    screen.print(", ".join(f"{what} {count}" for what, count in counts.items()), markup=False)
    show_agreement(screen, agreement)
    _show_comparisons(screen, against)
    show_disagreements(screen, disagreements(given))


def _comparison(row: Comparison) -> dict[str, object]:
    pairs = [{"people": a, "class_judge": b, "n": n} for (a, b), n in row.confusion.items()]
    return {
        "part": row.part,
        "items": row.items,
        "same": row.same,
        "kappa": row.kappa._asdict(),
        "kappa_right": row.kappa_right._asdict(),
        "confusion": pairs,
    }


def _estimate(found: Estimate) -> Text:
    from rich.text import Text

    if math.isnan(found.value):
        return Text(number(found.value))
    return Text(f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")


def _show_comparisons(screen: Console, rows: Sequence[Comparison]) -> None:
    """Print how the class judge compares with people, and what it takes for what."""
    from boxpen.analysis.discourse.ruling import OUTCOMES
    from boxpen.report.plain_table import plain_table

    shown = plain_table()
    for column in ("class judge", "n", "same", "κ of three [95 %]", "κ of right [95 %]"):
        shown.add_column(column, justify="left" if column == "class judge" else "right")
    for row in rows:
        kappas = (_estimate(row.kappa), _estimate(row.kappa_right))
        shown.add_row(row.part, f"{row.items:,}", number(row.same), *kappas)
    screen.print()
    screen.print(shown)
    if not rows[0].items:
        return
    crossed = plain_table()
    for column in ("people \\ class judge", *OUTCOMES):
        crossed.add_column(column, justify="right" if column in OUTCOMES else "left")
    for said in OUTCOMES:
        crossed.add_row(said, *(f"{rows[0].confusion[said, found]:,}" for found in OUTCOMES))
    screen.print()
    screen.print(crossed)
