"""boxpen review: sheets for judges, their answers, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boxpen.cli.app import app
from boxpen.cli.multi_value_option import MultiValueCommand
from boxpen.cli.output import console, note, print_json, print_runs, runs_object
from boxpen.cli.path_error_group import PathErrorGroup
from boxpen.report.plain_table import plain_table

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.review import Agreement, Detail, Disagreement, Judgement, Review, ReviewTask, Rule

__all__ = ["Adjudicator", "JournalFile", "MinJudges", "RuleOption", "review", "rule_of"]

review = typer.Typer(
    cls=PathErrorGroup,
    no_args_is_help=True,
    help="Let people judge or answer items, and apply their verdicts.",
)
app.add_typer(review, name="review")

Targets = Annotated[
    list[str],
    typer.Argument(
        help="A suite, a build (configuration, folder or table), or run directories.",
        metavar="TARGET",
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="triples, wrong-answers, wordings, candidates, duals, classes, errors, answers, tags.",
        show_default="by TARGET",
    ),
]
TagName = Annotated[
    str | None, typer.Option("--tag", metavar="NAME", help="The tag to ask for, such as steps.")
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE...",
        help="Values allowed for --tag.",
        show_default="those of the suite, or any",
    ),
]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal", metavar="FILE", help="File of the judgements.", show_default="by TARGET"
    ),
]
RuleOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="majority, unanimous, any-VERDICT, any (one judge per label), adjudicator.",
        show_default="majority",
    ),
]
Adjudicator = Annotated[
    str | None, typer.Option(metavar="NAME", help="Judge who decides, for that rule.")
]
Divided = Annotated[
    Literal["open", "reject"] | None,
    typer.Option(help="How to resolve ties and split votes.", show_default="open"),
]
MinJudges = Annotated[
    int | None,
    typer.Option(metavar="N", help="Minimum judges per item.", show_default="1; 3 for answers"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@review.command("export", cls=MultiValueCommand)
def export_sheet(
    target: Targets,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet, a .csv file.")],
    task: TaskName = None,
    tag: TagName = None,
    values: Values = None,
    journal: JournalFile = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Sample N items, the same for all judges.")
    ] = None,
    order: Annotated[
        Literal["score", "given", "random", "own"] | None,
        typer.Option(
            help="Best first; as given; shuffled; shuffled per judge.",
            show_default="own; score for triples",
        ),
    ] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Leave out scores and hints.")] = False,
    judges: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="All judges, if some of them judge each item."),
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(metavar="N", help="How many of them judge each item.")
    ] = None,
    disputed: Annotated[
        bool, typer.Option("--disputed", help="Only items on which other judges disagree.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Include judged items, with their verdicts.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite an existing sheet.")
    ] = False,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of samples, assignments and orders.")
    ] = 0,
    json: Json = False,
) -> None:
    """Write a sheet of what a judge has not judged yet."""
    from boxpen.review import (
        Selection,
        check_sheet,
        latest,
        of_these_texts,
        selected,
        write_sheet,
    )

    check_sheet(judge, out, overwrite=overwrite)
    wanted = Selection(
        sample=sample, judges=tuple(judges or ()), overlap=overlap, disputed=disputed,
        everything=everything, order=order or "own", seed=seed,
    )  # fmt: skip
    found = _task(target, task, tag, values, journal)
    if order is None and not blind:
        wanted = Selection(**{**asdict(wanted), "order": found.order})
    asked = found.questions()
    given, _ = of_these_texts(_history(found), asked)
    chosen = selected(asked, given, judge, wanted)
    if json:
        place = str(out) if chosen else None
        print_json({"task": found.name, "sheet": place, "items": len(chosen)})
    if not chosen:  # an empty sheet would only be in the way of the next one
        stays = f"; {out} is unchanged" if out.exists() else ""
        note(f"{judge}: no {found.noun} to judge, so no sheet was written{stays}")
        return
    write_sheet(out, chosen, judge, said=latest(given), blind=blind)
    note(f"{judge}: {len(chosen)} {found.noun}(s) to judge, written to {out}")


@review.command("import", cls=MultiValueCommand)
def import_answers(
    paths: Annotated[
        list[str],
        typer.Argument(help="The target, then filled-in sheets.", metavar="TARGET SHEET"),
    ],
    task: TaskName = None,
    tag: TagName = None,
    values: Values = None,
    journal: JournalFile = None,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME", help="The judge, if the sheet names none.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A time to record with the judgements.")
    ] = None,
    json: Json = False,
) -> None:
    """Add the answers of sheets to the journal."""
    from boxpen.names import check_judge
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    target, sheets = _parted(paths)
    found = _task(target, task, tag, values, journal)
    done = import_sheets(
        sheets, found.questions(), found.verdicts, found.journal, judge=judge, time=time,
        origin=found.origin, columns=found.columns, check=found.check,
    )  # fmt: skip
    if done.torn:
        note(done.torn)
    place = found.journal.path
    if json:
        changed = [{"before": asdict(a), "after": asdict(b)} for a, b in done.changed]
        print_json({"journal": str(place), "added": len(done.added), "known": done.known,
                    "changed": changed})  # fmt: skip
        return
    for before, after in done.changed:
        print(f"{after.judge}, {after.item}: {_said(before)} → {_said(after)}")
    note(
        f"{len(done.added)} judgement(s) added to {place}, {len(done.changed)} of them replacing "
        f"others; {done.known} known already"
    )


@review.command("status")
def show_status(
    target: Targets,
    task: TaskName = None,
    tag: TagName = None,
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    divided: Divided = None,
    min_judges: MinJudges = None,
    json: Json = False,
) -> None:
    """Show progress, agreement and disagreements of judges."""
    _check_journal(journal)
    found = _task(target, task, tag, None, journal)
    done = found.review(rule_of(found, rule, adjudicator, divided), min_judges)
    _warn(found, done)
    details = [*done.details, *found.details(done)]
    if json:
        print_json(
            {
                "task": found.name,
                "journal": str(found.journal.path),
                "items": len(done.questions),
                "judges": done.judges,
                "decisions": done.counts,
                "outdated": done.outdated,
                "agreement": [asdict(row) for row in done.agreement],
                "disagreements": [asdict(one) for one in done.disagreements],
                "open": done.open,
                **{
                    one.name: [
                        dict(zip(one.columns, map(_plain, row), strict=True)) for row in one.rows
                    ]
                    for one in details
                },
            }
        )
        return
    screen = console()
    for name, number in done.judges.items():
        screen.print(f"{name}: {number} of {len(done.questions)} judged", markup=False)
    screen.print(
        ", ".join(f"{what}: {number}" for what, number in done.counts.items()), markup=False
    )
    _show_agreement(screen, done.agreement)
    for one in details:
        _show_detail(screen, one)
    _show_disagreements(screen, done.disagreements)


@review.command("apply")
def apply_verdicts(
    target: Targets,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Where the result goes.", show_default="runs, for answers"
        ),
    ] = None,
    task: TaskName = None,
    tag: TagName = None,
    journal: JournalFile = None,
    rule: RuleOption = None,
    adjudicator: Adjudicator = None,
    divided: Divided = None,
    min_judges: MinJudges = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the new suite or system.")
    ] = None,
    unjudged: Annotated[
        bool, typer.Option("--unjudged", help="Accept everything as proposed.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite a file, or the values of a tag.")
    ] = False,
    json: Json = False,
) -> None:
    """Write what judges accepted, corrected, tagged or answered."""
    from boxpen.errors import BuildError
    from boxpen.review import Destination, check_output

    options = {"--journal": journal, "--rule": rule, "--adjudicator": adjudicator,
               "--divided": divided, "--min-judges": min_judges}  # fmt: skip
    for option, value in options.items():
        if unjudged and value is not None:
            raise BuildError(f"--unjudged and {option} exclude each other, expected one of them")
    _check_journal(journal)
    found = _task(target, task, tag, None, journal)
    place = out or found.default_out
    if place is None:
        raise BuildError(f"the task '{found.name}' needs --out with the file to write")
    check_output(found, place, overwrite=overwrite)
    if unjudged:
        done = found.unjudged()
    else:
        done = found.review(rule_of(found, rule, adjudicator, divided), min_judges)
        _warn(found, done)
    applied = found.apply(done, Destination(place, name, overwrite))
    if (applied.path / "run.json").is_file():
        from boxpen.runs.run import Run

        run = Run.load(applied.path)
        if json:
            print_json({**runs_object([run], [applied.path]), **applied.data})
        else:
            print_runs([run], [applied.path])
        return
    if json:
        print_json(applied.data)
    note(applied.says)


def rule_of(
    task: ReviewTask, name: str | None, adjudicator: str | None, divided: str | None = None
) -> Rule | None:
    """Return the rule that options ask for; None for that of the task."""
    from boxpen.names import check_name
    from boxpen.review import Rule

    check_name(adjudicator, "--adjudicator")
    if name is None and adjudicator is None and divided is None:
        return None
    own = task.rule
    adjudicator = adjudicator or (own.adjudicator if name is None else None)
    return Rule.named(name or own.name, divided or own.otherwise or "open", adjudicator)


def _task(
    target: Sequence[str],
    name: str | None,
    tag: str | None,
    values: Sequence[str] | None,
    journal: Path | None,
) -> ReviewTask:
    from boxpen.review import Target, find_task

    allowed = None if values is None else tuple(values)
    return find_task(Target(tuple(target), journal, tag, allowed), name)


def _parted(words: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Divide words into the target, which is all folders or else the first word, and sheets."""
    from boxpen.errors import BuildError

    target = [word for word in words if Path(word).is_dir()] or list(words[:1])
    sheets = [Path(word) for word in words if word not in target]
    if not sheets:
        raise BuildError(
            f"there is no sheet among {', '.join(words)}; expected what the sheet was made from, "
            "then the sheet"
        )
    return target, sheets


