"""Tables shared by all commands: plain in a terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from boxpen.printable import printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["markdown_line", "plain_table", "safe", "table_of"]


def plain_table(title: str | Text | None = None, *, gap: int = 2) -> Table:
    """Return an empty table without lines, its title on the left and bold unless it is a Text.

    Whatever comes into it is shown as it is, without markup, and escaped before it is laid out.
    """
    from rich.table import Table
    from rich.text import Text

    class Plain(Table):
        def add_column(self, header: Any = "", *args: Any, **options: Any) -> None:
            super().add_column(safe(header), *args, **options)

        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(*map(safe, cells), **options)

    shown = Text(printable(title), "bold") if isinstance(title, str) else safe(title)
    return Plain(
        title=shown,
        title_justify="left",
        title_style="",
        box=None,
        pad_edge=False,
        padding=(0, gap, 0, 0),
    )


def table_of(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: int = 1,
    title: str | Text | None = None,
    gap: int = 2,
) -> Table:
    """Return a table: the first ``left`` columns hold text, the others numbers.

    Whole numbers are shown with thousands separators.
    """
    table = plain_table(title, gap=gap)
    for place, name in enumerate(columns):
        if place < left:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    return table


def safe(shown: Any) -> Any:
    """Return text with what a terminal would act on escaped; anything else as it is."""
    from rich.console import Group
    from rich.text import Text

    if isinstance(shown, Group):
        return Group(*map(safe, shown.renderables))
    if isinstance(shown, str):
        return Text(printable(shown, keep="\n"))
    if not isinstance(shown, Text) or printable(shown.plain, keep="\n") == shown.plain:
        return shown
    edges = {at for span in shown.spans for at in (span.start, span.end)}
    out = shown.blank_copy()
    for part in shown.divide(sorted(edges)):  # each of one style
        escaped = Text(printable(part.plain, keep="\n"))
        for span in part.spans:
            escaped.stylize(span.style)
        out.append_text(escaped)
    return out


def markdown_line(cells: Iterable[str]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"
