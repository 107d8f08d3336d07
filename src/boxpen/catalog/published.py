"""Rows of published files as items: the column maps of ``suite import``, with ids and tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable
from typing import Any

from boxpen.catalog.tables.columns import Columns
from boxpen.items import Item

__all__ = ["json_objects", "published_items"]


def json_objects(file: Traversable) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON Lines, or of one array, on disk or in a zip archive."""
    text = file.read_text("utf-8")
    if text.startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def published_items(
    file: Traversable,
    key: str,
    *,
    rows: Iterable[Mapping[str, Any]] | None = None,
    tags: Mapping[str, str] | None = None,
    language: str | None = None,
    source_language: str | None = None,
    **columns: Any,
) -> Iterator[Item]:
    """Yield an item for every row of a published file.

    Args:
        file: The file, of JSON if no rows are given.
        key: Template of an item's id; it may use the columns of the row and ``{number}``, the
            number of the row from 1.
        rows: The rows, by column, of a file in another format, or changed.
        tags: Templates of the tags; a tag that comes out empty is left out.
        language: Language of the candidates, where the suite has several.
        source_language: Language of the source, likewise.
        **columns: Which column is which, see ``boxpen.catalog.tables.columns.Columns``; those of a
            header that ``suite import`` recognises need not be named.

    Raises:
        SuiteError: If a row is not an item.
    """
    rows, where = json_objects(file) if rows is None else list(rows), str(file)
    header = list(dict.fromkeys(column for row in rows for column in row))
    places = [f"{where}, row {number}" for number in range(1, len(rows) + 1)]
    options = columns | {"language": language}
    made = Columns.find(header, options, where).rows(places, rows, where)
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