def _check_journal(path: Path | None) -> None:
    """Refuse a journal that does not exist, which is probably a mistyped name."""
    from boxpen.errors import BuildError

    try:
        if path is not None:
            path.stat()
    except OSError as error:
        raise BuildError(
            f"--journal is {path}, which cannot be read ({error.strerror}); expected the file of "
            "the judgements"
        ) from None


def _history(task: ReviewTask) -> Sequence[Judgement]:
    found = task.journal.read()
    if found.torn:
        note(found.torn)
    return found.judgements


def _warn(task: ReviewTask, done: Review) -> None:
    if done.torn:
        note(done.torn)
    if done.outdated:
        note(f"{done.outdated} judgement(s) ignored: the texts have changed since")
    elif not done.given:
        note(f"{task.journal.path} has no judgements of these {task.noun}s")


def _show_agreement(screen: Console, rows: Sequence[Agreement]) -> None:
    """Print a line for every part, and below 'all' one for every two of several judges."""
    cells: list[tuple[Any, ...]] = []
    for row in rows:
        cells.append(
            (row.part, row.items, row.percent, row.cohen, row.fleiss, row.fleiss_items, row.alpha)
        )
        if row.part == "all" and len(row.pairs) > 1:
            cells += [
                (f"  {pair.first}, {pair.second}", pair.items, pair.percent, pair.kappa, "", "", "")
                for pair in row.pairs
            ]
    screen.print()
    names = ("agreement", "n", "pairs", "Cohen", "Fleiss", "(n)", "Krippendorff")
    _show_rows(screen, names, cells)


