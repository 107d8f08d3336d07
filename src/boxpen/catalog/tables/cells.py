"""Cells of other people's tables: texts, lists of candidates, sentences with a gap."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from boxpen.errors import SuiteError
from boxpen.printable import excerpt
from boxpen.scoring.recipe import UNSPACED

__all__ = [
    "CONNECTIVES", "RELATIONS", "cell_list", "cell_of", "cell_text", "connected", "filled",
    "filled_gap", "going_on", "is_english",
]  # fmt: skip

RELATIONS = ("cause", "effect")
CONNECTIVES = {  # because and so, of XCOPA's languages as in lm-evaluation-harness
    "en": ("because", "so"), "et": ("sest", "seetõttu"), "ht": ("poukisa", "donk sa"),
    "id": ("karena", "maka"), "it": ("perché", "quindi"), "qu": ("imataq", "chaymi"),
    "sw": ("kwa sababu", "kwa hiyo"), "ta": ("காரணமாக", "எனவே"), "th": ("เพราะ", "ดังนั้น"),
    "tr": ("çünkü", "bu yüzden"), "vi": ("bởi vì", "vì vậy"), "zh": ("因为", "所以"),
}  # fmt: skip
"""The words that follow a cause's and an effect's premise, by language."""

_ENGLISH = re.compile(
    r"(?i:\b(?:the|my|his|she|they|it|their|our|your|you|and|with|from|were|this|that|after)\b)"
    r"|\bI\b"
)
"""Frequent in English, and rare in languages that share its letters ('was' is Dutch, too)."""
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


def cell_of(row: Mapping[str, Any], column: str) -> Any:
    """Return a cell; ``errors.text`` is the ``text`` of the object, or of each, in ``errors``."""
    outer, point, inner = column.partition(".")
    if column in row or not point or row.get(outer) is None:
        return row.get(column)
    held = row[outer]
    if isinstance(held, dict):
        return held.get(inner)
    if isinstance(held, list) and all(isinstance(one, dict) for one in held):
        return [one.get(inner) for one in held]
    found = excerpt(json.dumps(held, default=str))
    raise SuiteError(f"column '{outer}' is {found}, expected objects with the key '{inner}'")


def cell_text(value: Any, column: str) -> str:
    """Return a cell as text; empty if it is missing."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta | UUID):
        return str(value)
    found = excerpt(json.dumps(value, default=str))
    raise SuiteError(f"column '{column}' is {found}, expected a text")


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
    if not plain or not all(map(_is_text, (*value, *names))):
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


def _is_text(value: Any) -> bool:
    """Whether a member of a list is a text or a number; one that is missing is neither."""
    return isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value))


def filled_gap(sentence: str, option: str, column: str) -> str:
    """Return the sentence with an option in its gap."""
    text, gaps = re.subn("_+", lambda _: option, sentence)
    if gaps != 1:
        raise SuiteError(
            f"column '{column}' has {gaps} gaps '_' in {excerpt(sentence)}, expected one"
        )
    return text


def connected(premise: str, relation: str, language: str) -> str:
    """Return the premise of a COPA item with the word for 'because' or 'so' after it."""
    glue = "" if language in UNSPACED else " "
    word = CONNECTIVES[language][RELATIONS.index(relation)]
    return premise.strip().rstrip(".。!?") + glue + word


def going_on(sentence: str, language: str) -> str:
    """Return a sentence as the second half of another; English names keep their capital."""
    if language == "en":
        first, space, rest = sentence.partition(" ")
        return (first.lower() if first.lower() in _OPENERS else first) + space + rest
    first, rest = sentence[:1], sentence[1:]
    if language == "tr":  # its small i has a dot where its capital has one
        first = {"I": "ı", "İ": "i"}.get(first, first)
    return first.lower() + rest


def is_english(texts: Sequence[str]) -> bool:
    """Whether most of these texts have a frequent English word."""
    return 2 * sum(bool(_ENGLISH.search(text)) for text in texts) > len(texts)
