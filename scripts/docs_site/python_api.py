"""Show the docstrings of the public names that a page lists after ``<!-- docstrings -->``.

The page must name exactly what is in ``boxpen.__all__``; a public name, method or property
without a docstring stops the build.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.exceptions import PluginError

import boxpen

_LIST = re.compile(r"^<!-- docstrings -->\n(`.+?`)\n(?=\n|\Z)", re.M | re.S)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each list of names by their docstrings."""
    named = [name for names in _LIST.findall(markdown) for name in _names(names)]
    if named:
        public = {name for name in boxpen.__all__ if not name.startswith("__")}
        if wrong := public.symmetric_difference(named):
            raise PluginError(f"public on one side only: {', '.join(sorted(wrong))}")
        if missing := [where for name in named for where in _undocumented(name)]:
            raise PluginError(f"no docstring: {', '.join(missing)}")
    return _LIST.sub(_directives, markdown)


def _names(listed: str) -> list[str]:
    return re.findall(r"`(\w+)`", listed)


def _directives(found: re.Match[str]) -> str:
    return "\n".join(f"::: {_path(name)}\n" for name in _names(found[1]))


def _path(name: str) -> str:
    """Return the path of a public name; of ``evaluate``, past the module of that name."""
    home = getattr(boxpen, name).__module__ if name == "evaluate" else "boxpen"
    return f"{home}.{name}"


def _undocumented(name: str) -> Iterator[str]:
    value = getattr(boxpen, name)
    if not getattr(value, "__doc__", None) and hasattr(value, "__name__"):
        yield name
    members = vars(value) if inspect.isclass(value) else {}
    for member, defined in members.items():
        described = inspect.isroutine(defined) or isinstance(defined, property)
        if described and not member.startswith("_") and not inspect.getdoc(defined):
            yield f"{name}.{member}"
