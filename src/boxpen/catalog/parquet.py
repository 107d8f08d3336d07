"""Parquet: the columns of the CSV format, with lists as lists and tags as one JSON object.

Tags that later readers gave are another JSON object, in a column ``reader_tags``.

A table with a column ``kind`` is boxpen's own; any other is read as a CSV file of the same
columns would be.

Polars takes a number in a damaged file at its word, asks for that much memory and ends the process
when there is none. So another process reads the file, and hands over its rows. The format has no
checksums; boxpen writes one of all rows into the metadata, so that a changed byte is found.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from boxpen.catalog.rows import Row, Table
from boxpen.catalog.tables.columns import TAG, Columns
from boxpen.catalog.tabular import LISTS, OWN, READER_TAG, spelt_out
from boxpen.errors import SuiteError
from boxpen.items import Card, Item, Suite, item_from_dict
from boxpen.printable import excerpt

if TYPE_CHECKING:
    import polars as pl

__all__ = ["READER_TAGS", "read_parquet", "read_rows", "suite_frame", "write_parquet"]

READER_TAGS = "reader_tags"
_MAGIC = b"PAR1"
_READER = """
import io, sys, zlib
sys.path[:] = sys.argv[1:]
import polars as pl
try:
    content = sys.stdin.buffer.read()
    frame = pl.read_parquet(io.BytesIO(content))
    found = repr((frame.columns, frame.rows())).encode()
    written = pl.read_parquet_metadata(io.BytesIO(content)).get("boxpen_rows")
    if written not in (None, f"{zlib.crc32(found):08x}"):
        sys.exit("refused: changed")
except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
    sys.exit("refused: " + str(error))
packed = io.BytesIO()
frame.write_ipc(packed)
sys.stdout.buffer.write(packed.getvalue())
"""
"""Run by another Python: a table in Arrow's format, or why the file cannot be read."""


class _Frame(NamedTuple):
    columns: list[str]
    rows: list[tuple[Any, ...]]


def read_parquet(path: Path, options: Mapping[str, Any]) -> Table:
    """Read a Parquet file.

    Raises:
        SuiteError: If the file cannot be read, has no such columns, or a row is not an item.
    """
    rows, card = read_rows(*_frame(path), options, str(path))
    return Table(path=path, card=card, rows=rows)


def read_rows(
    header: Sequence[str],
    records: Iterable[Sequence[Any]],
    options: Mapping[str, Any],
    where: str,
    columns_way: str = "",
    labels_way: str = "",
) -> tuple[list[Row], Card]:
    """Return the items of rows of typed values, and what the options add to the card.

    Args:
        header: The names of the columns.
        records: The rows.
        options: Which column is which, if they are not boxpen's own (see ``Columns``).
        where: What the rows are from, for messages.
        columns_way: How to say which column is which, if ``where`` is not a file.
        labels_way: How to say what labels count from, if ``where`` is not a file.

    Raises:
        SuiteError: If there are no such columns, or a row is not an item.
    """
    cells = [dict(zip(header, values, strict=True)) for values in records]
    places = [f"{where}, row {number}" for number in range(1, len(cells) + 1)]
    rows: list[Row] = []
    readers: dict[str, None] = {}
    if "kind" in header and set(options) <= {"language", "source_language"}:
        for place, data in zip(places, cells, strict=True):
            try:
                labels = _json_tags(data.pop(READER_TAGS, None), READER_TAGS)
                labels |= _tag_columns(data, READER_TAG)
                rows.append(Row(place, _own_item(data, labels)))
            except SuiteError as error:
                raise SuiteError(f"{place}: {error}") from None
            readers |= dict.fromkeys(labels)
    else:
        columns = Columns.find(header, options, where, columns_way)
        rows = columns.rows(places, cells, where, labels_way)
    card = Card(
        language=options.get("language"),
        source_language=options.get("source_language"),
        reader_tags=tuple(readers),
    )
    return rows, card


def write_parquet(suite: Suite, stream: BinaryIO) -> None:
    """Write the items of a suite, one row each, with every column of the format."""
    # Through memory: an error of the disk then comes from the stream, as it does for any format.
    buffer = io.BytesIO()
    frame = suite_frame(suite)
    rows = repr((frame.columns, frame.rows())).encode()
    frame.write_parquet(buffer, metadata={"boxpen_rows": f"{zlib.crc32(rows):08x}"})
    stream.write(buffer.getvalue())


def suite_frame(suite: Suite) -> pl.DataFrame:
    """Return the items of a suite, one row each, with every column of the format."""
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys((*OWN, "tags"), pl.String())
    schema |= dict.fromkeys(LISTS, pl.List(pl.String())) | {"gold": pl.Int64()}
    given = suite.card.reader_tags
    schema |= {READER_TAGS: pl.String()} if given else {}
    rows = []
    for item in suite:
        row = spelt_out(suite, item)
        tags = row.get("tags", {})
        labels = {tag: tags.pop(tag) for tag in given if tag in tags}
        row["tags"] = json.dumps(tags, ensure_ascii=False)
        if given:
            row[READER_TAGS] = json.dumps(labels, ensure_ascii=False)
        rows.append(row)
    return pl.DataFrame(rows, schema=schema)


def _frame(path: Path) -> _Frame:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror or error}") from None
    if content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise SuiteError(f"{path} is not a Parquet file, expected 'PAR1' at its start and its end")
    # Isolated, or a file in the working directory might be taken for one of Python's own.
    reader = [sys.executable, "-I", "-c", _READER, *sys.path]
    done = subprocess.run(reader, input=content, capture_output=True, check=False)
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").rpartition("refused: ")
        reason = told[2].partition("\n")[0] if told[1] else "its reader died"
        if reason == "changed":
            raise SuiteError(
                f"{path} was changed after boxpen wrote it: its rows do not match the checksum "
                "'boxpen_rows' in its metadata. If it was damaged, export the suite again; if you "
                "edited it, write it without that key (pyarrow: "
                "table.replace_schema_metadata(None))"
            )
        raise SuiteError(f"{path} is a broken Parquet file ({reason})")
    import polars as pl

    try:
        frame = pl.read_ipc(io.BytesIO(done.stdout))
    except (pl.exceptions.PolarsError, OSError):
        raise SuiteError(f"{path} is a broken Parquet file (its reader died)") from None
    return _Frame(frame.columns, frame.rows())


def _own_item(data: Mapping[str, Any], labels: Mapping[str, Any]) -> Item:
    labels = {**_tag_columns(data, TAG), **labels}
    fields = {
        name: value
        for name, value in data.items()
        if value is not None and not name.startswith((TAG, READER_TAG))
    }
    if labels or isinstance(fields.get("tags"), str):
        fields["tags"] = {**_json_tags(fields.get("tags"), "tags"), **labels}
    return item_from_dict(fields)


def _tag_columns(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the tags of a row that have columns of their own, as data frames do."""
    return {
        name.removeprefix(prefix): value
        for name, value in data.items()
        if name.startswith(prefix) and value is not None
    }


def _json_tags(text: Any, column: str) -> dict[str, Any]:
    try:
        tags = json.loads(text) if text is not None else {}
    except (TypeError, ValueError, RecursionError):
        tags = None
    if not isinstance(tags, dict):
        found = excerpt(str(text))
        raise SuiteError(f"column '{column}' is {found}, expected a JSON object")
    return tags
