"""The first lines of a file, from which its format is detected."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from boxpen.build.kg.read.chunk import Draft, GraphSpec
from boxpen.build.kg.triples import canonical_relation
from boxpen.text.lines import blocks

__all__ = ["Format", "Sample", "mostly", "relations_in", "sample_of"]

_LINES = 200
_BYTES = 1 << 16


@dataclass(frozen=True)
class Sample:
    """The beginning of a file.

    Attributes:
        path: The file.
        lines: Its first lines that are not blank, with their numbers; empty for Parquet.
        parquet: Whether it is a Parquet file.
    """

    path: Path
    lines: tuple[tuple[int, str], ...]
    parquet: bool = False

    def tabs(self) -> list[list[str]]:
        """Return the lines cut at tabs."""
        return [text.split("\t") for _, text in self.lines]

    def first_commas(self) -> list[str]:
        """Return the first line cut as comma-separated values."""
        return next(csv.reader(text for _, text in self.lines[:1]), [])


@dataclass(frozen=True)
class Format:
    """A format of graphs: its name, what a row looks like, how to detect it, how to read it."""

    name: str
    about: str
    fits: Callable[[Sample, GraphSpec], bool]
    read: Callable[[Sample, GraphSpec], Iterator[Draft]]


def sample_of(path: Path, encoding: str = "utf-8") -> Sample:
    """Read the beginning of a file."""
    if path.is_file():
        with path.open("rb") as stream:
            if stream.read(4) == b"PAR1":
                return Sample(path, (), parquet=True)
    filled = (
        (number, text.removesuffix("\r"))
        for block in blocks(path, encoding=encoding, size=_BYTES)
        for number, text in enumerate(block.data.decode().split("\n"), start=block.first)
        if text not in ("", "\r")
    )
    return Sample(path, tuple(islice(filled, _LINES)))


def mostly(found: list[bool]) -> bool:
    """Return whether at least four of five are true: a few lines of a file may be broken."""
    return bool(found) and sum(found) >= 0.8 * len(found)


def relations_in(rows: list[list[str]], column: int, known: Collection[str]) -> bool:
    """Return whether most rows have a known relation in a column."""
    return mostly([len(row) > column and canonical_relation(row[column]) in known for row in rows])
