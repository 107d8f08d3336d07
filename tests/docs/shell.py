"""Runs command lines of a page in this process, in the folder of a reader."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pages import Command
from reader import Reader, boxpen_run
from typer.testing import CliRunner

from boxpen.cli.app import app

MODELS = {"--model", "--base"}
WRITTEN = {
    "--out",
    "--html",
    "--junit",
    "--svg",
    "--to",
    "--cache",
    "--judge",
    "--judges",
    "--task",
}
"""Options whose values are models, and options whose values are not read."""


TREE: Any = typer.main.get_command(app)
ONE_WORD = {name for name, command in TREE.commands.items() if not hasattr(command, "commands")}


class Shell:
    """A small shell: variables, ``cd``, ``&&``, ``>`` and commands of boxpen."""

    def __init__(self, reader: Reader, patch: pytest.MonkeyPatch) -> None:
        self.reader, self.patch = reader, patch
        self.judged: dict[str, str] = {}
        patch.chdir(reader.home)
        patch.setenv("BOXPEN_CACHE", str(reader.home / ".cache"))
        patch.setattr("uvicorn.Server.run", lambda self, sockets: None)
        patch.setattr("boxpen.models.loading.embedded.SMOLLM2_SHA256", reader.embedded())

    def run(self, command: Command) -> None:
        for part in command.text.split(" | ")[0].split(" && "):
            self.one(command, shlex.split(part))

    def one(self, command: Command, words: list[str]) -> None:
        while re.match(r"[A-Z_]+=", words[0]) or words[0] == "export":
            name, _, value = words.pop(0).partition("=")
            if name not in ("export", "BOXPEN_MIRROR"):
                self.patch.setenv(name, value)
            if not words:
                return
        if words[0] == "cd":
            self.patch.chdir(words[1])
            return
        if words[:2] == ["boxpen", "cache"]:  # of which there is one after the first run
            boxpen_run(
                "run", *self.reader.files("mine.csv"), "--model", self.reader.model("hf:gpt2")
            )
        if words[0] == "torchrun":
            words = words[words.index("boxpen") :]
        assert words[0] == "boxpen", f"{command}: it is neither run nor listed in listed.py"
        self.boxpen(command, words[1:])

    def boxpen(self, command: Command, words: list[str]) -> None:
        words, target = _cut(words, ">")
        said = self.substituted(words)
        if said[:2] != ["review", "serve"] and "--journal" in said:
            self.judge(said)
        done = CliRunner().invoke(app, said, input="q")
        fine = (0, 1) if said[0] == "check" or said[1] == "lint" else (0,)
        assert done.exit_code in fine, (
            f"{command}\n{shlex.join(said)}\n{done.output}{done.exception!r}"
        )
        if target:
            Path(target).write_text(done.stdout, "utf-8")
            self.reader.edit(target)

    def judge(self, said: list[str]) -> None:
        """Let people judge what is served, so that its database holds what a command reads."""
        place = said.index("--journal") + 1
        first = 1 + (said[0] in ("review", "discourse"))
        target, task = said[first], {"errors": "errors", "discourse": "classes"}.get(said[0])
        if said[place].endswith(".db"):
            if self.judged.get(said[place], target) != target:  # a database holds one campaign
                said[place] = f"{said[0]}.db"
            if said[place] not in self.judged:
                self.judged[said[place]] = target
                self.reader.judged([target], ["--task", task] if task else [], said[place])

    def substituted(self, words: list[str]) -> list[str]:
        """Return the words with small models, suites and files for those that are named."""
        command = " ".join(words[:2])
        names = 1 if words[0] in ONE_WORD else 2
        out = words[:names]
        option = ""
        positional = 0
        for word in words[names:]:
            if word.startswith("-"):
                option = word
                out.append(word)
                continue
            positional += not option
            first = positional == 1 and not option
            if option in MODELS or (first and words[0] in ("translate", "model")):
                out.append(self.reader.model(word))
            elif option in WRITTEN:
                if command == "suite import" and word in self.reader.made:
                    Path(word).unlink()
                out.append(word)
            elif command == "review import" and word.endswith(".csv"):
                self.reader.sheet(word)
                out.append(word)
            elif word.endswith("results_DATE.json"):
                out.append(self.reader.harness_log(word))
            elif words[1] == "example":
                out.append(word)
            else:
                before = set(self.reader.made)
                out += self.reader.files(self.reader.suite(word))
                if (
                    words[0] == "review"
                    and word.endswith(".toml")
                    and word in self.reader.made - before
                ):
                    boxpen_run("build", "run", word)
        return self.shortened(words, out)

    def shortened(self, words: list[str], out: list[str]) -> list[str]:
        """Return the words with options that keep a command short."""
        if words[0] == "check":
            return [*out, "--allow-sample"]
        if "--over" in out:
            out[out.index("--over") + 1] = "2"
        if words[:2] == ["review", "export"]:  # pages use the same names again
            return [*out, "--overwrite"]
        if words[0] == "run" and "--plan" not in words and "baseline" not in words:
            default = "--suite" not in words and (not words[1:] or words[1].startswith("-"))
            if default or any(word.startswith("starter") for word in words):
                out = [word for word in out if word != "--full"]
                if "--limit" in out:
                    out[out.index("--limit") + 1] = "4"
                else:
                    out += ["--limit", "4"]
            elif "--limit" not in out:
                out += ["--limit", "40"]
        return out


def _cut(words: list[str], mark: str) -> tuple[list[str], str]:
    place = words.index(mark) if mark in words else len(words)
    return words[:place], "".join(words[place + 1 :])
