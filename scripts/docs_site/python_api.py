"""Show the docstrings of the public names that a page lists after ``<!-- docstrings: MODULE -->``.

The page must name exactly what is in ``MODULE.__all__``; a public name, method or property
without a docstring stops the build.
"""

import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from mkdocs.exceptions import PluginError

_LIST = re.compile(r"^<!-- docstrings: ([\w.]+) -->\n(`.+?`)\n(?=\n|\Z)", re.M | re.S)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each list of names by their docstrings."""
    named: dict[str, list[str]] = defaultdict(list)
    for module, names in _LIST.findall(markdown):
        named[module] += _names(names)
    for module, names in named.items():
        _check(module, names)
    return _LIST.sub(_directives, markdown)


def _check(module: str, named: list[str]) -> None:
    source = importlib.import_module(module)
    public = {name for name in source.__all__ if not name.startswith("__")}
    if wrong := public.symmetric_difference(named):
        raise PluginError(f"public on one side only: {', '.join(sorted(wrong))}")
    if missing := [where for name in named for where in _undocumented(name, getattr(source, name))]:
        raise PluginError(f"no docstring: {', '.join(missing)}")


def _names(listed: str) -> list[str]:
    return re.findall(r"`(\w+)`", listed)


def _directives(found: re.Match[str]) -> str:
    return "\n".join(f"::: {_path(found[1], name)}\n" for name in _names(found[2]))


def _path(module: str, name: str) -> str:
    """Return the path of a public name; of ``evaluate``, past the module of that name."""
    home = getattr(importlib.import_module(module), name, None)
    own = getattr(home, "__module__", "")
    return f"{own if own == f'{module}.{name}' else module}.{name}"


def _undocumented(name: str, value: Any) -> Iterator[str]:
    if not getattr(value, "__doc__", None) and hasattr(value, "__name__"):
        yield name
    members = vars(value) if inspect.isclass(value) else {}
    for member, defined in members.items():
        described = inspect.isroutine(defined) or isinstance(defined, property)
        if described and not member.startswith("_") and not inspect.getdoc(defined):
            yield f"{name}.{member}"
