"""Commands and groups: options shared as dataclasses, several values per option, plain help."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

__all__ = ["Command", "Group", "MultiValueCommand", "command", "group"]

F = TypeVar("F", bound=Callable[..., None])
PANELS = ("Evaluate", "Look", "Suites", "Build", "Review", "Train")
"""Sections of ``boxpen --help``, in order."""
_METAVARS = {
    "str": "TEXT",
    "path": "PATH",
    "int": "N",
    "int range": "N",
    "float": "X",
    "float range": "X",
}


class Group(TyperGroup):
    """A group whose help lists commands by panel, with complete summaries."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in PANELS}
        for name in self.list_commands(ctx):
            found: Any = self.get_command(ctx, name)
            panel = found.rich_help_panel
            rows = panels.setdefault(panel if isinstance(panel, str) else "Commands", [])
            rows.append((name, found.help.partition("\n")[0]))
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])


class Command(TyperCommand):
    """A command whose help names values as users do: FILE, N, a|b; not by Python types."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, and then options by panel."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if param.param_type_name == "argument":
                title, name = "Arguments", _name(param)
            else:
                panel = getattr(param, "rich_help_panel", None)
                title, name = panel or "Options", re.sub("<(.*?)>", _metavar, record[0])
            sections.setdefault(title, []).append((name, record[1]))
        for title in sorted(sections, key=lambda title: title != "Arguments"):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                several = "..." if param.nargs != 1 else ""
                pieces.append((_name(param) if param.required else f"[{_name(param)}]") + several)
        return pieces


class MultiValueCommand(Command):
    """A command whose repeatable options take several values: ``--suite commonmt cats``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the name of the option before each of its further values."""
        repeatable = {
            name
            for p in self.params
            if isinstance(p, TyperOption) and p.multiple
            for name in p.opts
        }
        out: list[str] = []
        option: str | None = None
        fresh = False  # the option's own value comes next
        for arg in args:
            if arg.startswith("-") and len(arg) > 1:
                option, fresh = (arg, True) if arg in repeatable else (None, False)
                out.append(arg)
            elif option is None or fresh:
                out.append(arg)
                fresh = False
            else:
                out += [option, arg]
        return super().parse_args(ctx, out)


def group(parent: typer.Typer, name: str, summary: str, panel: str) -> typer.Typer:
    """Add a group of commands."""
    made = typer.Typer(cls=Group, no_args_is_help=True, help=summary, rich_markup_mode=None)
    parent.add_typer(made, name=name, rich_help_panel=panel)
    return made


def command(
    parent: typer.Typer,
    name: str,
    *,
    cls: type[Command] = Command,
    panel: str = "Commands",
) -> Callable[[F], F]:
    """Add a command; its docstring is its help.

    A parameter whose type is a dataclass stands for its fields: options that several commands
    share are defined once. Its class attribute ``panel`` names their section in the help.
    """

    def add(function: F) -> F:
        parent.command(name, cls=cls, rich_help_panel=panel)(_flattened(function))
        return function

    return add


def _flattened(function: Callable[..., None]) -> Callable[..., None]:
    shared: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        shared[parameter.name] = kind
        hints = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            missing = field.default is dataclasses.MISSING
            info = copy(hints[field.name].__metadata__[0])
            info.rich_help_panel = getattr(kind, "panel", None)
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if missing else field.default,
                    annotation=Annotated[hints[field.name].__origin__, info],
                )
            )

    def called(**values: Any) -> None:
        for name, kind in shared.items():
            own = {field.name: values.pop(field.name) for field in dataclasses.fields(kind)}
            values[name] = kind(**own)
        function(**values)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _metavar(found: re.Match[str]) -> str:
    """Return what stands for a value in help: of ``<list[str]>``, TEXT; of ``<a|b>``, a|b."""
    kind = re.sub(r"^list\[(.*)]$", r"\1", found[1])
    return _METAVARS.get(kind.lower(), kind)
