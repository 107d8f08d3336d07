"""What the commands share: where they print, and how progress looks."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from boxpen.evaluate import Progress

__all__ = ["console", "note", "print_json", "progress_bar"]


def console() -> Console:
    """Return the console of results: plain, and no wider than asked, when it is not a terminal."""
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False)


def note(text: str) -> None:
    """Print a line for people on stderr."""
    print(text, file=sys.stderr)


def print_json(data: Any) -> None:
    """Print one JSON object on stdout; numbers that are none become null."""
    print(json.dumps(_finite(data), ensure_ascii=False, indent=1))


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress on stderr, with rate and time left, for as long as the block runs."""
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
            fresh = task.completed - task.fields["known"]  # what was in the cache cost nothing
            speed = fresh / task.elapsed if task.elapsed else 0
            return Text(f"{speed:.0f}/s" if fresh else "cached")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=False,
    ) as bars:
        tasks: dict[str, Any] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total, completed=done, known=done)
            bars.update(tasks[label], completed=done, total=total)

        yield report


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {k: _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    return data
