"""The tree of commands: small, described in full, and the one that the documentation names."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from boxpen.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md",
         *sorted((ROOT / "docs").rglob("*.md"))]  # fmt: skip
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TREE: Any = typer.main.get_command(app)


def walk(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, *names, name)


COMMANDS = dict(walk(TREE))
LEAVES = {names: found for names, found in COMMANDS.items() if not hasattr(found, "commands")}
BELOW = [names for names in COMMANDS if names]


def summary(command: Any) -> str:
    return command.help.partition("\n")[0]


def test_it_is_small_and_flat():
    assert len(LEAVES) <= 50
    assert max(map(len, LEAVES)) <= 2


@pytest.mark.parametrize("names", BELOW, ids=" ".join)
def test_summaries_are_sentences_that_fit_a_line(names):
    found = summary(COMMANDS[names])
    assert re.fullmatch(r"[A-Z].*[.?]", found)
    assert len(found) <= 60


@pytest.mark.parametrize("names", [(), *BELOW], ids=" ".join)
def test_help_fits_80_columns_and_shows_no_python_types(names, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, [*names, "--help"])
    assert done.exit_code == 0, done.output
    assert "list[" not in done.stdout
    assert "<" not in done.stdout  # <str>, <path>, <object at …>
    assert max(map(len, done.stdout.splitlines())) <= 80
    for name, below in getattr(COMMANDS[names], "commands", {}).items():
        assert re.search(rf"^  {name} +{re.escape(summary(below))}$", done.stdout, re.M)


def test_commands_are_grouped():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    panels = re.findall(r"^(\w+):$", shown, re.M)
    assert panels == ["Options", "Evaluate", "Look", "Suites", "Build", "Review", "Train"]


def test_every_option_has_help():
    bare = [
        (*names, param.name)
        for names, found in LEAVES.items()
        for param in found.params
        if not (param.help or "").endswith((".", "…"))
    ]
    assert bare == []


def test_help_is_fast():
    command = [sys.executable, "-X", "importtime", "-m", "boxpen", "--help"]
    times = []
    for _ in range(3):
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.monotonic() - begun)
    assert min(times) < 1.5  # 0.2 s on an idle machine
    heavy = re.findall(r"\| +(torch|transformers|polars|scipy|rich|numpy)$", done.stderr, re.M)
    assert heavy == []


def documented(page: Path) -> Iterator[str]:
    """Yield the commands in the code of a page, without comments."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^(?:    |\$ )(?:\S+=\S+ )*(boxpen .*)$", text, re.M)
    blocks += [
        line
        for block in re.findall(r"^```.*?^```", text, re.M | re.S)
        for line in re.findall(r"^(?:\$ )?(boxpen .*)$", block, re.M)
    ]
    yield from blocks
    yield from re.findall(r"`(?:[^`]*-m )?(boxpen [a-z][^`]*)`", text)


def quoted(source: Path) -> Iterator[str]:
    """Yield the commands in the strings of a module: quoted ones, and any that begin as one."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"['`](boxpen [a-z][^'`]*)['`]", node.value)
            for found in re.findall(r"\bboxpen [a-z]+(?: -{0,2}[a-z][a-z-]*)*", node.value):
                if (found.split()[1],) in COMMANDS:
                    yield found


def unknown(command: str) -> str | None:
    """Return what is wrong with a command: a name or an option that does not exist."""
    command = re.split(r" #| \||[>;]|\(", command.replace("\n", " "))[0]
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    names: tuple[str, ...] = ()
    while words and hasattr(COMMANDS[names], "commands") and (*names, words[0]) in COMMANDS:
        names = (*names, words.pop(0))
    here = COMMANDS[names]
    if hasattr(here, "commands") and words and re.fullmatch("[a-z]+", words[0]):
        return f"no command {' '.join((*names, words[0]))}"
    if not names:
        return None
    known = {o for p in here.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    options = re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", " ".join(words))
    return next((f"{' '.join(names)} has no {o}" for o in options if o not in known), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documented_commands_exist(page):
    wrong = {command: why for command in documented(page) if (why := unknown(command))}
    assert wrong == {}


def test_messages_and_help_name_commands_that_exist():
    prose = {"and", "in", "is", "on", "to", "of", "with", "leaves", "has", "takes"}
    wrong = {}
    for source in SOURCES:
        for command in quoted(source):
            words = command.split()
            stop = next((n for n, w in enumerate(words) if w in prose), len(words))
            if why := unknown(" ".join(words[:stop])):
                wrong[str(source.relative_to(ROOT)), command] = why
    assert wrong == {}


def test_commands_that_do_not_exist_are_found():
    assert unknown("boxpen nmt train x.toml") == "no command nmt"
    assert unknown("boxpen review show") == "no command review show"
    assert unknown("boxpen run --suites starter") == "run has no --suites"
    assert unknown("boxpen run --suite starter  # --not-read") is None


@pytest.mark.parametrize("words", [[], ["suite"]])
def test_no_arguments_show_the_help(words):
    done = CliRunner().invoke(app, words)
    assert "\nOptions:\n" in done.output
    assert "\\n" not in done.output
