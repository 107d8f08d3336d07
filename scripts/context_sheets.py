"""Blind sheets for two readers, and their answers.

Each reader gets an order of lines and of options of their own, both drawn from a seed, so that the
same call that wrote a sheet reads its answers back.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

READERS = ("A", "B")


@dataclass(frozen=True)
class Asked:
    """What is asked of an item: the right option is the first one, until they are mixed."""

    item: str
    texts: tuple[str, ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One line of one reader's sheet, with its options in the order in which they are shown."""

    name: str
    asked: Asked
    options: tuple[str, ...]

    def chosen(self, verdict: str) -> str | None:
        """Return the option that a verdict names, None for '?'.

        Raises:
            ValueError: If there is no such option.
        """
        if verdict == "?":
            return None
        place = int(verdict) - 1
        if not 0 <= place < len(self.options):
            raise ValueError(f"{self.name}: {verdict!r} is none of {len(self.options)} options")
        return self.options[place]


def lines(questions: Sequence[Asked], reader: str, seed: int) -> list[Line]:
    """Return the lines of a reader's sheet, in their order."""
    rng = random.Random(f"{seed} {reader}")
    chosen = rng.sample(list(questions), len(questions))
    return [
        Line(f"{reader}{number:03}", asked, _turned(asked.options, rng.random()))
        for number, asked in enumerate(chosen, 1)
    ]


def _turned(options: tuple[str, ...], share: float) -> tuple[str, ...]:
    """Turn options round, so that each is first for a like part of all shares from 0 to 1."""
    by = len(options) - 1 - int(share * len(options)) if options else 0
    return options[by:] + options[:by]


def write_sheet(path: Path, heads: Sequence[str], found: Sequence[Line]) -> None:
    """Write a table of tabs: the name of a line, its texts, its options."""
    rows = [["line", *heads], *([line.name, *line.asked.texts, *line.options] for line in found)]
    # Without quotation marks: readers see the texts as they are, and none has a tab.
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def read_answers(path: Path, found: Sequence[Line]) -> Mapping[str, list[str]]:
    """Return the answers to a sheet, by the name of the line.

    Raises:
        ValueError: If a line has no answer, several, or does not exist.
    """
    answers: dict[str, list[str]] = {}
    for row in path.read_text("utf-8").splitlines():
        name, *rest = row.split("\t")
        if name in answers:
            raise ValueError(f"{path}: {name} is answered twice")
        answers[name] = rest
    if set(answers) != {line.name for line in found}:
        raise ValueError(f"{path}: its lines are not those of the sheet")
    return answers
