"""boxpen review: sheets for judges, their answers, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from boxpen.cli.app import app
from boxpen.cli.command import MultiValueCommand, command, group
from boxpen.cli.options import JournalFile, Json, Overwrite, Verdicts
from boxpen.cli.output import console, note, print_json, print_runs, runs_object
from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.review import Applied, Destination, Review, ReviewTask, Selection

__all__ = ["review"]

review = group(app, "review", "Have people judge or answer items.", "Review")

Target = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET",
        help="A suite, a build (configuration, folder or table) or run directories.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE...",
        help="Values allowed for --tag.",
        show_default="those of the suite, or any",
    ),
]


@dataclass(frozen=True)
class Asked:
    """What judges are asked about a target."""

    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="triples, wrong-answers, wordings, candidates, duals, classes, errors, readings, "
            "answers, wrong-candidates or tags.",
            show_default="by target",
        ),
    ] = None
    tag: Annotated[
        str | None, typer.Option(metavar="NAME", help="Tag to ask for, such as steps.")
    ] = None
    journal: JournalFile = None

    def about(self, target: Sequence[str], values: Sequence[str] | None = None) -> ReviewTask:
        from boxpen.review import Target, find_task

        allowed = None if values is None else tuple(values)
        return find_task(Target(tuple(target), self.journal, self.tag, allowed), self.task)

    def check_journal(self) -> None:
        """Refuse a journal that does not exist, which is probably a mistyped name."""
        from boxpen.review.database import is_url

        if self.journal is None or is_url(self.journal):
            return
        try:
            Path(self.journal).stat()
        except OSError as error:
            raise BuildError(
                f"--journal is {self.journal}, which cannot be read ({error.strerror}); expected "
                "the file of the judgements"
            ) from None


@dataclass(frozen=True)
class Chosen:
    """Which items a judge gets, and in which order."""

    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Sample N items, the same for all judges.")
    ] = None
    order: Annotated[
        Literal["score", "given", "random", "own"] | None,
        typer.Option(
            help="Best first; as given; shuffled; shuffled per judge.",
            show_default="own; score for triples",
        ),
    ] = None
    judges: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="All judges, if some of them judge each item."),
    ] = None
    overlap: Annotated[
        int | None, typer.Option(metavar="N", help="How many of them judge each item.")
    ] = None
    disputed: Annotated[
        bool, typer.Option("--disputed", help="Only items on which other judges disagree.")
    ] = False
    everything: Annotated[
        bool, typer.Option("--all", help="Include judged items, with their verdicts.")
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed for samples and orders.")] = 0

    def selection(self) -> Selection:
        """Return the choice as the review knows it."""
        from boxpen.review import Selection

        return Selection(**{**asdict(self), "judges": tuple(self.judges or ())})


@command(review, "export", cls=MultiValueCommand)
def export_sheet(
    target: Target,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Whose sheet it is.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file, .csv.")],
    asked: Asked,
    chosen: Chosen,
    values: Values = None,
    blind: Annotated[bool, typer.Option("--blind", help="Leave out scores and hints.")] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a sheet of items for a judge."""
    from boxpen.review import check_sheet, export_sheet

    check_sheet(judge, out, overwrite=overwrite)
    wanted = chosen.selection()
    task = asked.about(target, values)
    number, torn = export_sheet(task, judge, out, wanted, blind=blind)
    if torn:
        note(torn)
    if json:
        print_json({"task": task.name, "sheet": str(out) if number else None, "items": number})
    if number:
        note(f"{judge}: {number} {task.noun}(s) to judge, written to {out}")
    else:
        unchanged = f"; {out} is unchanged" if out.exists() else ""
        note(f"{judge}: no {task.noun} to judge, so no sheet was written{unchanged}")


