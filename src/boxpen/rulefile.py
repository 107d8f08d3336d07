"""Rule files: TOML with one table ``[[rule]]`` per rule (see docs/check.md)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from boxpen.errors import RunError, nearest
from boxpen.rules import Rule, Test

__all__ = ["read_rules"]

_TYPES: dict[str, tuple[type, str]] = {
    "suite": (str, "a string"),
    "model": (str, "a string"),
    "slice": (str, "a string like 'set=LA'"),
    "metric": (str, "a string like 'accuracy'"),
    "min": (float, "a number"),
    "max": (float, "a number"),
    "no_worse_than_baseline": (bool, "true"),
    "by": (float, "a number"),
    "test": (str, "a string"),
    "alpha": (float, "a number"),
}
_BOUNDS = ("min", "max", "no_worse_than_baseline")


def read_rules(path: Path | str) -> list[Rule]:
    """Read a rule file.

    Raises:
        RunError: If it cannot be read, is not TOML, or has an invalid rule; the message names the
            rule, what was found and what was expected.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RunError(f"{path} is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RunError(f"{path} is not TOML: {error}") from None
    for key in data:
        if key != "rule":
            raise RunError(f"{path} has the unknown key '{key}', expected tables named [[rule]]")
    tables = data.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RunError(f"{path}: rules must be tables named [[rule]], not [rule]")
    if not tables:
        raise RunError(f"{path} has no rules, expected at least one table named [[rule]]")
    return [_rule(table, f"{path}, rule {number}") for number, table in enumerate(tables, start=1)]


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    for key, value in table.items():
        _check_key(key, value, where)
    if "metric" not in table:
        raise RunError(f"{where} has no metric, expected something like metric = 'accuracy'")
    bounds = [key for key in _BOUNDS if key in table]
    if len(bounds) != 1:
        found = " and ".join(bounds) if bounds else "none"
        raise RunError(f"{where} has {found} of {', '.join(_BOUNDS)}, expected one of them")
    place = table.get("slice", "all")
    if place != "all" and not all(place.partition("=")):
        raise RunError(f"{where} has the slice '{place}', expected 'all' or 'tag=value'")
    common = {key: table[key] for key in ("suite", "model", "metric", "slice") if key in table}
    if bounds[0] == "no_worse_than_baseline":
        return _against_baseline(table, common, where)
    for key in ("by", "test", "alpha"):
        if key in table:
            raise RunError(f"{where} has '{key}', which goes with no_worse_than_baseline only")
    return Rule(kind="min" if bounds[0] == "min" else "max", bound=table[bounds[0]], **common)


def _against_baseline(table: Mapping[str, Any], common: Mapping[str, Any], where: str) -> Rule:
    if table["no_worse_than_baseline"] is not True:
        raise RunError(f"{where} has no_worse_than_baseline = false, expected true or no such key")
    chosen = table.get("test", "value")
    if chosen not in get_args(Test):
        expected = ", ".join(get_args(Test))
        raise RunError(f"{where} has the test '{chosen}', expected one of {expected}")
    if chosen == "paired" and table["metric"] != "accuracy":
        raise RunError(
            f"{where} asks for a paired test of {table['metric']}, expected accuracy: "
            "only that is decided item by item"
        )
    if "alpha" in table and chosen != "paired":
        raise RunError(f"{where} has 'alpha', which goes with test = 'paired' only")
    if table.get("by", 0) < 0:
        raise RunError(f"{where} has by = {table['by']}, expected 0 or more")
    if not 0 < table.get("alpha", 0.05) < 1:
        raise RunError(f"{where} has alpha = {table['alpha']}, expected a number between 0 and 1")
    settings = {key: table[key] for key in ("by", "alpha") if key in table}
    return Rule(kind="baseline", test=chosen, **settings, **common)


def _check_key(key: str, value: object, where: str) -> None:
    if key not in _TYPES:
        raise RunError(f"{where} has the unknown key '{key}', {nearest(key, list(_TYPES))}")
    kind, expected = _TYPES[key]
    fine = isinstance(value, kind)
    if kind is float:  # a whole number is a number too, but true is none
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fine = number and math.isfinite(value)  # type: ignore[arg-type]
    if not fine:
        raise RunError(f"{where} has {key} = {value!r}, expected {expected}")
