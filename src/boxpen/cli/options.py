"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boxpen.cli.output import console, print_json
from boxpen.errors import RunError
from boxpen.scoring.policy import Nli, Norm, Ties

if TYPE_CHECKING:
    from boxpen.report.plain_table import Page
    from boxpen.review import Review, ReviewTask, TranslationTask
    from boxpen.runs.run import Run

__all__ = [
    "Device",
    "Format",
    "JournalFile",
    "Json",
    "Markdown",
    "NliOption",
    "NormOption",
    "Overwrite",
    "Runs",
    "SuiteName",
    "TiesOption",
    "TrustRemoteCode",
    "Verdicts",
    "load_runs",
]


def _trust(ctx: typer.Context, given: bool) -> bool:
    """Keep to what was said until the command ends: code runs where models are loaded."""
    if given:
        from boxpen.models.loading.trust import trusting

        ctx.with_resource(trusting())
    return given


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite existing files.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", metavar="NAME")]
JournalFile = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="File or database (file or URL) with judgements.",
        show_default="by target",
    ),
]
NormOption = Annotated[Norm | None, typer.Option(help="How to normalise scores.")]
TiesOption = Annotated[Ties | None, typer.Option(help="How to score ties.")]
NliOption = Annotated[
    Nli | None, typer.Option(help="Labels that an inference classifier chooses between.")
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run Python code that a checkpoint brings along. Runs record it for their model.",
        callback=_trust,
    ),
]
SuiteName = Annotated[
    str, typer.Argument(metavar="SUITE", help="A suite, a part of one (cats.sm) or a file.")
]
Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Run directories or folders of them.")
]


def load_runs(paths: Sequence[Path]) -> list[Run]:
    """Load the runs in run directories or folders of them."""
    from boxpen.runs.directory import run_directories
    from boxpen.runs.run import Run

    return [Run.load(path) for path in run_directories(paths)]


@dataclass(frozen=True)
class Format:
    """How to print a result: as a table, as Markdown or as JSON."""

    markdown: Markdown = False
    json: Json = False

    def __post_init__(self) -> None:
        if self.json and self.markdown:
            raise RunError("--json and --markdown cannot be combined; choose one")

    def show(
        self,
        found: Any,
        data: Callable[[Any], Any],
        terminal: Callable[[Any], Iterable[Any]],
        markdown: Callable[[Any], str] | None = None,
    ) -> None:
        """Print a result in the chosen format."""
        if self.json:
            print_json(data(found))
        elif self.markdown and markdown is not None:
            print(markdown(found), end="")
        else:
            screen = console()
            for part in terminal(found):
                screen.print(part)

    def show_page(self, found: Any, data: Callable[[Any], Any], page: Page) -> None:
        """Print a result whose tables and notes are a page."""
        self.show(found, data, lambda _: page.terminal(), lambda _: page.markdown())


@dataclass(frozen=True)
class Verdicts:
    """How to decide when judges disagree."""

    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="majority, unanimous, any-VERDICT, any (one judge per label) or adjudicator.",
            show_default="majority",
        ),
    ] = None
    adjudicator: Annotated[
        str | None, typer.Option(metavar="JUDGE", help="Judge who decides, for that rule.")
    ] = None
    divided: Annotated[
        Literal["open", "reject"] | None,
        typer.Option(help="How to resolve ties and split votes.", show_default="open"),
    ] = None
    min_judges: Annotated[
        int | None,
        typer.Option(metavar="N", help="Minimum judges per item.", show_default="1; 3 for answers"),
    ] = None

    def review(self, task: ReviewTask) -> Review:
        """Decide the items of a task."""
        rule = task.rule_named(self.rule, self.adjudicator, self.divided)
        return task.review(rule, self.min_judges)

    def decided(self, task: TranslationTask[Any]) -> Review:
        """Decide the translations of a task; refuse a review that decides none of them."""
        done = self.review(task)
        task.check_decided(done)
        return done
