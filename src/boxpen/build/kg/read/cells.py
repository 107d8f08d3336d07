"""Rows of text files, cut into cells: tab-separated, comma-separated, JSON lines, Parquet.

In a tab-separated file a quote is a character like any other and a line is a row. In a
comma-separated one quotes enclose cells, which may hold newlines; the line of a row is its first.
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from boxpen.build.kg.read.chunk import Broken, Table
from boxpen.errors import BuildError
from boxpen.failures import reason, refusals
from boxpen.text.lines import Block, blocks, count, positions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SURROGATE", "comma_tables", "json_tables", "parquet_tables", "tab_tables"]

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON may hold and UTF-8 may not."""

NOT_TEXT = "not text in the file's encoding"
_RECORDS = 50_000  # rows per table if they are read one by one
_BOM = b"\xef\xbb\xbf"


def tab_tables(
    path: Path, names: Sequence[str | None], *, header: int = 0, encoding: str = "utf-8"
) -> Iterator[Table]:
    """Read a tab-separated file.

    Args:
        path: The file.
        names: Names of its columns in the tables; None for one that is not read.
        header: The line of the header; it and the lines before it are skipped.
        encoding: Encoding of the text.
    """
    for block in blocks(path, encoding=encoding):
        yield _tab_table(path, block, names, header)


def comma_tables(
    path: Path, names: Sequence[str | None], *, header: int = 0, encoding: str = "utf-8"
) -> Iterator[Table]:
    """Read a comma-separated file; the arguments are those of ``tab_tables``."""
    wanted = [(at, name) for at, name in enumerate(names) if name is not None]
    kinds = {"line": pl.Int64} | {name: pl.String for _, name in wanted}
    records = (record for record in _records(_lines(path, header, encoding)) if record.cells)
    while batch := list(islice(records, _RECORDS)):
        broken: list[Broken] = []
        rows = []
        for line, cells, *_ in batch:
            if isinstance(cells, str):
                broken.append((line, cells))
            elif len(cells) != len(names):
                broken.append((line, _count_of(len(cells), len(names))))
            else:
                rows.append((line, *(cells[at] for at, _ in wanted)))
        frame = pl.DataFrame(rows, schema=kinds, orient="row")
        texts = {record.line: record.text for record in batch}
        yield Table(frame, len(batch), broken, _lookup(texts), batch[-1].share)


def json_tables(path: Path, names: dict[str, str], *, encoding: str = "utf-8") -> Iterator[Table]:
    """Read a file with one JSON object per line.

    Args:
        path: The file.
        names: Key of the objects -> name of its column in the tables.
        encoding: Encoding of the text.
    """
    kinds = {"line": pl.Int64} | dict.fromkeys(names.values(), pl.String)
    for block in blocks(path, encoding=encoding):
        broken = [(line, NOT_TEXT) for line in block.undecodable]
        rows = []
        number = len(broken)
        for line, text in enumerate(block.data.split(b"\n"), start=block.first):
            if not text or text == b"\r":
                continue
            number += 1
            found = _object_cells(text, names)
            if isinstance(found, str):
                broken.append((line, found))
            else:
                rows.append((line, *found))
        frame = pl.DataFrame(rows, schema=kinds, orient="row")
        yield Table(frame, number, broken, block.texts, block.share)


def parquet_tables(path: Path, names: dict[str, str]) -> Iterator[Table]:
    """Read a Parquet file; ``names`` are as for ``json_tables``, and a line is a row from 1."""
    try:
        file = pl.scan_parquet(path)
        total = file.select(pl.len()).collect().item()
        rows = file.select(pl.col(key).cast(pl.String).alias(name) for key, name in names.items())
        for start in range(0, total, _RECORDS):
            frame = rows.slice(start, _RECORDS).collect()
            frame = frame.with_row_index("line", start + 1).cast({"line": pl.Int64})
            texts = dict(zip(frame["line"], map(str, frame.drop("line").iter_rows()), strict=True))
            share = min((start + _RECORDS) / total, 1.0)
            yield Table(frame, len(frame), [], _lookup(texts), share)
    except refusals() as error:
        raise BuildError(f"{path} cannot be read as Parquet ({reason(error)})") from None


