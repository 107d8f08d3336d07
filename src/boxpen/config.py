"""Typed configuration: TOML files become frozen dataclasses, or are refused in one sentence.

Every message has the same form: the file, the key with its table (``graphs[1].format``), the value,
and what is allowed or the nearest known name.

The dataclasses are plain; pydantic checks them. It was chosen over msgspec because its errors are
data (kind, place, value, limits), and because it knows unknown keys and the values of a Literal for
dataclasses; msgspec ignores the former and does not list the latter. It takes 0.11 s to import
against 0.07 s, and 10 MB on disk against 1 MB, and is only imported when a file is loaded: limits
are written with ``annotated_types``, which is small.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)  # fmt: skip

from annotated_types import Ge, Gt, Le

from boxpen.errors import BuildError, ConfigError, nearest
from boxpen.printable import printable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "AtLeast1", "ConfigPath", "Convert", "FileName", "NotNegative", "Positive", "Share",
    "check_config", "load_config", "one_of", "parse_config", "read_toml",
]  # fmt: skip

T = TypeVar("T")


class Convert:
    """Marks a field, by ``Annotated``, whose value a function makes from the value in the file.

    Args:
        function: Called with the value and the folder that relative paths start from; raises a
            ``ValueError`` that begins with "expected" if it can make nothing of the value.
    """

    def __init__(self, function: Callable[[Any, Path], object]) -> None:
        self._function = function

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(
            lambda value, info: self._function(value, info.context or Path())
        )


def _path(value: object, folder: Path) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("expected the path of a file")
    return folder / Path(value).expanduser()


def _file_name(value: object, _: Path) -> str:
    from boxpen.names import check_suite_name

    try:
        check_suite_name(value if isinstance(value, str) else "", "")
    except BuildError:
        raise ValueError("expected a name that a file can have") from None
    return str(value)


ConfigPath = Annotated[Path, Convert(_path)]
"""A path; if it is relative, it starts from the folder of the configuration."""
FileName = Annotated[str, Convert(_file_name)]
"""A name after which files can be called."""
AtLeast1 = Annotated[int, Ge(1)]
NotNegative = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Gt(0), Le(1)]

_LIMITS = {
    "ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}",
    "min_length": "{} or more of them", "max_length": "{} of them or fewer",
}  # fmt: skip
_NAMES = {
    "string_type": "a string", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "finite_number": "a finite number",
    "tuple_type": "a list", "dict_type": "a table", "mapping_type": "a table",
    "dataclass_type": "a table",
}  # fmt: skip
_TYPES: dict[type, str] = {str: "a string", dict: "a table", list: "a list"}
_UNKNOWN = "unknown key '"
_OPTIONS: dict[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        ConfigError: If it cannot be read or is not TOML; the message names the line.
    """
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None


def load_config(cls: type[T], path: Path) -> T:
    """Load a TOML file as a dataclass; relative paths start from its folder.

    A field ``path`` of the class is not a key of the file: it gets the path itself.

    Raises:
        ConfigError: If the file cannot be read, a key is unknown or missing, or a value is wrong.
    """
    return parse_config(cls, read_toml(path), path)


def parse_config(cls: type[T], table: Mapping[str, Any], path: Path) -> T:
    """Make a dataclass of the content of a TOML file; see ``load_config``."""
    keys = dict(table)
    if any(field.name == "path" for field in dataclasses.fields(cls)):  # type: ignore[arg-type]
        if "path" in keys:
            raise ConfigError(f"{path}: unknown key 'path', {_near('path', cls)}")
        keys["path"] = path.name
    return check_config(cls, keys, str(path), path.parent)


def check_config(cls: type[T], table: object, where: str, folder: Path | None = None) -> T:
    """Make a dataclass of plain values.

    Args:
        cls: The dataclass. Its annotations have the limits; ``__post_init__`` may raise a
            ``ValueError`` that begins with the name of the key, for what depends on several keys.
            If it has a true ``holds_keys``, no message quotes a text, which might be secret.
        table: The values.
        where: Begins the message: a file, or a file and a table.
        folder: What relative paths start from.

    Raises:
        ConfigError: If a key is unknown or missing, or a value is wrong.
    """
    from pydantic import TypeAdapter, ValidationError

    if "__pydantic_config__" not in cls.__dict__:
        cls.__pydantic_config__ = _OPTIONS  # type: ignore[attr-defined]
    try:
        # As JSON, since lists are tuples and strings are paths there even if the check is strict.
        text = json.dumps(table, default=str)
        return TypeAdapter(cls).validate_json(text, context=folder)
    except ValidationError as error:
        found = error.errors(include_url=False)
    # A misspelt key explains a missing one.
    found.sort(key=lambda one: one["type"] != "unexpected_keyword_argument")
    raise ConfigError(f"{where}: {printable(_told(found[0], found, cls))}")


