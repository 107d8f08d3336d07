"""Tables of a TOML file as frozen dataclasses; what does not fit is refused by name."""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from boxpen.errors import BuildError, nearest

__all__ = ["read_toml", "settings"]

T = TypeVar("T")
_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "the path of a file",
}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        BuildError: If it cannot be read, or is no TOML; the message names the line.
    """
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BuildError(f"{path} is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BuildError(f"{path} is not TOML: {error}") from None


def settings(cls: type[T], table: object, where: str, folder: Path | None = None) -> T:
    """Make a dataclass of a table; its fields are the keys that may stand there.

    Args:
        cls: The dataclass. Fields may be texts, numbers, booleans, paths, tuples of these,
            mappings from text to these, literals, and any of these or None.
        table: What stands in the file.
        where: Begins the message if something is wrong: the file and the name of the table.
        folder: What relative paths start from.

    Raises:
        BuildError: If a key is unknown or missing, or a value of the wrong kind.
    """
    if not isinstance(table, Mapping):
        raise BuildError(f"{where} is {table!r}, expected a table")
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    kinds = get_type_hints(cls)
    for key in table:
        if key not in fields:
            raise BuildError(f"{where} has the unknown key '{key}', {nearest(key, list(fields))}")
    for name, field in fields.items():
        missing = field.default is field.default_factory is dataclasses.MISSING
        if missing and name not in table:
            raise BuildError(f"{where} has no '{name}'")
    values = {
        key: _typed(value, kinds[key], f"{where} has {key} = {value!r}", folder)
        for key, value in table.items()
    }
    return cls(**values)


def _typed(value: Any, kind: Any, found: str, folder: Path | None) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for one in (k for k in inner if k is not type(None)):
            try:
                return _typed(value, one, found, folder)
            except BuildError as error:
                refusal = error
        raise refusal
    if origin is Literal:
        if value in inner:
            return value
        raise BuildError(f"{found}, expected {', '.join(repr(i) for i in inner)}")
    if origin is tuple:
        if not isinstance(value, list):
            raise BuildError(f"{found}, expected a list")
        return tuple(_typed(v, inner[0], found, folder) for v in value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise BuildError(f"{found}, expected a table")
        return {k: _typed(v, inner[1], found, folder) for k, v in value.items()}
    if kind is Path:
        if not isinstance(value, str) or not value:
            raise BuildError(f"{found}, expected {_NAMES[Path]}")
        if "\0" in value:
            raise BuildError(f"{found}, expected {_NAMES[Path]}")
        path = Path(value).expanduser()
        return path if folder is None else folder / path
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind in _NAMES and (
        not isinstance(value, kind) or (isinstance(value, bool) != (kind is bool))
    ):
        raise BuildError(f"{found}, expected {_NAMES[kind]}")
    if kind is float and not math.isfinite(value):
        raise BuildError(f"{found}, expected a finite number")
    return value
