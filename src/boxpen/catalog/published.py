"""Rows of published files as items: the column maps of ``suite import``, with ids and tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boxpen.catalog.tables.columns import Columns
from boxpen.items import Item
from boxpen.text.lines import read_lines

__all__ = ["json_lines", "published_items"]


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in read_lines(path)]


def published_items(
    rows: Iterable[Mapping[str, Any]],
    where: str,
    key: str,
    *,
    tags: Mapping[str, str] | None = None,
    language: str | None = None,
    source_language: str | None = None,
    **columns: Any,
) -> Iterator[Item]:
    """Yield an item for every row of a published file.

    Args:
        rows: The rows, by column.
        where: The file, for messages.
        key: Template of an item's id; it may use the columns of the row and ``{number}``, the
            number of the row from 1.
        tags: Templates of the tags; a tag that comes out empty is left out.
        language: Language of the candidates, where the suite has several.
        source_language: Language of the source, likewise.
        **columns: Which column is which, see ``boxpen.catalog.tables.columns.Columns``; those of a
            header that ``suite import`` recognises need not be named.

    Raises:
        SuiteError: If a row is not an item.
    """
    rows = list(rows)
    header = list(dict.fromkeys(column for row in rows for column in row))
    places = [f"{where}, row {number}" for number in range(1, len(rows) + 1)]
    made = Columns.find(header, columns, where).rows(places, rows, where)
    for number, (row, (_, item)) in enumerate(zip(rows, made, strict=True), start=1):
        named = {tag: form.format_map(row) for tag, form in (tags or {}).items()}
        change: dict[str, Any] = {
            "id": key.format_map({**row, "number": number}),
            "tags": {tag: value for tag, value in named.items() if value},
            "language": language,
        }
        if source_language is not None:
            change["source_language"] = source_language
        yield replace(item, **change)
