"""OpenSubtitles in Moses form: two files of sentences, and one that names their documents.

A line of the third is ``en/2001/1/2.xml.gz⇥zh/2001/1/3.xml.gz⇥12 13⇥15``: both documents, and the
sentences of each that were joined. Sentences without a counterpart are in none of the files; only
the numbers tell that something is missing between two lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

from boxpen.build.discourse.read.texts import Progress, TextSpec, lines_of
from boxpen.errors import BuildError
from boxpen.printable import excerpt
from boxpen.text.corpus import Pair

__all__ = ["read_moses"]


def read_moses(spec: TextSpec, counts: Counter[str], progress: Progress) -> Iterator[Pair]:
    """Yield the pairs of a text with the files ``source``, ``target`` and ``ids``.

    Raises:
        BuildError: If the files differ in length, or a line of ``ids`` names no two documents.
    """
    paths = cast(tuple[Path, Path, Path], (spec.source, spec.target, spec.ids))
    streams = (lines_of(paths[0], counts, progress), *(lines_of(p, counts) for p in paths[1:]))
    document, number = "", 0
    last: list[int | None] = [None, None]
    for line, row in enumerate(zip_longest(*streams), start=1):
        if None in row:
            raise BuildError(_unequal(paths, row, line))
        counts["lines"] += 1
        source, target, ids = cast(tuple[str, str, str], row)
        cells = ids.split("\t")
        if len(cells) < 2 or not cells[0] or not cells[1]:
            raise BuildError(
                f"{paths[2]}, line {line}: found {excerpt(ids)}, expected the names of two "
                "documents, parted by a tab"
            )
        name = f"{spec.name}/{cells[0]} {cells[1]}"
        sentences = [_ends(cell) for cell in cells[2:4]]
        if name != document:
            document, number = name, 0
        elif any(a is not None and b is not None and b[0] != a + 1
                 for a, b in zip(last, sentences, strict=False)):  # fmt: skip
            number += 1  # a gap
        number += 1
        last = [None if ends is None else ends[1] for ends in sentences]
        yield Pair(source, target, document, number, spec.name)


def _ends(cell: str) -> tuple[int, int] | None:
    """Return the first and the last of several sentences; None if they are not numbered."""
    numbers = cell.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        return None
    return int(numbers[0]), int(numbers[-1])


def _unequal(paths: tuple[Path, ...], row: tuple[str | None, ...], line: int) -> str:
    short = paths[row.index(None)]
    long = next(path for path, found in zip(paths, row, strict=True) if found is not None)
    return (
        f"{short} ends after line {line - 1}, {long} has a line {line}; "
        "expected as many lines in both"
    )
