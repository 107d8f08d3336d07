"""Text tables with one row per item: CSV and TSV.

What separates the cells is found in the header line: in many countries spreadsheet programs write
semicolons into ``.csv``. A table with a column ``kind`` is boxpen's own export; any other is a
user's, whose columns are found by ``boxpen.catalog.tables.columns``. In an export, a cell that a
spreadsheet program would take for a formula is marked with an apostrophe. A row with such cells has
``yes`` in the column ``marked``; only there are apostrophes removed when the file is read.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from boxpen.catalog.rows import Row, Table
from boxpen.catalog.tables.cells import filled
from boxpen.catalog.tables.columns import TAG, Columns
from boxpen.errors import SuiteError, nearest
from boxpen.items import Card, Item, Suite, item_from_dict, item_to_dict
from boxpen.printable import excerpt, neutral, restored
from boxpen.text.lines import opened

__all__ = [
    "DELIMITERS", "delimiter_of", "read_table", "spelt_out", "table_rows", "write_csv", "write_tsv"
]  # fmt: skip

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
READER_TAG = "reader-tag:"  # a column of a tag that later readers gave
_MARKED = "marked"  # a column that tells the rows with apostrophes before formulas
LISTS = {"candidates": "candidate_", "contrast": "contrast_", "also": "also_"}
OWN = (
    "kind", "id", "block", "source", "context", "candidates", "gold", "premise", "hypothesis",
    "label", "also", "reference", "reference_context", "contrast", "language", "source_language",
)  # fmt: skip


def read_table(path: Path, options: Mapping[str, Any]) -> Table:
    """Read a CSV or TSV file.

    Raises:
        SuiteError: If the file cannot be read, has no such columns, or a row is not an item.
    """
    records = table_rows(path)
    first = next(records, None)
    if first is None:
        raise SuiteError(f"{path} is empty, expected a header line")
    header = first[1]
    if "kind" in header and set(options) <= {"language", "source_language"}:
        _check_own(header, path)
        rows = [_made(where, _own_item, header, row) for where, row in _even(records, header, path)]
        readers = tuple(n.removeprefix(READER_TAG) for n in header if n.startswith(READER_TAG))
    else:
        readers = ()
        header = [name.strip() for name in header]
        _check_once(header, path)
        columns = Columns.find(header, options, str(path))
        found = list(_even(records, header, path))
        cells = [dict(zip(header, row, strict=True)) for _, row in found]
        rows = columns.rows([where for where, _ in found], cells, str(path))
    card = Card(
        language=options.get("language"),
        source_language=options.get("source_language"),
        reader_tags=readers,
    )
    return Table(path=path, card=card, rows=rows)


def write_table(suite: Suite, stream: BinaryIO, delimiter: str) -> None:
    """Write the items of a suite, one row each; columns that no item uses are left out.

    Raises:
        SuiteError: If a text is empty: such a cell would be read as missing.
    """
    columns = {tag: _tag_column(suite, tag) for tag in suite.tag_values()}
    rows = [_cells(spelt_out(suite, item), item.id, columns) for item in suite]
    used = {name for row in rows for name in row}
    header = [name for own in OWN for name in _own_columns(own, used)]
    header += columns.values()
    writer = csv.writer(codecs.getwriter("utf-8")(stream), delimiter=delimiter)
    cells = [[row.get(name, "") for name in header] for row in rows]
    safe = [list(map(neutral, row)) for row in cells]
    if safe != cells:
        header.append(_MARKED)
        for row, before in zip(safe, cells, strict=True):
            row.append("yes" if row != before else "")
    writer.writerow(header)
    writer.writerows(safe)


write_csv = partial(write_table, delimiter=",")
write_tsv = partial(write_table, delimiter="\t")


def spelt_out(suite: Suite, item: Item) -> dict[str, Any]:
    """Return the fields of an item, with the languages that it takes from its suite."""
    language, source_language = suite.languages_of(item)
    out = item_to_dict(item)
    for name, value in (("language", language), ("source_language", source_language)):
        if value is not None:
            out[name] = value
    return out


def table_rows(path: Path, delimiter: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank with the number of the line it begins on.

    Args:
        path: The file.
        delimiter: What separates the cells, if it is not to be found in the header line.

    Raises:
        SuiteError: If the file cannot be read or a row is damaged.
    """
    with opened(path, newline="") as stream:
        head = [stream.readline()]
        while head[-1] and not head[-1].strip("\r\n"):
            head.append(stream.readline())
        delimiter = delimiter or delimiter_of(head[-1], path)
        reader = csv.reader(chain(head, stream), delimiter=delimiter, strict=True)
        begin = 1
        try:
            for row in reader:
                if row:
                    yield begin, row
                begin = reader.line_num + 1
        except csv.Error as error:
            raise SuiteError(
                f"{path}, line {begin} is not a valid row ({error}), expected cells separated by "
                f"{delimiter!r} and balanced quotation marks"
            ) from None


