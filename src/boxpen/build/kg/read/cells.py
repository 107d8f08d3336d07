"""Rows of text files, cut into cells: tab-separated, comma-separated, JSON lines, Parquet.

In a tab-separated file a quote is a letter like any other and a line is a row. In a
comma-separated one quotes enclose cells, which may hold newlines; the line of such a row is that of
its beginning.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.kg.read.chunk import Broken, Table
from boxpen.errors import BuildError
from boxpen.failures import reason, refusals
from boxpen.text.lines import Block, blocks, count, positions

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["comma_tables", "json_tables", "parquet_tables", "tab_tables"]

NOT_TEXT = "not text in the file's encoding"
_RECORDS = 50_000  # rows of a table where they are read one by one
_BOM = b"\xef\xbb\xbf"


def tab_tables(
    path: Path,
    names: Sequence[str | None],
    *,
    header: int = 0,
    encoding: str = "utf-8",
) -> Iterator[Table]:
    """Read a tab-separated file.

    Args:
        path: The file.
        names: What its columns are called in the tables; None for one that is not read.
        header: The line of the header; this line and those before it are no rows.
        encoding: Of the text.
    """
    for block in blocks(path, encoding=encoding):
        yield _tab_table(path, block, names, header)


def comma_tables(
    path: Path,
    names: Sequence[str | None],
    *,
    header: int = 0,
    encoding: str = "utf-8",
) -> Iterator[Table]:
    """Read a comma-separated file; the arguments are those of ``tab_tables``."""
    import polars as pl

    wanted = [(at, name) for at, name in enumerate(names) if name is not None]
    kinds = {"line": pl.Int64} | {name: pl.String for _, name in wanted}
    for batch, share in _batches(_records(path, header, encoding)):
        broken, rows = [], []
        texts = {}
        for line, cells, text in batch:
            texts[line] = text
            if isinstance(cells, str):
                broken.append(Broken(line, cells))
            elif len(cells) != len(names):
                broken.append(Broken(line, _count_of(len(cells), len(names))))
            else:
                rows.append((line, *(cells[at] for at, _ in wanted)))
        frame = pl.DataFrame(rows, schema=kinds, orient="row")
        yield Table(frame, len(batch), broken, _by_line(texts), share)


def json_tables(path: Path, names: dict[str, str], *, encoding: str = "utf-8") -> Iterator[Table]:
    """Read a file with one JSON object in a line.

    Args:
        path: The file.
        names: Key of the objects -> what its column is called in the tables.
        encoding: Of the text.
    """
    import polars as pl

    kinds = {"line": pl.Int64} | dict.fromkeys(names.values(), pl.String)
    for block in blocks(path, encoding=encoding):
        broken = [Broken(line, NOT_TEXT) for line in block.undecodable]
        rows = []
        number = len(broken)
        for line, text in enumerate(block.data.split(b"\n"), start=block.first):
            if not text or text == b"\r":
                continue
            number += 1
            found = _object_cells(text, names)
            if isinstance(found, str):
                broken.append(Broken(line, found))
            else:
                rows.append((line, *found))
        frame = pl.DataFrame(rows, schema=kinds, orient="row")
        yield Table(frame, number, broken, block.texts, block.share)


def parquet_tables(path: Path, names: dict[str, str]) -> Iterator[Table]:
    """Read a Parquet file; ``names`` are as for ``json_tables``, and a line is a row from 1."""
    import polars as pl

    try:
        file = pl.scan_parquet(path)
        total = file.select(pl.len()).collect().item()
        rows = file.select(pl.col(key).cast(pl.String).alias(name) for key, name in names.items())
        for start in range(0, total, _RECORDS):
            frame = rows.slice(start, _RECORDS).collect()
            frame = frame.with_row_index("line", start + 1).cast({"line": pl.Int64})
            texts = dict(zip(frame["line"], map(str, frame.drop("line").iter_rows()), strict=True))
            share = min((start + _RECORDS) / total, 1.0)
            yield Table(frame, len(frame), [], _by_line(texts), share)
    except refusals() as error:
        raise BuildError(f"{path} cannot be read as Parquet ({reason(error)})") from None


def _tab_table(path: Path, block: Block, names: Sequence[str | None], header: int) -> Table:
    import polars as pl

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
    broken = [Broken(line, NOT_TEXT) for line in block.undecodable]
    # A row whose last cell is there has at least as many tabs as it must have. If this holds for
    # every row and the tabs are as many as they must be in all, then none has more.
    last = _cells_complete(frame, names)
    even = last and count(block.data, b"\t") == (width - 1) * block.lines
    if even and block.first > header:
        return Table(frame, block.lines, broken, block.texts, block.share)
    tabs, blank = _shape(block.data)
    rows = ~blank & (frame["line"] > header).to_numpy()
    wrong = rows & (tabs != width - 1)
    broken += [
        Broken(block.first + at, _count_of(int(tabs[at]) + 1, width))
        for at in wrong.nonzero()[0].tolist()
    ]
    return Table(
        frame.filter(pl.Series(rows & ~wrong)),
        int(rows.sum()) + len(block.undecodable),
        broken,
        block.texts,
        block.share,
    )


def _cells_complete(frame: pl.DataFrame, names: Sequence[str | None]) -> bool:
    last = names[-1]
    return last is not None and frame[last].null_count() == 0


def _cells(data: bytes, width: int) -> pl.DataFrame:
    """Cut lines at their tabs; what is missing is null, and what is too much is left out."""
    import polars as pl

    if data.startswith(_BOM):
        data = _BOM + data  # Polars takes one away, but only the first of the file is a mark
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


def _records(
    path: Path, header: int, encoding: str
) -> Iterator[tuple[int, list[str] | str, str, float]]:
    """Yield the line, the cells or what is wrong with them, and the text of every record.

    A quote that is never closed swallows what follows; then only its own line is broken, and
    reading goes on with the next one.
    """
    lines = _numbered(path, header, encoding)
    waiting: deque[tuple[int, str | None, float, str]] = deque()
    while True:
        taken: list[tuple[int, str | None, float, str]] = []
        if not waiting:
            waiting.extend(found for found in [next(lines, None)] if found is not None)
        if not waiting:
            return
        number, text, share, raw = waiting[0]
        if text is None:
            waiting.popleft()
            yield number, NOT_TEXT, raw, share
            continue
        try:
            cells = next(csv.reader(_feed(waiting, lines, taken), strict=True))
        except csv.Error as error:
            waiting.extendleft(reversed(taken[1:]))
            yield number, f"no CSV ({error})", raw, share
        else:
            yield number, cells, "".join(line or "" for _, line, _, _ in taken).rstrip("\n"), share


def _feed(
    waiting: deque[tuple[int, str | None, float, str]],
    lines: Iterator[tuple[int, str | None, float, str]],
    taken: list[tuple[int, str | None, float, str]],
) -> Iterator[str]:
    """Give lines to the CSV reader, and note which it took."""
    while True:
        found = waiting.popleft() if waiting else next(lines, None)
        if found is None:
            return
        if found[1] is None:  # no text: a record cannot go on in it
            waiting.appendleft(found)
            return
        taken.append(found)
        yield found[1]


def _numbered(
    path: Path, header: int, encoding: str
) -> Iterator[tuple[int, str | None, float, str]]:
    """Yield number, text (None if it is none), share and excerpt of every line after the header."""
    for block in blocks(path, encoding=encoding):
        for number, line in enumerate(block.data[:-1].split(b"\n"), start=block.first):
            if number in block.undecodable:
                yield number, None, block.share, block.texts([number])[0]
                continue
            if number <= header:
                continue
            text = line.decode().removesuffix("\r")
            yield number, text + "\n", block.share, text


def _batches(
    records: Iterable[tuple[int, list[str] | str, str, float]],
) -> Iterator[tuple[list[tuple[int, list[str] | str, str]], float]]:
    """Gather records into batches; blank lines are none."""
    batch: list[tuple[int, list[str] | str, str]] = []
    share = 0.0
    for line, cells, text, share in records:
        if cells:
            batch.append((line, cells, text))
        if len(batch) == _RECORDS:
            yield batch, share
            batch = []
    if batch:
        yield batch, share


def _object_cells(text: bytes, names: dict[str, str]) -> list[str | None] | str:
    """Return the values of an object as cells, or what is wrong with it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"no JSON ({error})"
    if not isinstance(found, dict):
        return f"{type(found).__name__} instead of a JSON object"
    cells = []
    for key, name in names.items():
        value = found.get(key)
        if value is not None and not isinstance(value, str):
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"{name} is a {type(value).__name__} instead of a string"
            value = json.dumps(value)
        if value is not None and not _encodable(value):
            return f"{name} has half a character (a lone surrogate)"
        cells.append(value)
    return cells


def _encodable(text: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def _count_of(found: int, expected: int) -> str:
    return f"{found} cell{'s'[: found != 1]} instead of {expected}"


def _by_line(texts: dict[int, str]) -> Any:
    return lambda lines: [texts[line] for line in lines]
