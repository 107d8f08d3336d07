"""The first lines of a file, by which its format is told."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
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
    """What stands at the beginning of a file.

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
    """A format of graphs.

    Attributes:
        name: How it is asked for.
        about: What a row looks like.
        fits: Whether a file that begins like this is one.
        read: Reads a file.
    """

    name: str
    about: str
    fits: Callable[[Sample, GraphSpec], bool]
    read: Callable[[Sample, GraphSpec], Iterator[Draft]]


def sample_of(path: Path, encoding: str = "utf-8") -> Sample:
    """Look at the beginning of a file."""
    if path.is_file():
        with path.open("rb") as stream:
            if stream.read(4) == b"PAR1":
                return Sample(path, (), parquet=True)
    found = islice(_filled(path, encoding), _LINES)
    return Sample(path, tuple(found))


def _filled(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are text and not blank, with their numbers."""
    for block in blocks(path, encoding=encoding, size=_BYTES):
        for number, text in enumerate(block.data.decode().split("\n"), start=block.first):
            if text not in ("", "\r"):
                yield number, text.removesuffix("\r")


def mostly(found: list[bool]) -> bool:
    """Say whether at least four of five are true: a few lines of a file may be broken."""
    return bool(found) and sum(found) >= 0.8 * len(found)


def relations_in(rows: list[list[str]], column: int, known: frozenset[str]) -> bool:
    """Say whether most rows have a known relation in a column."""
    return mostly([len(row) > column and canonical_relation(row[column]) in known for row in rows])