def delimiter_of(header: str, path: Path) -> str:
    """Return what separates the cells of a table: what its name says, or else its header line.

    Raises:
        SuiteError: If the header line has several separators, and not mainly that of its name.
    """
    own = DELIMITERS.get(path.suffix.lower(), ",")
    # Pairs of quotation marks hide what is between them; the rows themselves are read strictly.
    bare = re.sub('"[^"]*"', "", header)
    counts = {mark: bare.count(mark) for mark in _SEPARATORS if mark in bare}
    if len(counts) == 1:
        return next(iter(counts))
    if not counts or counts.get(own) == max(counts.values()) or "kind" in bare.split(own):
        return own
    found = ", ".join(f"{_SEPARATORS[mark]} ({n})" for mark, n in counts.items())
    raise SuiteError(
        f"{path} has several separators in its header line: {found}; put the column names that "
        "have one in quotation marks"
    )


def _even(
    records: Iterator[tuple[int, list[str]]], header: Sequence[str], path: Path
) -> Iterator[tuple[str, list[str]]]:
    for line, row in records:
        if len(row) != len(header):
            raise SuiteError(
                f"{path}, line {line} has {len(row)} cell(s), expected {len(header)} "
                f"({', '.join(header)})"
            )
        yield f"{path}, line {line}", row


def _made(where: str, make: Any, *values: Any) -> Row:
    try:
        return Row(where, make(*values))
    except SuiteError as error:
        raise SuiteError(f"{where}: {error}") from None


def _check_once(header: Sequence[str], path: Path) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise SuiteError(f"{path}, line 1 has the column '{twice[0]}' twice, expected each once")


def _check_own(header: Sequence[str], path: Path) -> None:
    _check_once(header, path)
    known = [*(LISTS[name] + "0" if name in LISTS else name for name in OWN), _MARKED]
    if "id" not in header:
        raise SuiteError(f"{path} has no column 'id', {nearest('id', list(header))}")
    for name in header:
        if not (name in known or name.startswith((TAG, READER_TAG)) or _numbered(name)):
            raise SuiteError(
                f"{path}, line 1 has the unknown column {excerpt(name)}, {nearest(name, known)}"
            )
        plain = TAG + name.removeprefix(READER_TAG)
        if name.startswith(READER_TAG) and plain in header:
            raise SuiteError(f"{path}, line 1 has the columns '{plain}' and '{name}', expected one")


def _own_item(header: Sequence[str], row: Sequence[str]) -> Item:
    data: dict[str, Any] = {}
    lists: dict[str, dict[int, str]] = {name: {} for name in LISTS}
    cells = dict(zip(header, row, strict=True))
    if cells.pop(_MARKED, ""):
        cells = {name: restored(cell) for name, cell in cells.items()}
    for name, cell in cells.items():
        if numbered := _numbered(name):
            lists[numbered[0]][numbered[1]] = cell
        elif cell and name.startswith((TAG, READER_TAG)):
            data.setdefault("tags", {})[name.partition(":")[2]] = cell
        elif cell and name == "gold":
            data[name] = _gold(cell)
        elif cell:
            data[name] = cell
    for name, places in lists.items():
        if texts := filled([places[index] for index in sorted(places)]):
            data[name] = texts
    return item_from_dict(data)


def _gold(cell: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", cell):
        raise SuiteError(f"column 'gold' is {excerpt(cell)}, expected a whole number")
    return int(cell)


def _numbered(name: str) -> tuple[str, int] | None:
    for field, prefix in LISTS.items():
        number = name.removeprefix(prefix)
        if number != name and re.fullmatch("0|[1-9][0-9]{0,2}", number):
            return field, int(number)
    return None


def _tag_column(suite: Suite, tag: str) -> str:
    return (READER_TAG if tag in suite.card.reader_tags else TAG) + tag


def _cells(data: dict[str, Any], item: str, columns: Mapping[str, str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in data.items():
        if name in LISTS:
            out |= {f"{LISTS[name]}{index}": text for index, text in enumerate(value)}
        elif name == "tags":
            out |= {columns[tag]: text for tag, text in value.items()}
        else:
            out[name] = str(value)
    for name, cell in out.items():
        if not cell:
            raise SuiteError(
                f"item '{item}' has an empty '{name}', which a table cannot "
                "distinguish from a missing one; write the suite as .jsonl"
            )
    return out


def _own_columns(name: str, used: set[str]) -> list[str]:
    if name not in LISTS:
        return [name] if name in used else []
    count = sum(column.startswith(LISTS[name]) for column in used)
    return [f"{LISTS[name]}{index}" for index in range(count)]