def one_of(name: str, known: Sequence[str], key: str) -> None:
    """Refuse a name that is not known.

    Raises:
        ConfigError: If it is not; the message offers the nearest.
    """
    if name not in known:
        raise ConfigError(f"{key} is '{name}', {nearest(name, list(known))}")


def check_keys(table: Iterable[str], known: Sequence[str], key: str) -> None:
    """Refuse a table with a key that is not known.

    Raises:
        ConfigError: If there is one; the message offers the nearest.
    """
    for name in table:
        if name not in known:
            raise ConfigError(f"{_UNKNOWN}{key}.{name}', {nearest(name, list(known))}")


def _told(error: ErrorDetails, errors: Sequence[ErrorDetails], cls: type) -> str:
    """Return the sentence for an error."""
    problem, value, more = error["type"], error["input"], error.get("ctx", {})
    place = _place(error["loc"], cls)
    key, name = _dotted(place.keys), place.keys[-1] if place.keys else ""
    hides = getattr(cls, "holds_keys", False) and problem != "literal_error"
    hidden = _TYPES.get(type(value)) if hides else None
    found = f"{key or 'it'} is {hidden or _shown(value)}"
    if problem == "unexpected_keyword_argument":
        return f"{_UNKNOWN}{key}', {_near(name, place.owner)}"
    if problem == "missing":
        return f"{key} is missing{_how_to_add(str(name), place.kind)}"
    if problem == "value_error":
        reason = str(more["error"])
        if reason.startswith("expected"):
            return f"{found}, {reason}"
        if reason.startswith(_UNKNOWN) and key:
            return reason.replace(_UNKNOWN, f"{_UNKNOWN}{key}.", 1)
        names = [field.name for field in dataclasses.fields(_bare(place.kind)[0])]
        joint = "." if re.split(r"\W", reason)[0] in names else ": "
        return f"{key}{joint}{reason}" if key else reason
    if problem == "literal_error":
        allowed = [str(one) for one in get_args(_bare(place.kind)[0])]
        offer = nearest(value, allowed) if isinstance(value, str) else ""
        return f"{found}, expected {more['expected']}" + (f", {offer}" if "did" in offer else "")
    if not more.keys().isdisjoint(_LIMITS):
        return f"{found}, expected {_range(_bare(place.kind)[1])}"
    branches = [one for one in errors if _place(one["loc"], cls).keys == place.keys]  # of a union
    kinds = dict.fromkeys(_NAMES.get(one["type"], one["msg"].lower()) for one in branches)
    return f"{found}, expected {' or '.join(kinds)}"


def _range(marks: Sequence[Any]) -> str:
    """Return all limits of a value."""
    found = {name: getattr(one, name) for one in marks for name in _LIMITS if hasattr(one, name)}
    told = {n: f"{int(v) if v == int(v) else v:,}" for n, v in found.items()}
    if found.keys() == {"ge", "le"}:
        return f"{told['ge']} to {told['le']}"
    if found.get("min_length") == found.get("max_length") is not None:
        return f"{told['min_length']} of them"
    return " and ".join(text.format(told[name]) for name, text in _LIMITS.items() if name in told)


class _Place(NamedTuple):
    """Where an error is: the keys, the dataclass that has the last of them, and its type."""

    keys: tuple[str | int, ...]
    owner: Any
    kind: Any


def _place(loc: Sequence[str | int], cls: Any) -> _Place:
    """Follow the keys of an error, without the branches of unions that it ends with."""
    kind = owner = cls
    for number, key in enumerate(loc):
        bare, _ = _bare(kind)
        origin = get_origin(bare)
        if dataclasses.is_dataclass(bare):
            owner, kind = bare, get_type_hints(bare, include_extras=True).get(str(key))
        elif origin is tuple:
            kind = get_args(bare)[0]
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            kind = get_args(bare)[1]
        else:
            return _Place(tuple(loc[:number]), owner, kind)
    return _Place(tuple(loc), owner, kind)


def _bare(kind: Any) -> tuple[Any, list[Any]]:
    """Return a type without None and without marks; and the marks."""
    marks: list[Any] = []
    while True:
        inner = [one for one in get_args(kind) if one is not type(None)]
        if get_origin(kind) is Annotated:
            marks += kind.__metadata__
        elif get_origin(kind) not in (Union, types.UnionType) or len(inner) > 1:
            return kind, marks
        kind = inner[0]


def _how_to_add(name: str, kind: Any) -> str:
    """Return how to write a table that is missing; empty for a plain key."""
    bare, _ = _bare(kind)
    several = get_origin(bare) is tuple
    if not dataclasses.is_dataclass(get_args(bare)[0] if several else bare):
        return ""
    return f"; add a table [[{name}]]" if several else f"; add a table [{name}]"


def _dotted(place: Sequence[str | int]) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return text.removeprefix(".")


def _near(key: object, owner: Any) -> str:
    known = [field.name for field in dataclasses.fields(owner) if field.name != "path"]
    return nearest(str(key), known)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
