"""Tables shared by all commands: plain in a terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["markdown_line", "plain_table"]


def plain_table(title: str | Text | None = None, *, gap: int = 2) -> Table:
    """Return an empty table without lines, its title on the left and bold unless it is a Text."""
    from rich.table import Table
    from rich.text import Text

    shown = Text(title, "bold") if isinstance(title, str) else title
    return Table(
        title=shown,
        title_justify="left",
        title_style="",
        box=None,
        pad_edge=False,
        padding=(0, gap, 0, 0),
    )


def markdown_line(cells: Iterable[str]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"
