"""Write the CLI reference from the commands themselves, at build time: nothing of it is kept.

A command or an option without help stops the build.
"""

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from boxpen.cli.app import app
from boxpen.cli.command import PANELS

MARKER = "<!-- commands -->"


class _Found(NamedTuple):
    path: str  # as it is typed: boxpen suite list
    command: Any
    context: Any


class _Collected:
    """What a command writes as its help, by section."""

    def __init__(self) -> None:
        self.sections: dict[str, list[tuple[str, str]]] = {}
        self._title = ""

    @contextmanager
    def section(self, title: str) -> Iterator[None]:
        self._title = title
        yield

    def write_dl(self, rows: list[tuple[str, str]]) -> None:
        self.sections[self._title] = list(rows)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each panel of ``boxpen --help``."""
    for panel, commands in _by_panel().items():
        parts = [f"# {panel}", *(text for found in commands for text in _section(found))]
        page = f"reference/cli/{panel.lower()}.md"
        files.append(File.generated(config, page, content="\n\n".join(parts) + "\n"))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """List the commands, with links, where a page asks for it."""
    if MARKER not in markdown:
        return markdown
    parts = []
    for panel, commands in _by_panel().items():
        parts.append(f"## {panel}\n\n| command | |\n|---|---|")
        for found in commands:
            link = f"cli/{panel.lower()}.md#{found.path.replace(' ', '-')}"
            parts[-1] += f"\n| [`{found.path}`]({link}) | {_summary(found)} |"
    return markdown.replace(MARKER, "\n\n".join(parts))


def _by_panel() -> dict[str, list[_Found]]:
    """Return every command: those of a group belong to the panel of the group."""
    root: Any = typer.main.get_command(app)
    context = root.context_class(root, info_name="boxpen")
    found: dict[str, list[_Found]] = {panel: [] for panel in PANELS}
    for name in root.list_commands(context):
        top = root.get_command(context, name)
        found[top.rich_help_panel] += _walk(
            top, root.context_class(top, info_name=name, parent=context)
        )
    return found


def _walk(command: Any, context: Any) -> Iterator[_Found]:
    yield _Found(context.command_path, command, context)
    for name, one in getattr(command, "commands", {}).items():
        yield from _walk(one, type(context)(one, info_name=name, parent=context))


def _summary(found: _Found) -> str:
    if not found.command.help:
        raise PluginError(f"{found.path} has no help")
    return str(found.command.help).partition("\n")[0]


def _section(found: _Found) -> Iterator[str]:
    """Write heading, summary, usage, arguments and options of a command."""
    yield f"## {found.path}"
    yield _summary(found)
    if hasattr(found.command, "commands"):
        return
    if more := re.sub(r"^.*\n*", "", found.command.help, count=1):
        yield inspect.cleandoc(more.replace("\b\n", ""))
    usage = " ".join(found.command.collect_usage_pieces(found.context))
    yield f"```text\n{found.path} {usage}\n```"
    collected = _Collected()
    found.command.format_options(found.context, collected)
    for title, rows in collected.sections.items():
        yield f"**{title}**"
        for name, said in rows:
            if not said.strip() or said.lstrip().startswith("["):
                raise PluginError(f"{found.path} {name} has no help")
            yield f"`{name}`\n:   {_escaped(said)}"


def _escaped(text: str) -> str:
    """Keep angle brackets, stars and the brackets of defaults as they are."""
    plain = re.sub(r"([\\*_<>\[\]{}|])", r"\\\1", text)
    return re.sub(r" +\\\[(default: )\(?(.*?)\)?\\\]$", r" *(\1\2)*", plain)
