"""YAML for the cards of the Hub, written without a library: block style, strings in quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["to_yaml"]

# What may not stand in a YAML file as it is, or would be folded as a line break (YAML 1.2, 5.1).
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Values of YAML that are not strings."""


def to_yaml(value: Mapping[str, Any] | Sequence[Any], indent: int = 0) -> str:
    """Return an object or a list of JSON values as lines of YAML.

    A quoted string of JSON is one of YAML, too, but for a few characters that are escaped here.
    """
    lines = []
    if isinstance(value, Mapping):
        for key, inner in value.items():
            lines.append(f"{_scalar(key, key=True)}:{_after(inner, indent)}")
    else:
        for inner in value:
            block = to_yaml(inner, indent + 2) if _nested(inner) else f"{_scalar(inner)}\n"
            lines.append(f"- {block.lstrip(' ')}")
    return "".join(" " * indent + line for line in lines)


def _after(inner: Any, indent: int) -> str:
    """Return what follows a colon: a value on the same line, or a block below."""
    if not _nested(inner):
        return f" {_scalar(inner)}\n"
    return "\n" + to_yaml(inner, indent + 2 * isinstance(inner, Mapping))


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _scalar(value: Any, *, key: bool = False) -> str:
    if key and re.fullmatch("[a-z]+(?:[_-][a-z]+)*", value) and value not in _WORDS:
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):  # YAML 1.1 takes 1e-05 for a string
        return re.sub("^(-?[0-9]+)e", r"\1.0e", text)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