def _show_detail(screen: Console, detail: Detail) -> None:
    if detail.rows:
        screen.print(f"\n{detail.name.replace('_', ' ').capitalize()}:", markup=False)
        names = [name.replace("_", " ") for name in detail.columns]
        _show_rows(screen, names, detail.rows)


def _show_rows(screen: Console, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    from rich.text import Text

    shown = plain_table()
    for place, name in enumerate(names):
        text = all(isinstance(row[place], str) for row in rows)
        shown.add_column(Text(name), justify="left" if text else "right")
    for row in rows:
        shown.add_row(*(Text(_cell(value)) for value in row))
    screen.print(shown)


def _show_disagreements(screen: Console, found: Sequence[Disagreement]) -> None:
    if found:
        screen.print("\nJudges disagree:", markup=False)
    for one in found:
        verdicts = "; ".join(f"{each.judge} {_said(each)}" for each in one.judgements)
        screen.print(f"  {one.item}: {verdicts}", markup=False)


def _cell(value: Any) -> str:
    """Return a value as it is displayed; a dash for NaN."""
    if isinstance(value, tuple):  # an estimate
        first, low, high = map(_cell, value[:3])
        return first if first == "–" else f"{first} [{low}, {high}]"
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    return value._asdict() if hasattr(value, "_asdict") else value


def _said(judgement: Judgement) -> str:
    edit = f" ({' / '.join(judgement.edit.splitlines())})" if judgement.edit else ""
    return (judgement.verdict or "no verdict") + edit
