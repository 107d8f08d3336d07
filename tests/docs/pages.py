"""Commands and code blocks of the documentation, in the order in which a reader meets them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PROGRAMS = {
    "boxpen", "python", "python3", "pytest", "pip", "make", "lm_eval", "inspect", "torchrun",
    "srun", "ssh", "docker", "git", "cd", "export", "env", "for", "mkdir", "cp", "curl", "tar",
    "ray", "hf", "uv",
}  # fmt: skip
SHELLS = {"", "bash", "sh", "shell", "console"}
_ASSIGNED = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Command:
    """One command line of a page; continuation lines are joined, comments are left out."""

    page: str
    line: int
    text: str
    alone: bool = False
    """Whether it stands in a table, so that no command before it belongs to it."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int
    language: str
    text: str
    title: str = ""
    """The name of the file that it is, from ``title="…"`` or a comment in its first line."""


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, and indented code as blocks without a language."""
    name = str(page.relative_to(ROOT))
    lines, begun, language, title = page.read_text("utf-8").splitlines(), 0, "", ""
    held: list[str] = []
    fenced = False
    for number, line in enumerate([*lines, ""], 1):
        fence = re.match(r" *(?:```|~~~)([\w-]*)(?: title=\"(.+)\")?", line)
        indented = not fenced and line.startswith("    ")
        if not fenced and held and not indented:
            yield Block(name, begun, "", "\n".join(held) + "\n")
            held = []
        if fence and fenced:
            first = held[0].removeprefix("# ") if held else ""
            title = title or (first if re.fullmatch(r"[\w.-]+\.\w+", first) else "")
            yield Block(name, begun, language, "\n".join(held) + "\n", title)
            held, fenced = [], False
        elif fence:
            begun, language, fenced = number + 1, fence[1], True
            title = fence[2] or ""
        elif fenced:
            held.append(line)
        elif indented:
            begun = begun if held else number
            held.append(line[4:])


def commands(page: Path) -> list[Command]:
    """Return the commands of a page, those in cells of tables too."""
    found = [one for block in blocks(page) if block.language in SHELLS for one in _within(block)]
    name = str(page.relative_to(ROOT))
    fewest = 3 if page.stem == "coming-from" else 4  # words; elsewhere three name a command only
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        for cell in line.strip("| ").split(" | ") if line.startswith("| ") else ():
            code = re.match("`(boxpen [^`]+)`", cell)
            if code and len(code[1].split()) >= fewest and not re.search(r"\b[A-Z]{3,}\b", code[1]):
                found.append(Command(name, number, code[1], alone=True))
    return sorted(found, key=lambda command: command.line)


def _within(block: Block) -> Iterator[Command]:
    lines = iter(enumerate(block.text.splitlines(), block.line))
    for number, line in lines:
        line = re.sub(r"^\s*(?:\$ )?", "", line)
        if not _begins(line):
            continue
        while line.endswith("\\") or not _closed(line):
            following = next(lines, None)
            if following is None:
                break
            line = f"{line.removesuffix(chr(92))}\n{following[1].strip()}"
        text = _without_comment(line)
        if len(text.split()) > 1:
            yield Command(block.page, number, text)


def _begins(line: str) -> bool:
    words = line.split()
    while words and _ASSIGNED.match(words[0]):
        words.pop(0)
    return bool(words) and words[0] in PROGRAMS and not re.search(r"^\w+ +\d+ ", line)


def _closed(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def _without_comment(line: str) -> str:
    """Return the line up to a ``#`` that is not within quotes or a word."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place].rstrip()
    return " ".join(line.split("\n")) if "python -c" not in line else line
