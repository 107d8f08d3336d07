"""Which reading does a free translation carry? Judges choose between the candidates of an item.

A contrastive item has one candidate per reading of its source. A judge sees the source and what a
system made of it, with the candidates in an order drawn for judge and translation, and not which of
them is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boxpen.errors import RunError
from boxpen.review.guides import READINGS
from boxpen.review.journal import Journal
from boxpen.review.judgement import Option, Question, VerdictSet
from boxpen.review.translations import TranslationTask
from boxpen.runs.run import Run
from boxpen.scoring.reading import Reading
from boxpen.scoring.verdicts import Verdict

__all__ = ["NEITHER", "FreeTranslation", "ReadingTask", "free_translations"]

NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class FreeTranslation:
    """What one system made of the source of a contrastive item.

    Attributes:
        run: Name of the run that it is from.
        id: Of the item.
        candidates: The readings, in the order of the suite.
        gold: The reading that is right.
        cluster: What the item is not independent of: its block.
        part: The part of the suite.
        language: Of the translation.
    """

    run: str
    id: str
    source: str
    translation: str
    candidates: tuple[str, ...]
    gold: int
    cluster: str
    part: str = ""
    context: str | None = None
    language: str | None = None

    @property
    def question(self) -> Question:
        """What judges are asked; a verdict is the number of a candidate, from 1, or 'neither'."""
        texts = {"context": self.context, "source": self.source, "translation": self.translation}
        shown = {name: text for name, text in texts.items() if text is not None}
        numbered = (Option(text, str(n)) for n, text in enumerate(self.candidates, 1))
        options = tuple(sorted(numbered))  # in the suite, the right one is often the first
        # The digest tells translations of an item apart without telling who made them.
        name = f"{self.id}/{Question(self.id, shown, options=options).digest}"
        return Question(name, shown, part=self.part, unit=self.id, options=options)


class ReadingTask(TranslationTask[FreeTranslation]):
    """Which of the candidates has the meaning of the translation? Other errors do not count."""

    name = "readings"
    target = "runs of translation models on a contrastive suite"
    journal_file = "readings.jsonl"
    only_by_name = True
    guide = READINGS

    def __init__(
        self, made: Sequence[FreeTranslation], journal: Journal | None = None, runs: int = 1
    ) -> None:
        super().__init__(made, journal, runs)
        most = max((len(one.candidates) for one in made), default=0)
        numbers = {str(number): () for number in range(1, most + 1)}
        self.verdicts = VerdictSet({**numbers, NEITHER: ("n",)}, beside=frozenset({NEITHER}))

    @classmethod
    def translations(cls, systems: Iterable[tuple[str, Sequence[Run]]]) -> list[FreeTranslation]:
        """Return what systems made of the sources of items whose candidates differ."""
        found = [made for _, runs in systems for run in runs for made in free_translations(run)]
        return [made for made in found if len(set(made.candidates)) == len(made.candidates)]

    def question(self, one: FreeTranslation) -> Question:
        """Return the question about a translation."""
        return one.question


def free_translations(run: Run) -> list[FreeTranslation]:
    """Return the translations of a run whose items have candidates to choose from.

    Raises:
        RunError: If there are none.
    """
    asked: dict[str, Verdict | Reading] = {one.id: one for one in run.readings or run.verdicts}
    suite = run.info.suite.name  # other suites may call their blocks the same
    found = []
    for made in run.translations:
        item = asked.get(made.id)
        if item is None:
            continue
        if isinstance(item, Reading):  # also of what its judge left undecided
            candidates = item.candidates
        else:
            candidates = tuple(scored.text.strip() for scored in run.candidates[made.id])
        found.append(
            FreeTranslation(
                run=run.name,
                id=made.id,
                source=made.source,
                translation=made.translation,
                candidates=candidates,
                gold=item.gold,
                cluster=f"{suite}, block {item.block or made.id}",
                part=made.tags.get("set", ""),
                context=made.context,
                language=made.language,
            )
        )
    if not found:
        raise RunError(
            f"run {run.name} has no translations of items with candidates; expected the run of a "
            "translation model on a contrastive suite, made without --no-bleu"
        )
    return found
