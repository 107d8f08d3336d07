"""boxpen discourse: is the pronoun, the connective, the elided verb translated right?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from boxpen.cli.app import app
from boxpen.cli.output import console, print_json, print_lines, print_page
from boxpen.cli.path_error_group import PathErrorGroup
from boxpen.cli.review import Adjudicator, JournalFile, MinJudges, RuleOption, rule_of

if TYPE_CHECKING:
    from boxpen.analysis.discourse.renderings import Rendering
    from boxpen.analysis.discourse.ruling import Ruling
    from boxpen.report.discourse.tables import DiscourseTable
    from boxpen.runs.run import Run

__all__ = [
    "ByOption",
    "Json",
    "Markdown",
    "People",
    "Runs",
    "discourse",
    "judged_renderings",
    "one_format",
    "outcomes_of",
]

discourse = typer.Typer(
    cls=PathErrorGroup,
    no_args_is_help=True,
    help="Say how often pronouns, connectives and elided verbs are translated right.",
)
app.add_typer(discourse, name="discourse")

Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Run directories of translation models on a discourse suite.", metavar="RUN..."
    ),
]
ByOption = Annotated[
    Literal["judge", "readers"], typer.Option(help="Judge by rules, or by the verdicts of people.")
]
Beside = Annotated[bool, typer.Option("--paper", help="Put the figures of the paper beside.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


@discourse.command("judge")
def judge_runs(
    runs: Runs,
    items: Annotated[
        bool, typer.Option("--items", help="Print every translation with its evidence too.")
    ] = False,
    paper: Beside = False,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Judge translations by rules, and show how often each class is right."""
    from boxpen.analysis.discourse.accuracy import paper as of_paper
    from boxpen.analysis.discourse.renderings import ruling_of
    from boxpen.report.discourse.tables import discourse_object, discourse_table

    one_format(json, markdown)
    systems, found = judged_renderings(runs)
    rulings = {one: ruling_of(one) for one in found}
    table = discourse_table(
        systems,
        found,
        {one: ruling.outcome for one, ruling in rulings.items()},
        by="judge",
        bleu=False,
        paper=of_paper() if paper else None,
    )
    if json:
        listed = {"items": [_item(*one) for one in rulings.items()]} if items else {}
        print_json(discourse_object(table) | listed)
        return
    _show(table, markdown=markdown)
    if items:
        _show_items(rulings)


@discourse.command("table")
def show_table(
    runs: Runs,
    by: ByOption = "judge",
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    min_judges: MinJudges = None,
    same_items: Annotated[
        bool, typer.Option(help="With --by readers, only sentences decided for every system.")
    ] = False,
    paper: Beside = False,
    json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Show BLEU by set and accuracy by class: Tables 2 and 3 of the paper."""
    from boxpen.analysis.discourse.accuracy import paper as of_paper
    from boxpen.analysis.discourse.people import of_same_items
    from boxpen.errors import RunError
    from boxpen.report.discourse.tables import discourse_object, discourse_table

    one_format(json, markdown)
    if same_items and by != "readers":
        raise RunError("--same-items goes with --by readers, expected that too")
    systems, found = judged_renderings(runs)
    people = People(journal, rule, adjudicator, min_judges) if by == "readers" else None
    outcomes = outcomes_of(found, runs, people)
    if same_items:
        outcomes = of_same_items(found, outcomes)
        if not any(outcomes.values()):
            raise RunError(
                f"no sentence is decided for every one of {len(systems)} systems; leave out "
                "--same-items"
            )
    table = discourse_table(
        systems, found, outcomes, by=by, same_items=same_items,
        paper=of_paper() if paper else None,
    )  # fmt: skip
    if json:
        print_json(discourse_object(table))
    else:
        _show(table, markdown=markdown)


def judged_renderings(
    paths: Sequence[Path],
) -> tuple[list[tuple[str, list[Run]]], list[Rendering]]:
    """Return the systems of runs, and what they translated."""
    from boxpen.analysis.discourse.renderings import named_by_context, renderings_of
    from boxpen.report.tables import systems
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    runs = [Run.load(path) for path in run_directories(paths)]
    named = named_by_context(runs)
    own = {id(run): before for run, before in zip(named, runs, strict=True)}
    found = [(name, [own[id(run)] for run in group]) for name, group in systems(named)]
    return found, renderings_of(found)


class People(NamedTuple):
    """Where the verdicts of people stand, and how those who differ decide."""

    journal: Path | None
    rule: str | None
    adjudicator: str | None
    fewest: int | None


def outcomes_of(
    found: Sequence[Rendering], runs: Sequence[Path], people: People | None
) -> Mapping[Rendering, str | None]:
    """Return what became of translations by the verdicts of people, or by the class judge."""
    from boxpen.analysis.discourse.people import ClassTask, question_of
    from boxpen.analysis.discourse.renderings import ruling_of
    from boxpen.errors import BuildError
    from boxpen.review import Target
    from boxpen.runs.directory import run_directories

    if people is None:
        return {one: ruling_of(one).outcome for one in found}
    kept = Target((), people.journal).journal_beside(run_directories(runs), ClassTask.journal_file)
    task = ClassTask(found, kept)
    done = task.review(rule_of(task, people.rule, people.adjudicator), people.fewest)
    outcomes = {one: done.decisions[question_of(one).item].verdict for one in found}
    if not any(outcomes.values()):
        raise BuildError(
            f"no translation is decided: {kept.path} has {len(done.given)} judgement(s) of these "
            "runs; see boxpen review status"
        )
    return outcomes


def one_format(json: bool, markdown: bool) -> None:
    """Refuse two formats at once."""
    from boxpen.errors import BuildError

    if json and markdown:
        raise BuildError("--json and --markdown were given together, expected one of them")


def _show(table: DiscourseTable, *, markdown: bool) -> None:
    from boxpen.report.discourse.tables import discourse_page

    print_page(discourse_page(table), markdown=markdown)


def _show_items(rulings: Mapping[Rendering, Ruling]) -> None:
    screen = console()
    screen.print()
    for one, ruling in rulings.items():
        head = f"{one.system}, {one.id} ({one.phenomenon}, {one.cls}): {ruling.outcome}"
        print_lines(
            screen, (head, f"  {one.source}", f"  {one.translation}", f"  {ruling.evidence}")
        )


def _item(one: Rendering, ruling: Ruling) -> dict[str, str]:
    return asdict(one) | asdict(ruling)
