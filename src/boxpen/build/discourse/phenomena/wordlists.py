"""The word lists of ``data/words.toml``, read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["EDGE", "phrases", "table", "tokens", "words"]

# What may stand between two clauses: subtitles have spaces where punctuation would be.
EDGE = "，。！？；：,.!?;:…\\s"
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@cache
def words(part: str, name: str) -> frozenset[str]:
    """Return a list of words, given in the file as one text."""
    return frozenset(_file()[part][name].split())


def table(part: str, name: str) -> Mapping[str, Any]:
    """Return a table of the file."""
    found: Mapping[str, Any] = _file()[part][name]
    return found


@cache
def phrases(part: str, name: str) -> re.Pattern[str]:
    """Return what finds any phrase of a list, as whole words, in a text in lower case."""
    listed = sorted(_file()[part][name], key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, listed))})(?!\w)")


def tokens(text: str) -> list[str]:
    """Return the English words of a text, as they are written."""
    return _WORD.findall(text.replace("’", "'"))


@cache
def _file() -> dict[str, Any]:
    text = files("boxpen.build.discourse").joinpath("data/words.toml").read_text("utf-8")
    return tomllib.loads(text)
