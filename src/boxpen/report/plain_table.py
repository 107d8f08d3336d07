"""Tables shared by all commands: in a terminal, and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxpen.printable import printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "Grid", "Page", "code_span", "escaped", "inert", "markdown_line", "plain_table", "safe",
    "table_of",
]  # fmt: skip

_ENTITY = re.compile("&(?=#?[0-9A-Za-z]+;)")
_BRACKET = re.compile(r"(?<![!\]])(\[[-+]?[0-9][-+–0-9.,% ]*\](?![\[(:]))|[\[\]]")
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)  # what many hosts make a link of


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of texts.

    Attributes:
        name: The system it is about, if that is not in the title.
        left: How many columns are aligned to the left.
        fold: Whether a terminal shows intervals on a line of their own.
        beside: The columns that a terminal shows side by side, after the left ones; all if None.
        untitled: Whether Markdown shows no title.
        text: The lines that a terminal shows instead of a table.
    """

    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    name: str = ""
    left: int = 1
    gap: int = 1
    fold: bool = True
    beside: Sequence[Sequence[int]] | None = None
    untitled: bool = False
    text: Sequence[str] | None = None

    def terminal(self) -> Iterator[Table | Text]:
        """Yield the table in parts that fit."""
        from rich.text import Text

        if self.text is not None:
            yield from map(Text, [*self.text, ""])
            return
        first = range(self.left)
        for part in self.beside or [range(self.left, len(self.heads))]:
            title = Text.assemble((self.name, "bold"), f": {self.title}") if self.name else None
            table = plain_table(title or self.title, gap=self.gap)
            for number in (*first, *part):
                table.add_column(
                    self.heads[number],
                    justify="left" if number < self.left else "right",
                    overflow="fold",
                )
            for line in self.lines:
                cells = (line[number] for number in (*first, *part))
                shown = (cell.replace(" [", "\n[") if self.fold else cell for cell in cells)
                table.add_row(*shown, style="bold" if line[0] == "all" and self.name else "")
            yield table
            yield Text()

    def markdown(self) -> Iterator[str]:
        """Yield the lines of the table."""
        if not self.untitled:
            yield f"### {escaped(f'{self.name}: {self.title}' if self.name else self.title)}"
            yield ""
        yield markdown_line(map(escaped, self.heads))
        yield "|" + "---|" * self.left + "---:|" * (len(self.heads) - self.left)
        yield from (markdown_line(map(escaped, line)) for line in self.lines)
        yield ""


@dataclass(frozen=True)
class Page:
    """Tables, notes, and the signatures of the runs they are about."""

    grids: Sequence[Grid]
    notes: Sequence[str]
    signatures: Sequence[str] = ()

    def terminal(self) -> Iterator[Table | Text]:
        """Yield the tables, and then the notes."""
        from rich.text import Text

        for grid in self.grids:
            yield from grid.terminal()
        yield from (Text(f"• {note}") for note in self.notes)

    def markdown(self) -> str:
        """Return the same as Markdown, with the signatures."""
        out = [line for grid in self.grids for line in grid.markdown()]
        out += [f"- {escaped(note)}" for note in self.notes]
        if self.signatures:
            out += [
                "",
                "Runs:",
                "",
                *(f"- {code_span(signature)}" for signature in self.signatures),
            ]
        return "\n".join(out).rstrip() + "\n"


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


def escaped(text: str) -> str:
    """Escape a text for a cell of a Markdown table: no HTML, no link, no image."""
    return inert(text).replace("|", "\\|")


def inert(text: str) -> str:
    """Escape a text for a line of Markdown outside of tables; intervals stay as they are."""
    text = printable(text).replace("\\", "\\\\")
    text = _ENTITY.sub("&amp;", text).replace("<", "&lt;")
    text = _BRACKET.sub(lambda found: found[0] if found[1] else f"\\{found[0]}", text)
    return _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", text)


def code_span(text: str) -> str:
    """Return a text as code in Markdown."""
    return f"`{printable(text).replace('`', chr(39))}`"
