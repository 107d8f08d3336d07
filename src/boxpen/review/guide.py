"""What a judge reads before judging: instructions, worked examples, and the verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Example", "Guide", "Label"]


class Label(NamedTuple):
    """A verdict in words."""

    label: str
    help: str
    field: str = ""
    """Name of the shown text that an edit replaces, for verdicts that need one."""


class Example(NamedTuple):
    """An item, the right verdict on it, and why."""

    shown: Mapping[str, str]
    answer: str
    """A verdict, or the number of an option."""
    why: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Guide:
    """What a judge reads about a task.

    Attributes:
        title: The question, in a few words.
        instructions: Short paragraphs.
        examples: Two or three, which cover the difficult cases.
        labels: Every verdict in words; verdicts that are not named here are shown as they are.
    """

    title: str = ""
    instructions: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    labels: Mapping[str, Label] = field(default_factory=dict)

    def label(self, verdict: str) -> Label:
        """Return a verdict in words."""
        return self.labels.get(verdict) or Label(verdict, "")
