"""Verdicts: which candidate won, by how much, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from boxpen.items import Choice
from boxpen.scoring.normalise import TIE_TOLERANCE, score, units
from boxpen.scoring.policy import ScoringPolicy, Ties
from boxpen.scoring.requests import Record

__all__ = ["Scored", "Verdict", "decide"]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One candidate as it was scored: its request, its record, and the record without context."""

    text: str
    record: Record
    unconditional: Record | None = None
    prefix: str = ""
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one item.

    Attributes:
        id: Of the item.
        block: Of the item.
        tags: Of the item.
        gold: Index of the sensible candidate.
        scores: One per candidate, larger is better.
        winner: Index of the best candidate, the first of several.
        tied: How many candidates share the best score; 1 if there is no tie.
        credit: What the item earns, 0 to 1.
        margin: Score of the gold candidate less that of the best other one.
        truncated: Some candidate was longer than the model reads.
        crossing: In some candidate a token spans the join of context and candidate.
    """

    id: str
    block: str | None
    gold: int
    scores: tuple[float, ...]
    winner: int
    tied: int
    credit: float
    margin: float
    truncated: bool = False
    crossing: bool = False
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)


def decide(item: Choice, candidates: Sequence[Scored], policy: ScoringPolicy) -> Verdict:
    """Compare the candidates of an item under a policy.

    Scores nearer than the accuracy of a sum of log-probabilities (``TIE_TOLERANCE``) are a tie:
    such a difference says nothing and can change with the batch.
    """
    scores = tuple(
        score(c.record, c.text, policy.norm, unconditional=c.unconditional) for c in candidates
    )
    best = max(scores)
    fewest = min(units(c.record, c.text, policy.norm) for c in candidates)
    winners = [i for i, s in enumerate(scores) if best - s <= TIE_TOLERANCE / fewest]
    others = [s for i, s in enumerate(scores) if i != item.gold]
    return Verdict(
        id=item.id,
        block=item.block,
        tags=item.tags,
        gold=item.gold,
        scores=scores,
        winner=winners[0],
        tied=len(winners),
        credit=_credit(winners, item.gold, policy.ties),
        margin=scores[item.gold] - max(others),
        truncated=any(c.record.truncated for c in candidates),
        crossing=any(c.record.crossing for c in candidates),
    )


def _credit(winners: Sequence[int], gold: int, ties: Ties) -> float:
    if ties == "first":
        return float(winners[0] == gold)
    if gold not in winners:
        return 0.0
    if len(winners) == 1:
        return 1.0
    return 1.0 / len(winners) if ties == "half" else 0.0
