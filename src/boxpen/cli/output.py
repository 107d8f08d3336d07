"""Output shared by all commands: results, notes and progress bars."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from boxpen.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from boxpen.models.cached import Progress
    from boxpen.runs.run import Run

_NARROWEST = 76

__all__ = [
    "Escaping",
    "OverwriteFile",
    "console",
    "note",
    "print_csv",
    "print_json",
    "print_lines",
    "print_matrix",
    "print_runs",
    "progress_bar",
    "runs_object",
    "unescaped",
]

OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing file.")]


def console() -> Console:
    """Return the console for results; plain text if stdout is not a terminal."""
    from rich.console import Console

    from boxpen.report.plain_table import safe

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # which ends quietly, see app.py

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*map(safe, objects), **options)

    # Wrapped lines in a narrow terminal are better than columns without names.
    screen = Screen(file=unescaped(sys.stdout), soft_wrap=False, highlight=False)
    screen.width = max(screen.width, _NARROWEST)
    return screen


class Escaping:
    """A text stream that escapes control characters other than newlines and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, with control characters escaped."""
        return self.stream.write(printable(text, keep="\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def unescaped(stream: TextIO) -> TextIO:
    """Return the stream under an escaping stream, for colours or raw data."""
    while isinstance(stream, Escaping):  # each group of commands has one
        stream = stream.stream
    return stream


def note(text: str) -> None:
    """Print a message to stderr."""
    print(printable(text, keep="\n\t"), file=sys.stderr)


def print_json(data: Any) -> None:
    """Print one JSON object to stdout; NaN and infinities become null."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(_finite(data), ensure_ascii=plain, indent=1))


def print_csv(text: str) -> None:
    """Print CSV on stdout: escaped in a terminal, byte for byte in a file or a pipe."""
    if sys.stdout.isatty():
        print(text.replace("\r\n", "\n"), end="")
    else:
        # Bytes: the lines of a CSV end the same way on every system.
        typer.echo(text.encode(), nl=False)


def print_lines(screen: Console, lines: Iterable[str | Text]) -> None:
    """Print lines, wrapping long ones with their own indentation."""
    from rich.text import Text

    from boxpen.report.plain_table import safe

    for line in lines:
        text: Text = safe(" ".join(line.splitlines()) if isinstance(line, str) else line)
        start = len(text.plain) - len(text.plain.lstrip(" "))
        for part in text[start:].wrap(screen, screen.width - start):
            part.rstrip()
            screen.print(Text(" " * start) + part)


def runs_object(runs: Sequence[Run], places: Sequence[Path | None]) -> dict[str, Any]:
    """Return what ``--json`` prints for runs; ``results`` is public and stable.

    Args:
        runs: The runs.
        places: Their directories; None for a run that was not saved.
    """
    from boxpen.analysis.order_effects import order_effects
    from boxpen.report.recipes import recipes_object
    from boxpen.report.terminal import notes

    return {
        "results": [asdict(row) for run in runs for row in run.summary()],
        "runs": [
            {
                "path": str(place) if place else None,
                "signature": run.signature,
                "left_out": run.info.left_out,
                "findings": [asdict(found) for found in run.info.findings],
                "notes": list(notes(run)),
                **(
                    {"asked": order_effects(run.answers, run.info.unanswered).to_json()}
                    if run.answers
                    else {}
                ),
            }
            for run, place in zip(runs, places, strict=True)
        ],
        "recipes": recipes_object(runs),
    }


def print_runs(
    runs: Sequence[Run], places: Sequence[Path | None], *, where: str = "kept in"
) -> None:
    """Print runs as tables with notes.

    Args:
        runs: The runs.
        places: Their directories; None for a run that was not saved.
        where: Label for the directories.
    """
    from boxpen.report.failures import failure_tables
    from boxpen.report.formats.failures import failures_terminal
    from boxpen.report.recipes import recipes_page
    from boxpen.report.terminal import main_tags, notes, run_table

    screen = console()
    for run, place in zip(runs, places, strict=True):
        tags, hidden = main_tags(run)
        screen.print(run_table(run, tags))
        if hidden:
            screen.print(f"• more tags with boxpen slices: {', '.join(hidden)}")
        of_graph = any({"task", "relation"} <= set(v.tags) for v in run.verdicts)
        failures = failure_tables([run]) if of_graph else []
        for table in failures:
            for part in failures_terminal(table, screen.width):
                screen.print(part)
        more = dict.fromkeys(n for table in failures for n in table.notes)
        for line in (*notes(run, tags), *more):
            screen.print(f"• {line}")
        screen.print(f"signature  {run.signature}", style="dim", soft_wrap=True)
        if place:
            screen.print(f"{where:10} {place}", style="dim", soft_wrap=True)
        screen.print()
    if page := recipes_page(runs):
        for shown in page.terminal():
            screen.print(shown)


def print_matrix(runs: Sequence[Run], metric: str, by: str | None = None) -> None:
    """Print one table: a row per model, a column per suite or per value of a tag."""
    from boxpen.report.tables import matrix, matrix_tables

    found = matrix(runs, metric, by)
    screen = console()
    for table in matrix_tables(found, screen.width):
        screen.print(table)
        screen.print()
    for line in found.notes:
        note(f"• {line}")


@contextlib.contextmanager
def progress_bar(
    most: int | None = None, above: Callable[[], RenderableType | None] = lambda: None
) -> Iterator[Progress]:
    """Show progress on stderr, with rate and time left, while the block runs.

    Args:
        above: Returns what a terminal shows above the bars until the block ends.
        most: Maximum number of bars besides those of labels with "all": the ones under way, newest
            first. All bars are shown if None.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            fresh = task.completed - task.fields["known"]  # cache hits cost nothing
            speed = fresh / task.elapsed if task.elapsed else 0
            return Text(f"{speed:.0f}/s" if fresh else "cached")

    class Bars(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if self.tasks and self.console.is_terminal and (shown := above()):
                yield shown
            yield from super().get_renderables()

    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=False,
    )
    tasks: dict[str, Any] = {}
    newest: dict[str, None] = {}  # under way

    def report(label: str, done: int, total: int, detail: str = "") -> None:
        if not tasks:
            bars.start()  # not before: an empty display would leave a blank line in a file
        if label not in tasks:
            tasks[label] = bars.add_task(printable(label), total=total, completed=done, known=done)
        elif bars.tasks[tasks[label]].total != total:  # more of the same
            bars.reset(tasks[label], total=total, completed=done, known=done)
        shown = f"{label} ({detail})" if detail else label
        bars.update(tasks[label], completed=done, total=total, description=printable(shown))
        if most is not None:
            show_newest(label, under_way=0 < done < total)

    def show_newest(label: str, *, under_way: bool) -> None:
        newest.pop(label, None)
        if under_way:
            newest[label] = None
        shown = [*list(newest)[-(most or 0) :], *(one for one in tasks if one.startswith("all "))]
        for name, task in tasks.items():
            bars.update(task, visible=name in shown)

    try:
        yield report
    finally:
        if tasks:
            above = _nothing
            bars.stop()


def _nothing() -> None:
    return None


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {k: _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    return data
