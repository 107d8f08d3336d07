"""What notebooks show and take: tables as HTML, and data frames of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol, TypeVar

from boxpen.errors import BoxpenError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Listed", "as_pandas", "facts_table"]


_SHOWN = 10  # rows


class _Row(Protocol):
    def cells(self) -> Mapping[str, str]: ...


T = TypeVar("T", bound=_Row)


class Listed(list[T]):
    """A list of results that a notebook shows as a table, and a terminal by its first rows."""

    def __repr__(self) -> str:
        rows = [f"{row!r}" for row in self[:_SHOWN]]
        if len(self) > _SHOWN:
            rows.append(f"… and {len(self) - _SHOWN:,} more")
        return "\n".join(rows) or "[]"

    def _repr_html_(self) -> str:
        rows = [row.cells() for row in self]
        header = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row.values()) for row in rows)
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Return a table with one line per fact: its name, and what it is."""
    lines = (f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts)
    return f"<table>{''.join(lines)}</table>"


def as_pandas(frame: pl.DataFrame, error: type[BoxpenError]) -> pd.DataFrame:
    """Return a Polars frame as one of pandas.

    Args:
        frame: The frame.
        error: Raised if pandas is not installed.
    """
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise error(
            "data frames of pandas need pandas and pyarrow; install them with: "
            "pip install 'boxpen[pandas]'"
        ) from None
    # Arrow ends the process at a name with a zero byte, which a tag may have.
    numbered = {name: str(number) for number, name in enumerate(frame.columns)}
    made = frame.rename(numbered).to_pandas()
    made.columns = pandas.Index(frame.columns)
    return made
