"""Cells of other people's tables: texts, lists of candidates, sentences with a gap."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from boxpen.errors import SuiteError
from boxpen.printable import excerpt

__all__ = [
    "CONNECTORS", "cell_list", "cell_text", "connected", "filled", "filled_gap", "going_on",
    "is_english",
]  # fmt: skip

CONNECTORS = {"cause": "because", "effect": "so"}
_ENGLISH = re.compile(r"\b(the|was|were|my|his|her)\b", re.IGNORECASE)
_OPENERS = {
    "a", "an", "the", "he", "she", "it", "they", "we", "you", "my", "your", "his", "her", "its",
    "our", "their", "this", "that", "these", "those", "there", "someone", "everyone", "nobody",
}  # fmt: skip
"""Words that are written small when a sentence goes on; a name is not."""


def filled(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells up to the last one that is not empty."""
    end = len(cells)
    while end and not cells[end - 1]:
        end -= 1
    return tuple(cells[:end])


def cell_text(value: Any, column: str) -> str:
    """Return a cell as text; empty if it is missing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        found = excerpt(json.dumps(value, default=str))
        raise SuiteError(f"column '{column}' is {found}, expected a text")
    return "" if value is None else json.dumps(value, default=str)


def cell_list(value: Any, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the candidates of a list, and their own labels if it has any."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise SuiteError(
                f"column '{column}' is {excerpt(value)}, expected a list in JSON; a table with "
                "lists is best saved as .jsonl or .parquet"
            ) from None
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        value = {key: [one.get(key) for one in value] for key in ("text", "label")}
    names: Any = []
    if isinstance(value, dict):
        value, names = value.get("text"), value.get("label")
    plain = isinstance(value, list) and isinstance(names, list)
    if not plain or not all(isinstance(v, str | int | float) for v in (*value, *names)):
        raise SuiteError(
            f"column '{column}' is {excerpt(json.dumps(value, default=str))}, expected a list of "
            'texts, or {"text": [...], "label": [...]}'
        )
    if names and len(names) != len(value):
        raise SuiteError(
            f"column '{column}' has {len(value)} texts and {len(names)} labels, expected as many"
        )
    return tuple(cell_text(v, column) for v in value), tuple(
        cell_text(n, column).strip() for n in names
    )


def filled_gap(sentence: str, option: str, column: str) -> str:
    """Return the sentence with an option in its gap."""
    text, gaps = re.subn("_+", lambda _: option, sentence)
    if gaps != 1:
        raise SuiteError(
            f"column '{column}' has {gaps} gaps '_' in {excerpt(sentence)}, expected one"
        )
    return text


def connected(premise: str, relation: str) -> str:
    """Return the premise of a COPA item with 'because' or 'so' after it."""
    return f"{premise.rstrip().removesuffix('.')} {CONNECTORS[relation]}"


def is_english(texts: Sequence[str]) -> bool:
    """Whether most of these sentences have a frequent English word."""
    return 2 * sum(bool(_ENGLISH.search(text)) for text in texts) > len(texts)


def going_on(sentence: str) -> str:
    """Return a sentence as the second half of another."""
    first, space, rest = sentence.partition(" ")
    return (first.lower() if first.lower() in _OPENERS else first) + space + rest
