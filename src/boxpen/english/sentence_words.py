"""The word lists of ``data/words.toml``, read once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["pairs", "phrases", "table", "words"]


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of words, given in the file as one text."""
    return frozenset(_file()[name].split())


@cache
def phrases(name: str) -> tuple[str, ...]:
    """Return a list of phrases, in their order."""
    return tuple(_file()[name])


@cache
def pairs(name: str) -> dict[str, str]:
    """Return a table from words to words, given in the file one way; it holds both ways."""
    found: dict[str, str] = {}
    for one, two in _file()[name].items():
        found.setdefault(one, two)
        found.setdefault(two, one)
    return found


@cache
def table(name: str) -> dict[str, str]:
    """Return a table from words to words, as it stands in the file."""
    return dict(_file()[name])


@cache
def _file() -> dict[str, Any]:
    text = files("boxpen.english").joinpath("data/sentences.toml").read_text("utf-8")
    return tomllib.loads(text)
