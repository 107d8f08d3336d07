"""Review of the translations of runs: what their tasks have in common.

Judges do not see which system made a translation; if several made the same one, it is judged once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from boxpen.errors import BuildError
from boxpen.review.journal import Journal
from boxpen.review.judgement import Question
from boxpen.review.task import Review, ReviewTask, Target
from boxpen.runs.directory import run_directories
from boxpen.runs.run import Run

__all__ = ["TranslationTask"]

T = TypeVar("T")


class TranslationTask(ReviewTask, Generic[T]):
    """A question about every translation.

    Args:
        made: The translations.
        journal: Where judgements are kept.
        runs: How many runs they are from.
    """

    noun = "translation"
    journal_file: ClassVar[str]

    def __init__(self, made: Sequence[T], journal: Journal | None = None, runs: int = 1) -> None:
        self.made = made
        self.journal = journal or Journal(self.journal_file)
        self.origin = "run" if runs == 1 else "set of runs"

    @classmethod
    def find(cls, target: Target) -> Self | None:
        """Return the task for runs; the names of systems do not matter."""
        if not target.runs:
            return None
        journal = target.journal_beside(target.runs, cls.journal_file, cls.name)
        systems = [(run.name, [run]) for run in target.loaded_runs]
        return cls(cls.translations(systems), journal, len(systems))

    @classmethod
    def beside(cls, made: Sequence[T], runs: Sequence[Path], journal: Path | str | None) -> Self:
        """Return the task for translations of runs, with its journal beside their directories."""
        places = run_directories(runs)
        target = Target(tuple(map(str, runs)), journal)
        return cls(made, target.journal_beside(places, cls.journal_file, cls.name))

    def check_decided(self, review: Review) -> None:
        """Refuse a review in which no translation is decided.

        Raises:
            BuildError: If so.
        """
        if all(decision.verdict is None for decision in review.decisions.values()):
            raise BuildError(
                f"no translation is decided: {self.journal.path} has {len(review.given)} "
                "judgement(s) of these runs; see boxpen review status"
            )

    @classmethod
    @abstractmethod
    def translations(cls, systems: Iterable[tuple[str, Sequence[Run]]]) -> list[T]:
        """Return what systems made of the sources of their suites.

        Args:
            systems: Names, and the runs of each; what is translated in two of them counts once.
        """

    @abstractmethod
    def question(self, one: T) -> Question:
        """Return what is asked about a translation, the same for all systems."""

    def questions(self) -> list[Question]:
        """Return one question per translation.

        Questions come in the order of items; those of one item in an order that depends only on
        their texts, so that it does not give away the system.
        """
        of_item: dict[str, dict[str, Question]] = {}
        for question in map(self.question, self.made):
            of_item.setdefault(question.unit, {})[question.item] = question
        return [some[name] for some in of_item.values() for name in sorted(some)]
