"""Plan files: models × suites × recipes in TOML (see docs/how-to/evaluate/matrix.md).

model = ["hf:gpt2", "checkpoints/step-*"]
suite = ["commonmt", "cats"]
limit = 500

[[run]]                       # another matrix, which inherits what is above
suite = "commonmt"
recipe = ["paper", "translate"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boxpen.config import check_config, read_toml
from boxpen.errors import ConfigError
from boxpen.matrix.settings import RunSettings

__all__ = ["read_plan"]

_NAMED = ("model", "suite")
_SHARED = ("cache", "max_cost")


@dataclass(frozen=True, kw_only=True)
class _Rows:
    run: tuple[RunSettings, ...]


def read_plan(path: Path | str, overrides: Mapping[str, Any] | None = None) -> list[RunSettings]:
    """Read a plan file: the settings of every matrix in it.

    The keys at the top are a matrix of their own if they name models and suites, and every table
    ``[[run]]`` is one that inherits them.

    Args:
        path: The file; paths and patterns in it start from its folder.
        overrides: Settings that replace those of the file.

    Raises:
        ConfigError: If it cannot be read, a setting is wrong, or a pattern matches nothing; the
            message names it.
    """
    path = Path(path)
    top = read_toml(path)
    rows = top.pop("run", [])
    rows = [top | row if isinstance(row, dict) else row for row in _listed(rows)]
    whole = not rows or set(_NAMED) <= top.keys()
    if whole:
        _check_named(path, top, "")
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            _check_named(path, row, f"run[{number}].")
    # Whether a judge is of use depends on the recipe, which a table may name.
    unsure = {key: value for key, value in top.items() if whole or key != "judge"}
    first = check_config(RunSettings, unsure, str(path), path.parent)
    others = check_config(_Rows, {"run": rows}, str(path), path.parent).run
    found = [*([first] if whole else []), *others]
    for key in _SHARED:
        if len({getattr(one, key) for one in found}) > 1:
            raise ConfigError(f"{path}: {key} differs between runs; set it at the top only")
    return [replace(one, **overrides) for one in found] if overrides else found


def _listed(rows: object) -> list[Any]:
    """Return the tables; anything else becomes a list of itself, for the check to refuse."""
    return rows if isinstance(rows, list) else [rows]


def _check_named(path: Path, table: Mapping[str, Any], where: str) -> None:
    for key in _NAMED:
        if key not in table:
            raise ConfigError(
                f"{path}: {where}{key} is missing; a plan names its models and suites"
            )
