"""What others may rely on: names, parameters, commands, options and versions of formats.

``tests/public_api.txt`` lists it. If a change is meant, and fits docs/explanation/versioning.md:

    python tests/test_public_api.py > tests/public_api.txt
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import boxpen

FILE = Path(__file__).with_name("public_api.txt")


def api() -> Iterator[str]:
    """Yield one line per promise."""
    yield "# Python"
    for name in sorted(boxpen.__all__):
        yield from _python(f"boxpen.{name}", getattr(boxpen, name))
    yield ""
    yield "# Command line"
    yield from _commands()
    yield ""
    yield "# Formats"
    yield from _formats()
    yield ""
    yield "# Plug-ins and names"
    yield from _names()


def _python(name: str, thing: Any) -> Iterator[str]:
    if isinstance(thing, type):
        bases = ", ".join(b.__name__ for b in thing.__bases__ if b is not object)
        shown = "" if issubclass(thing, Exception) else _signature(thing)
        yield f"class {name}{shown}" + (f" of {bases}" if bases else "")
        if issubclass(thing, Exception):
            return
        for own, member in sorted(vars(thing).items()):
            if own.startswith("_"):
                continue
            raw = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(raw):
                yield f"    {own}{_signature(raw)}"
            elif isinstance(member, property) or type(member).__name__ == "cached_property":
                yield f"    {own}"
    elif callable(thing):
        yield f"{name}{_signature(thing)}"
    else:
        yield name


def _signature(thing: Any) -> str:
    if type(thing).__name__ == "_Evaluate":  # a module that is called
        thing = thing.evaluate
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    return f"({', '.join(map(_parameter, (p for p in parameters if p.name != 'self')))})"


def _parameter(one: inspect.Parameter) -> str:
    star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    only = "=" if one.kind is one.KEYWORD_ONLY and one.default is one.empty else ""
    if one.default is one.empty:
        return f"{star}{one.name}{only}"
    default = one.default.name if isinstance(one.default, Enum) else repr(one.default)
    return f"{one.name}={re.sub(' at 0x[0-9a-f]+', '', default)}"


def _commands() -> Iterator[str]:
    import typer.main

    from boxpen.cli.app import app

    def walk(command: Any, words: list[str]) -> Iterator[str]:
        line = " ".join(words)
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            if not inner.hidden:
                yield from walk(inner, [*words, name])
        if getattr(command, "commands", None) and len(words) > 1:
            return
        yield line
        for param in command.params:
            if param.name in ("help", "install_completion", "show_completion"):
                continue
            if getattr(param, "hidden", False):
                continue
            if param.param_type_name == "argument":
                yield f"{line} {param.metavar or param.name.upper()}{'' if param.required else '?'}"
                continue
            shown = " / ".join([*param.opts, *param.secondary_opts])
            value = "" if param.is_flag else f" {_value(param)}"
            yield f"{line} {shown}{value}{' ...' if param.multiple else ''}"

    yield from walk(typer.main.get_command(app), ["boxpen"])


def _value(param: Any) -> str:
    choices = get_args(getattr(getattr(param, "type_descriptor", None), "annotation", None))
    return (
        "|".join(choices) if choices and all(map(_is_text, choices)) else param.metavar or "VALUE"
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _formats() -> Iterator[str]:
    from importlib.resources import files

    from boxpen.cluster import units
    from boxpen.runs import info
    from boxpen.scoring.cache import SCORES
    from boxpen.scoring.cache_file import schema

    yield f"run directory: {info.FORMAT}"
    yield f"score cache: {schema.FORMAT}"
    yield f"scores: {SCORES}"
    yield f"units of work: {units.FORMAT}"
    suite = json.loads(files("boxpen.catalog").joinpath("suite.schema.json").read_text("utf-8"))
    yield f"suite schema: {suite.get('$id', suite.get('title'))}"


def _names() -> Iterator[str]:
    from boxpen import plugins
    from boxpen.models.loading.presets import PRESETS

    for registry in vars(plugins).values():
        if isinstance(registry, plugins.Registry) and registry._group:
            yield f"{registry._group}: {', '.join(sorted(registry.builtin))}"
    yield f"models: {', '.join(sorted(PRESETS))}"


def test_the_public_interface_changes_only_on_purpose():
    found = list(api())
    kept = FILE.read_text("utf-8").splitlines()
    changed = list(
        difflib.unified_diff(kept, found, "tests/public_api.txt", "now", lineterm="", n=0)
    )
    assert not changed, (
        "\n"
        + "\n".join(changed)
        + ("\n\nIf this is meant: python tests/test_public_api.py > tests/public_api.txt")
    )


def test_every_name_is_there_and_documented():
    for name in boxpen.__all__:
        thing = getattr(boxpen, name)
        assert name == "__version__" or inspect.getdoc(thing), name


if __name__ == "__main__":
    print("\n".join(api()))
