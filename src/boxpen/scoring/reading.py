"""Reading a free translation: which of an item's candidates does it carry?

Contrastive conditioning (Vamvas and Sennrich 2021) in both directions, with a language model as the
judge: a translation with the meaning of a candidate is likelier after it, and makes it likelier in
turn. So does the surface: a translation shares words and word order with the candidate it carries
(chrF, Popović 2015). A difference too small to be trusted leaves the translation *undecided*.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from boxpen.errors import PolicyError
from boxpen.items import Choice
from boxpen.scoring.normalise import score
from boxpen.scoring.recipe import UNSPACED
from boxpen.scoring.requests import Record, Request
from boxpen.scoring.verdicts import Verdict

__all__ = ["Directions", "Reading", "ReadingRule", "decide_reading"]

_UNDECIDED = "undecided by the reading judge"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reading judge makes of one translation.

    Attributes:
        id: Of the item.
        block: Of the item.
        gold: The candidate that is right.
        candidates: The readings.
        scores: One per candidate; none if the translation could not be read.
        chosen: The candidate that the translation carries; None if undecided.
        by: What decided, the ``model`` or class ``words``; or why nothing was read.
    """

    id: str
    block: str | None
    gold: int
    candidates: tuple[str, ...]
    scores: tuple[float, ...]
    chosen: int | None
    by: str

    @property
    def undecided(self) -> str:
        """Why an item is left out: the judge cannot tell, or could not read the translation."""
        told = self.by in ("model", "words")
        return _UNDECIDED if told else f"{_UNDECIDED}: {self.by}"


class Directions(NamedTuple):
    """The requests for one candidate."""

    forward: Request
    """The translation after the candidate."""
    backward: Request
    """The candidate after the translation."""
    free: Request
    """The candidate after neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRule:
    """How the log-probabilities of a judge become a decision.

    Attributes:
        frame: What joins two texts; the second follows it.
        surface: What one point of chrF between translation and candidate is worth, in nats.
        threshold: Lead of the best candidate, in nats, below which a translation is undecided.
    """

    frame: str = " In other words:"
    surface: float = 0.2
    threshold: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < float("inf"):
            raise PolicyError(
                f"the threshold of the reading judge is {self.threshold}, expected 0 or more"
            )

    @property
    def digest(self) -> str:
        """Six hex digits that change with all but the threshold, which is shown as it is."""
        parts = {k: v for k, v in asdict(self).items() if k != "threshold"}
        return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()[:6]

    def requests(
        self, translation: str, candidates: Sequence[str], language: str | None
    ) -> Iterator[Request]:
        """Yield everything that the judge scores for a translation."""
        for candidate in candidates:
            yield from self.directions(translation, candidate, language)

    def scores(
        self,
        translation: str,
        candidates: Sequence[str],
        language: str | None,
        records: Mapping[Request, Record],
    ) -> tuple[float, ...]:
        """Return the score of every candidate: the mean of both directions, and the surface.

        Forward, log p(translation | candidate); backward, log p(candidate | translation) less
        log p(candidate), so that a candidate gains nothing by being likely in itself.
        """
        found = []
        for candidate in candidates:
            asked = self.directions(translation, candidate, language)
            forward = score(records[asked.forward], translation, "sum")
            backward = score(
                records[asked.backward], candidate, "pmi", unconditional=records[asked.free]
            )
            surface = self.surface * _chrf(translation, candidate)
            found.append((forward + backward) / 2 + surface)
        return tuple(found)

    def choose(self, scores: Sequence[float]) -> int | None:
        """Return the candidate that leads by the threshold or more; None if none does."""
        best, second = sorted(scores, reverse=True)[:2]
        return scores.index(best) if best - second >= self.threshold and best > second else None

    def directions(self, translation: str, candidate: str, language: str | None) -> Directions:
        """Return what the judge scores for a candidate."""
        glue = "" if language in UNSPACED else " "
        return Directions(
            Request(text=glue + translation, prefix=candidate + self.frame),
            Request(text=glue + candidate, prefix=translation + self.frame),
            Request(text=glue + candidate, prefix=self.frame.strip()),
        )


def _chrf(translation: str, candidate: str) -> float:
    from sacrebleu.metrics import CHRF

    return float(CHRF().sentence_score(translation, [candidate]).score)


def decide_reading(item: Choice, reading: Reading) -> Verdict:
    """Return the verdict on an item whose translation carries a candidate for certain."""
    assert reading.chosen is not None
    others = [s for c, s in enumerate(reading.scores) if c != item.gold]
    return Verdict(
        id=item.id,
        block=item.block,
        tags=item.tags,
        gold=item.gold,
        scores=reading.scores,
        winner=reading.chosen,
        tied=1,
        credit=float(reading.chosen == item.gold),
        margin=reading.scores[item.gold] - max(others),
    )