@command(review, "import", cls=MultiValueCommand)
def import_answers(
    paths: Annotated[
        list[str],
        typer.Argument(help="The target, then sheets, journals or exports.", metavar="TARGET FILE"),
    ],
    asked: Asked,
    values: Values = None,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME", help="The judge, if the sheet names none.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A time to record with the judgements.")
    ] = None,
    json: Json = False,
) -> None:
    """Add answers from sheets and other tools to the journal."""
    from boxpen.names import check_judge
    from boxpen.report.review import judgement_text
    from boxpen.review import import_sheets

    check_judge(judge, "--judge")
    target = [word for word in paths if Path(word).is_dir()] or paths[:1]
    sheets = [Path(word) for word in paths if word not in target]
    if not sheets:
        raise BuildError(
            f"there is no sheet among {', '.join(paths)}; expected what the sheet was made from, "
            "then the sheet"
        )
    task = asked.about(target, values)
    done = import_sheets(
        sheets, task.questions(), task.verdicts, task.journal, judge=judge, time=time,
        origin=task.origin, columns=task.columns, check=task.check,
    )  # fmt: skip
    if done.torn:
        note(done.torn)
    place = task.journal.path
    if json:
        changed = [{"before": asdict(a), "after": asdict(b)} for a, b in done.changed]
        print_json({"journal": str(place), "added": len(done.added), "known": done.known,
                    "changed": changed})  # fmt: skip
        return
    for before, after in done.changed:
        change = f"{judgement_text(before)} → {judgement_text(after)}"
        print(f"{after.judge}, {after.item}: {change}")
    note(
        f"{len(done.added)} judgement(s) added to {place}, {len(done.changed)} of them replacing "
        f"others; {done.known} known already"
    )


@command(review, "status")
def show_status(target: Target, asked: Asked, verdicts: Verdicts, json: Json = False) -> None:
    """Show progress, agreement and disagreements of judges."""
    from boxpen.report.review import review_object, review_terminal

    asked.check_journal()
    task = asked.about(target)
    done = _reviewed(task, verdicts)
    if json:
        print_json(review_object(task, done))
        return
    screen = console()
    for part in review_terminal(task, done):
        screen.print(part)


@command(review, "apply")
def apply_verdicts(
    target: Target,
    asked: Asked,
    verdicts: Verdicts,
    out: Annotated[
        Path | None,
        typer.Option(help="Output file or folder.", show_default="runs, for answers"),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the new suite or system.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of answers to a suite, instead of a journal."),
    ] = None,
    start: Annotated[int, typer.Option(help="With --answers: number of the first candidate.")] = 0,
    unjudged: Annotated[
        bool, typer.Option("--unjudged", help="Accept everything as proposed.")
    ] = False,
    without_failed: Annotated[
        bool,
        typer.Option(
            "--without-failed",
            help="Write the suite without items that most of three or more judges fail.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write what judges accepted, corrected, tagged or answered."""
    from boxpen.review import Destination, check_output

    instead = "--unjudged" if unjudged else None
    if without_failed and (instead or answers is not None):
        raise BuildError("--without-failed needs the journal; leave out --unjudged and --answers")
    given = {"journal": asked.journal, **asdict(verdicts)}
    if answers is not None:
        given |= {"task": asked.task, "unjudged": unjudged or None, "min_judges": None}
        asked, instead = replace(asked, task="answers"), "--answers"
    for option, value in given.items():
        if instead and value is not None:
            raise BuildError(
                f"{instead} and --{option.replace('_', '-')} cannot be combined; choose one"
            )
    asked.check_journal()
    task = asked.about(target)
    place = out or (None if without_failed else task.default_out)
    if place is None:
        raise BuildError(f"the task '{task.name}' needs --out with the file to write")
    check_output(task, place, overwrite=overwrite)
    to = Destination(place, name, overwrite)
    if answers is not None:
        from boxpen.review.answers import AnswerTask

        assert isinstance(task, AnswerTask)
        applied = task.apply_table(answers, to, min_judges=verdicts.min_judges, start=start)
    elif without_failed:
        applied = _without_failed(task, verdicts, to)
    elif unjudged:
        applied = task.apply(task.unjudged(), to)
    else:
        applied = task.apply(_reviewed(task, verdicts), to)
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


def _without_failed(task: ReviewTask, verdicts: Verdicts, to: Destination) -> Applied:
    from boxpen.review.answers import AnswerTask

    if not isinstance(task, AnswerTask):
        raise BuildError(
            f"--without-failed only applies to answers to a suite, not to the task '{task.name}'"
        )
    return task.apply_failed(_reviewed(task, verdicts), to)


def _reviewed(task: ReviewTask, verdicts: Verdicts) -> Review:
    done = verdicts.review(task)
    if done.torn:
        note(done.torn)
    if done.outdated:
        note(f"{done.outdated} judgement(s) ignored: the texts have changed since")
    elif not done.given:
        note(f"{task.journal.path} has no judgements of these {task.noun}s")
    return done
