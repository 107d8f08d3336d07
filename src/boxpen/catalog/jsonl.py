"""JSON Lines: boxpen's own format, the one that keeps everything (see suite-format.md).

The first line may be the card of the suite, ``{"kind": "suite", "name": ..., ...}``; every other
line is one item. A file of other objects, such as those of BLiMP, is read as a CSV file of the same
columns would be. A ``.json`` file holds the same objects in one array.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from boxpen.catalog.rows import Row, Table
from boxpen.catalog.tables.columns import Columns
from boxpen.errors import SuiteError, nearest
from boxpen.items import Card, Suite, item_from_dict, item_to_dict
from boxpen.printable import excerpt
from boxpen.text.lines import opened

__all__ = ["read_jsonl", "write_jsonl"]

_CARD = {f.name: f for f in fields(Card)}


def read_jsonl(path: Path, options: Mapping[str, Any] = MappingProxyType({})) -> Table:
    """Read a file of items, with or without a first line that describes the suite.

    Args:
        path: The file.
        options: Which key is which, if the objects are not boxpen's own (see ``Columns``).

    Raises:
        SuiteError: If the file cannot be read, or a line is not an item.
    """
    rows = _objects(path)
    name, card = "", Card()
    first = next(rows, None)
    items: list[Row] = []
    if first is not None and first[1].get("kind") == "suite":
        name, card = _header(*first)
    elif first is not None:
        own = bool(first[1].keys() & {"kind", "candidates"})
        if not own:
            return _others([first, *rows], path, options)
        items.append(_row(*first))
    if options:
        raise SuiteError(
            f"{path} is already a suite, so the option '{min(options)}' does not apply"
        )
    items.extend(_row(where, data) for where, data in rows)
    return Table(path=path, name=name, card=card, rows=items)


def check_whole_characters(data: Mapping[str, Any], where: str) -> None:
    """Refuse half of a surrogate pair, which is no text: no file can hold it."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SuiteError(
            f"{where} has half of a surrogate pair, expected whole characters"
        ) from None


def write_jsonl(suite: Suite, stream: BinaryIO) -> None:
    """Write the suite's card and its items, one JSON object per line."""
    header: dict[str, Any] = {"kind": "suite", "name": suite.name}
    for name in _CARD:
        value = getattr(suite.card, name)
        if value is not None and value not in ("", ()):
            header[name] = list(value) if isinstance(value, tuple) else value
    _write_line(header, stream)
    for item in suite:
        _write_line(item_to_dict(item), stream)


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix.lower() == ".json":
        yield from _array(path)
        return
    # Lines end at a line feed only: a lone carriage return is white space to JSON.
    with opened(path, newline="\n") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            yield where, _object(line, where)


def _array(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with opened(path) as stream:
        try:
            found = json.load(stream)
        except json.JSONDecodeError as error:
            raise SuiteError(
                f"{path} is not JSON ({error.msg} at line {error.lineno}), expected an array of "
                "objects; a file with one object per line is a .jsonl file"
            ) from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, UnicodeDecodeError):
                raise
            raise SuiteError(f"{path} holds JSON that cannot be read: {error}") from None
    if not isinstance(found, list):
        raise SuiteError(f"{path} is not an array, expected an array of objects")
    for number, data in enumerate(found, start=1):
        where = f"{path}, object {number}"
        if not isinstance(data, dict):
            raise SuiteError(f"{where} is {excerpt(json.dumps(data))}, expected a JSON object")
        check_whole_characters(data, where)
        yield where, data


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
        if isinstance(data, dict):
            # An escape such as \ud800 alone is valid JSON.
            check_whole_characters(data, where)
            return data
    except json.JSONDecodeError as error:
        raise SuiteError(
            f"{where} is not JSON ({error.msg} at column {error.colno}), expected one object per "
            "line"
        ) from None
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{where} holds JSON that cannot be read: {error}") from None
    raise SuiteError(f"{where} is {excerpt(line.strip())}, expected a JSON object")


def _header(where: str, data: dict[str, Any]) -> tuple[str, Card]:
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _CARD and key not in ("kind", "name"):
            known = ["name", *_CARD]
            raise SuiteError(f"{where} has the unknown key {excerpt(key)}, {nearest(key, known)}")
        if value is None and key in _CARD and _CARD[key].default is not MISSING:
            continue
        if key in _CARD and _CARD[key].type == "tuple[str, ...]":
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                found = excerpt(str(value))
                raise SuiteError(f"{where}: key '{key}' is {found}, expected a list of strings")
            value = tuple(value)
        elif not isinstance(value, str):
            raise SuiteError(f"{where}: key '{key}' is {excerpt(str(value))}, expected a string")
        values[key] = value
    values.pop("kind")
    return values.pop("name", ""), Card(**values)


def _row(where: str, data: dict[str, Any]) -> Row:
    if data.get("kind") == "suite":
        raise SuiteError(f"{where} describes a suite, expected an item: only line 1 may do so")
    try:
        return Row(where, item_from_dict(data))
    except SuiteError as error:
        raise SuiteError(f"{where}: {error}") from None


def _others(
    rows: Sequence[tuple[str, dict[str, Any]]], path: Path, options: Mapping[str, Any]
) -> Table:
    """Return the table of objects that are not boxpen's own; not all need have the same keys."""
    header = list(dict.fromkeys(key for _, data in rows for key in data))
    columns = Columns.find(header, options, str(path))
    items = columns.rows([where for where, _ in rows], [data for _, data in rows], str(path))
    card = Card(language=options.get("language"), source_language=options.get("source_language"))
    return Table(path=path, card=card, rows=items)


def _write_line(data: dict[str, Any], stream: BinaryIO) -> None:
    stream.write(json.dumps(data, ensure_ascii=False).encode() + b"\n")
