"""The phenomena that come with boxpen, by pair of languages."""

from __future__ import annotations

from importlib import import_module

from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.text.normal import base_language

__all__ = ["PAIRS", "built_in", "with_class"]

_HERE = "boxpen.build.discourse.phenomena"
PAIRS = {("en", "zh"): "english_chinese", ("zh", "en"): "chinese_english"}
"""The modules whose PHENOMENA know a pair."""


def built_in(source: str, target: str) -> tuple[Phenomenon, ...]:
    """Return the phenomena for a pair of languages; none if nobody has written any."""
    name = PAIRS.get((base_language(source), base_language(target)))
    if name is None:
        return ()
    found: tuple[Phenomenon, ...] = import_module(f"{_HERE}.{name}").PHENOMENA
    return found


def with_class(name: str, cls: str) -> Phenomenon | None:
    """Return the phenomenon of a name that has a class, whatever its languages are."""
    known = (rule for pair in PAIRS for rule in built_in(*pair))
    return next((rule for rule in known if rule.name == name and cls in rule.classes), None)
