"""boxpen discourse: are pronouns, connectives and elided verbs translated right?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from boxpen.cli.app import app
from boxpen.cli.command import command, group
from boxpen.cli.options import Format, JournalFile, Runs, Verdicts, load_runs
from boxpen.cli.output import console, print_csv, print_json, print_lines
from boxpen.errors import RunError

if TYPE_CHECKING:
    from boxpen.analysis.discourse.renderings import Rendering
    from boxpen.analysis.discourse.ruling import Ruling

__all__ = ["discourse"]

discourse = group(app, "discourse", "Analyse pronouns, connectives and ellipsis.", "Look")

By = Annotated[
    Literal["judge", "readers"],
    typer.Option(help="Use the class judge, or verdicts of readers (people or language models)."),
]


@command(discourse, "report")
def report(
    runs: Runs,
    by: By = "judge",
    *,
    journal: JournalFile = None,
    verdicts: Verdicts,
    items: Annotated[
        bool, typer.Option("--items", help="Also print each translation, with evidence.")
    ] = False,
    same_items: Annotated[
        bool,
        typer.Option(
            "--same-items", help="With --by readers: only sentences decided for all systems."
        ),
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="Also show the paper's figures.")] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print confusions as CSV, one line per count.")
    ] = False,
    form: Format,
) -> None:
    """Show BLEU by set, accuracy by class, and confusions."""
    from boxpen.analysis.discourse.accuracy import paper as paper_figures
    from boxpen.analysis.discourse.confusions import confusions
    from boxpen.analysis.discourse.readers import of_same_items
    from boxpen.analysis.discourse.renderings import ruling_of
    from boxpen.report.discourse import tables
    from boxpen.report.discourse.confusions import confusion_csv

    if same_items and by != "readers":
        raise RunError("--same-items requires --by readers")
    for option, given in (("items", items), ("csv", csv)):
        if given and by != "judge":
            raise RunError(f"--{option} requires --by judge")
    if csv and (items or form.json or form.markdown):
        raise RunError("--csv cannot be combined with --items, --json or --markdown; choose one")
    systems, found = tables.discourse_systems(load_runs(runs))
    rulings = {one: ruling_of(one) for one in found} if by == "judge" else None
    if csv and rulings is not None:
        print_csv(confusion_csv(confusions(rulings)))
        return
    outcomes = _outcomes(found, runs, by, journal, verdicts)
    if same_items:
        outcomes = of_same_items(found, outcomes)
        if not any(outcomes.values()):
            raise RunError(
                f"no sentence is decided for all of {len(systems)} systems; leave out --same-items"
            )
    table = tables.discourse_table(
        systems, found, outcomes, by=by, same_items=same_items,
        paper=paper_figures() if paper else None, rulings=rulings,
    )  # fmt: skip
    if items and form.json and rulings is not None:
        listed = [asdict(one) | asdict(ruling) for one, ruling in rulings.items()]
        print_json(tables.discourse_object(table) | {"items": listed})
        return
    form.show_page(table, tables.discourse_object, tables.discourse_page(table))
    if items and rulings is not None:
        _show_items(rulings)


@command(discourse, "compare")
def compare(
    runs: Runs,
    by: By = "judge",
    *,
    journal: JournalFile = None,
    verdicts: Verdicts,
    form: Format,
) -> None:
    """Compare systems on the same sentences with paired tests."""
    from boxpen.analysis.discourse.compare import compare_renderings
    from boxpen.report.discourse import compare as shown
    from boxpen.report.discourse.tables import discourse_systems

    _, found = discourse_systems(load_runs(runs))
    pairs = compare_renderings(found, _outcomes(found, runs, by, journal, verdicts))
    page = shown.comparison_page(pairs, by, wide=form.markdown)
    form.show_page(pairs, lambda pairs: shown.comparison_object(pairs, by), page)


@command(discourse, "context")
def context(runs: Runs, form: Format) -> None:
    """Show how much context helps: contrastive accuracy, CXMI.

    Make the runs with boxpen run --context given, none and shuffled, on a suite with contrasts.
    """
    from boxpen.analysis.discourse.context_gain import context_gains
    from boxpen.report.discourse import context_gain as shown

    found = context_gains(load_runs(runs))
    form.show_page(found, shown.context_object, shown.context_page(found))


def _outcomes(
    found: Sequence[Rendering],
    runs: Sequence[Path],
    by: str,
    journal: str | None,
    verdicts: Verdicts,
) -> Mapping[Rendering, str | None]:
    """Return the outcome of each translation by the class judge, or by verdicts of readers."""
    from boxpen.analysis.discourse.readers import ClassTask, question_of
    from boxpen.analysis.discourse.renderings import ruling_of

    if by == "judge":
        if journal is not None:
            raise RunError("--journal requires --by readers")
        return {one: ruling_of(one).outcome for one in found}
    review = verdicts.decided(ClassTask.beside(found, runs, journal))
    return {one: review.decisions[question_of(one).item].verdict for one in found}


def _show_items(rulings: Mapping[Rendering, Ruling]) -> None:
    screen = console()
    screen.print()
    for one, ruling in rulings.items():
        head = f"{one.system}, {one.id} ({one.phenomenon}, {one.cls}): {ruling.outcome}"
        print_lines(
            screen, (head, f"  {one.source}", f"  {one.translation}", f"  {ruling.evidence}")
        )
