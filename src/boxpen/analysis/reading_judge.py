"""The reading judge: which candidate of a contrastive item does a free translation carry?

Where a suite has class words (pronouns, connectives, ellipsis), the class judge decides; elsewhere
a language model does, by ``scoring.reading``. Both may leave a translation undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from boxpen.analysis.discourse.class_judge import PHENOMENA, judge
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT
from boxpen.errors import ModelError
from boxpen.items import Choice
from boxpen.metrics.summary import Translation
from boxpen.models.base import Model
from boxpen.models.cached import Progress, ScoredRequests, scored
from boxpen.printable import printable
from boxpen.runs.info import ReadingJudgeInfo
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.reading import Reading, ReadingRule

__all__ = ["ReadingJudge"]


@dataclass(frozen=True)
class ReadingJudge:
    """A judge of free translations.

    Attributes:
        model: Scores texts after others, where a suite has no class words.
        rule: How its log-probabilities become a decision.

    Raises:
        ModelError: If the model does not score a text after another.
    """

    model: Model
    rule: ReadingRule = field(default_factory=ReadingRule)

    def __post_init__(self) -> None:
        if self.model.encoder or self.model.pairs:
            raise ModelError(
                f"a reading judge scores one sentence after another, and '{self.model.name}' is a "
                f"{self.model.kind} model; expected a language model, such as smollm2"
            )

    def read(
        self,
        items: Sequence[Choice],
        translations: Mapping[str, Translation],
        cache: ScoreCache,
        label: str,
        progress: Progress | None = None,
    ) -> list[Reading]:
        """Decide which candidate every translation carries.

        Args:
            items: The contrastive items.
            translations: Their translations, by id.
            cache: Keeps the scores of the judge.
            label: A label for progress.
            progress: Called as translations are judged.
        """
        found = {item.id: self._by_words(item, translations[item.id]) for item in items}
        asked = {
            item.id: (made.translation, item.candidates, made.language)
            for item in items
            for made in [translations[item.id]]
            if found[item.id] is None and self._unread(made) is None
        }
        requests = list(
            dict.fromkeys(r for one in asked.values() for r in self.rule.requests(*one))
        )
        policy = self.model.resolve_policy(ScoringPolicy())
        results = scored(self.model, policy, requests, cache, label, progress)
        out = []
        for item in items:
            reading = found[item.id]
            if reading is None and item.id in asked:
                reading = self._by_model(item, asked[item.id], results)
            elif reading is None:
                why = self._unread(translations[item.id])
                reading = _reading(item, (), None, why or "")
            out.append(reading)
        return out

    def info(self, readings: Sequence[Reading]) -> ReadingJudgeInfo:
        """Describe the judge of these readings."""
        words = sum(reading.by == "words" for reading in readings)
        alone = words == len(readings)
        return ReadingJudgeInfo(
            name="words" if alone else printable(self.model.name),
            short="words" if alone else printable(self.model.short),
            fingerprint="" if alone else self.model.fingerprint,
            rule=self.rule.digest,
            threshold=self.rule.threshold,
            words=words,
        )

    def _unread(self, made: Translation) -> str | None:
        """Return why the model cannot read a translation, or None if it can."""
        if not made.translation.strip():
            return "the translation is empty"
        if not self.model.reads(made.language):
            return f"'{self.model.short}' does not read {made.language}"
        return None

    def _by_model(
        self, item: Choice, asked: tuple[str, Sequence[str], str | None], results: ScoredRequests
    ) -> Reading:
        failed = (results.unanswered.get(request) for request in self.rule.requests(*asked))
        why = next(filter(None, failed), None)
        if why is not None:
            return _reading(item, (), None, why)
        scores = self.rule.scores(*asked, results.records)
        return _reading(item, scores, self.rule.choose(scores), "model")

    def _by_words(self, item: Choice, made: Translation) -> Reading | None:
        """Return what class words decide; None if the item has none."""
        phenomenon = made.tags.get("set", "")
        if phenomenon not in PHENOMENA or made.language != "zh":
            return None
        outcome = judge(
            phenomenon,
            made.tags.get("class", "" if phenomenon != "ellipsis" else phenomenon),
            source=made.source,
            translation=made.translation,
            reference=made.reference,
            context=made.context,
            reference_context=made.reference_context,
        ).outcome
        if outcome == CANNOT_TELL:
            return _reading(item, (), None, "words")
        right = outcome == RIGHT
        scores = tuple(float(right == (c == item.gold)) for c in range(len(item.candidates)))
        return _reading(item, scores, scores.index(1.0), "words")


def _reading(item: Choice, scores: tuple[float, ...], chosen: int | None, by: str) -> Reading:
    return Reading(item.id, item.block, item.gold, item.candidates, scores, chosen, by)
