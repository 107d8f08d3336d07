"""Parses commands that are not run, with the parser of the program that they call."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from pages import ROOT, Command
from shell import TREE


class _ParsedError(Exception):
    """A script has parsed its arguments."""


def parse(command: Command, patch: pytest.MonkeyPatch) -> None:
    """Fail if a command could not be parsed where it would be run."""
    words = command.words
    while re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    programs: dict[str, Callable[[Command, list[str], pytest.MonkeyPatch], None]] = {
        "python": _script, "make": _target, "pip": _requirements, "lm_eval": _harness,
    }  # fmt: skip
    if words[0] in programs:
        programs[words[0]](command, words[1:], patch)
    for part in re.findall(r"\bboxpen [^&;|]+", command.text):
        if words[0] not in ("python", "pip", "pytest", "docker") and "…" not in part:
            _boxpen(command, shlex.split(part)[1:], patch)


def _boxpen(command: Command, words: list[str], patch: pytest.MonkeyPatch) -> None:
    for found in _leaves(TREE):
        patch.setattr(found, "callback", lambda **_: None)
    try:
        TREE.main(words, "boxpen", standalone_mode=False)
    except Exception as error:
        raise AssertionError(f"{command}\n{error}") from error


def _leaves(command: Any) -> list[Any]:
    below = getattr(command, "commands", {}).values()
    return [leaf for one in below for leaf in _leaves(one)] if below else [command]


def _script(command: Command, words: list[str], patch: pytest.MonkeyPatch) -> None:
    if words[0] == "-c":
        compile(words[1], str(command), "exec")
        return
    if words[0] == "-m":
        return
    path = ROOT / words[0]
    assert path.is_file(), f"{command}: there is no {words[0]}"
    if "argparse" not in path.read_text("utf-8"):
        return
    for name in ("parse_args", "parse_intermixed_args"):
        patch.setattr(
            argparse.ArgumentParser, name, _stopped(getattr(argparse.ArgumentParser, name))
        )
    patch.setattr("sys.argv", [str(path), *("1" if word == "SEED" else word for word in words[1:])])
    patch.syspath_prepend(path.parent)
    with pytest.raises(_ParsedError):
        runpy.run_path(str(path), run_name="__main__")


def _stopped(parse_args: Callable[..., Any]) -> Callable[..., None]:
    def stop(*args: Any, **options: Any) -> None:
        parse_args(*args, **options)
        raise _ParsedError

    return stop


def _target(command: Command, words: list[str], patch: pytest.MonkeyPatch) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert words[0] in targets, f"{command}: the Makefile has no {words[0]}"


def _requirements(command: Command, words: list[str], patch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extras in re.findall(r"(?:boxpen|\.)\[([\w,-]+)\]", " ".join(words)):
        missing = set(extras.split(",")) - set(project["optional-dependencies"])
        assert not missing, f"{command}: there is no extra {missing}"
    if "-c" in words:
        assert (ROOT / words[words.index("-c") + 1]).is_file(), command


def _harness(command: Command, words: list[str], patch: pytest.MonkeyPatch) -> None:
    try:
        from lm_eval._cli.harness import HarnessCLI
    except ImportError:
        return
    patch.setattr("sys.argv", ["lm_eval", *words])
    HarnessCLI().parse_args()