def _tab_table(path: Path, block: Block, names: Sequence[str | None], header: int) -> Table:
    width = len(names)
    frame = _cells(block.data, width).select(
        pl.int_range(block.first, block.first + pl.len(), dtype=pl.Int64).alias("line"),
        *(pl.col(f"{at}").alias(name) for at, name in enumerate(names) if name is not None),
    )
    if len(frame) != block.lines:  # never seen; but then every later line would be misnumbered
        raise BuildError(
            f"the {block.lines:,} lines from line {block.first:,} of {path} were cut into "
            f"{len(frame):,} rows; please report this with those lines"
        )
    broken = [(line, NOT_TEXT) for line in block.undecodable]
    # A row with a last cell has at least as many tabs as it must have. If this holds for every
    # row, and the total number of tabs is right, then no row has more.
    last = names[-1]
    complete = last is not None and frame[last].null_count() == 0
    even = complete and count(block.data, b"\t") == (width - 1) * block.lines
    if even and block.first > header:
        return Table(frame, block.lines, broken, block.texts, block.share)
    tabs, blank = _shape(block.data)
    rows = ~blank & (frame["line"] > header).to_numpy()
    wrong = rows & (tabs != width - 1)
    broken += [
        (block.first + at, _count_of(int(tabs[at]) + 1, width))
        for at in wrong.nonzero()[0].tolist()
    ]
    number = int(rows.sum()) + len(block.undecodable)
    kept = frame.filter(pl.Series(rows & ~wrong))
    return Table(kept, number, broken, block.texts, block.share)


def _cells(data: bytes, width: int) -> pl.DataFrame:
    """Cut lines at their tabs; missing cells are null, and surplus ones are left out."""
    if data.startswith(_BOM):
        data = _BOM + data  # Polars removes one, but only the first of the file is a mark
    return pl.read_csv(
        data,
        has_header=False,
        separator="\t",
        quote_char=None,
        schema={f"{at}": pl.String for at in range(width)},
        truncate_ragged_lines=True,
        missing_columns="insert",
        extra_columns="ignore",
        raise_if_empty=False,
    )


def _shape(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many tabs each line has, and whether it is blank."""
    import numpy as np

    ends = positions(data, b"\n")
    starts = np.concatenate(([0], ends[:-1] + 1))
    before = np.searchsorted(positions(data, b"\t"), np.concatenate(([0], ends)))
    length = ends - starts
    letters = np.frombuffer(data, np.uint8)
    blank = (length == 0) | ((length == 1) & (letters[starts] == ord("\r")))
    return np.diff(before), blank


class _Line(NamedTuple):
    number: int
    text: str
    decoded: bool
    share: float


class _Record(NamedTuple):
    line: int
    cells: list[str] | str  # or what is wrong with them
    text: str
    share: float


def _records(lines: Iterator[_Line]) -> Iterator[_Record]:
    """Yield the records of a comma-separated file.

    A quote that is never closed swallows what follows; then only its own line is broken, and
    reading continues with the next one.
    """
    waiting: deque[_Line] = deque()
    taken: list[_Line] = []

    def feed() -> Iterator[str]:
        while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
            if not line.decoded:  # a record cannot continue in it
                waiting.appendleft(line)
                return
            taken.append(line)
            yield line.text + "\n"

    while True:
        taken.clear()
        try:
            cells = next(csv.reader(feed(), strict=True), [])
        except csv.Error as error:
            waiting.extendleft(reversed(taken[1:]))
            first = taken[0]
            yield _Record(first.number, f"not CSV ({error})", first.text, first.share)
            continue
        if taken:
            text = "\n".join(line.text for line in taken)
            yield _Record(taken[0].number, cells, text, taken[0].share)
        elif waiting:
            first = waiting.popleft()
            yield _Record(first.number, NOT_TEXT, first.text, first.share)
        else:
            return


def _lines(path: Path, header: int, encoding: str) -> Iterator[_Line]:
    """Yield every line after the header, and those before it that are not text."""
    for block in blocks(path, encoding=encoding):
        for number, line in enumerate(block.data[:-1].split(b"\n"), start=block.first):
            if number in block.undecodable:
                yield _Line(number, block.texts([number])[0], False, block.share)
            elif number > header:
                yield _Line(number, line.decode().removesuffix("\r"), True, block.share)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


# Numbers stay as they are written: 1.10 is not 1.1, and 1e999 is not Infinity.
_JSON = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_number)


def _object_cells(text: bytes, names: dict[str, str]) -> list[str | None] | str:
    """Return the values of an object as cells, or what is wrong with it."""
    try:
        found = _JSON.decode(text.decode())
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})"
    if not isinstance(found, dict):
        return f"{type(found).__name__} instead of a JSON object"
    cells = []
    for key, name in names.items():
        value = found.get(key)
        if value is not None and not isinstance(value, str):
            return f"{name} is a {type(value).__name__} instead of a string"
        if value is not None and SURROGATE.search(value):
            return f"{name} has half a character (a lone surrogate)"
        cells.append(value)
    return cells


def _count_of(found: int, expected: int) -> str:
    return f"{found} cell{'s'[: found != 1]} instead of {expected}"


def _lookup(texts: dict[int, str]) -> Callable[[Iterable[int]], list[str]]:
    return lambda lines: [texts[line] for line in lines]
