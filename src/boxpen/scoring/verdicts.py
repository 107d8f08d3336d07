"""Verdicts: which candidate won, by how much, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from boxpen.errors import ScoringError
from boxpen.items import Choice, Entail
from boxpen.scoring.labels import names_of, offered, right_place
from boxpen.scoring.normalise import TIE_TOLERANCE, score, units
from boxpen.scoring.policy import ScoringPolicy, Ties
from boxpen.scoring.requests import Record

__all__ = ["Scored", "Verdict", "decide"]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One candidate as it was scored: its request, its record, and the record without context.

    An entailment item has only one: its hypothesis after its premise, with all labels in the
    record.
    """

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
        gold: Index of the sensible candidate, or of the right label.
        scores: One per candidate, or per label that competes; larger is better.
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


def decide(item: Choice | Entail, candidates: Sequence[Scored], policy: ScoringPolicy) -> Verdict:
    """Compare the candidates of an item, or the labels of a premise and a hypothesis.

    Scores nearer than the accuracy of a sum of log-probabilities (``TIE_TOLERANCE``) are a tie:
    such a difference says nothing and can change with the batch.

    Raises:
        ScoringError: If a candidate has no score, or no competing label is right for the item.
    """
    if isinstance(item, Entail):
        gold, scores = _label_scores(item, candidates[0], policy)
        fewest = 1
    else:
        gold = item.gold
        scores = tuple(
            score(c.record, c.text, policy.norm, unconditional=c.unconditional) for c in candidates
        )
        fewest = min(units(c.record, c.text, policy.norm) for c in candidates)
    best = max(scores)
    winners = [i for i, s in enumerate(scores) if best - s <= TIE_TOLERANCE / fewest]
    others = [s for i, s in enumerate(scores) if i != gold]
    return Verdict(
        id=item.id,
        block=item.block,
        tags=item.tags,
        gold=gold,
        scores=scores,
        winner=winners[0],
        tied=len(winners),
        credit=_credit(winners, gold, policy.ties),
        margin=scores[gold] - max(others),
        truncated=any(c.record.truncated for c in candidates),
        crossing=any(c.record.crossing for c in candidates),
    )


def _label_scores(
    item: Entail, scored: Scored, policy: ScoringPolicy
) -> tuple[int, tuple[float, ...]]:
    """Return the place of the right label, and the log-probabilities of those that compete."""
    numbers = scored.record.token_ids.tolist()
    labels = offered(numbers, policy.nli)
    gold = right_place(item.label, labels)
    if gold is None:
        raise ScoringError(
            f"item '{item.id}' expects '{item.label}', and the model chooses between "
            + " and ".join(names_of(labels))
        )
    found = dict(zip(numbers, scored.record.logprobs.tolist(), strict=True))
    return gold, tuple(found[label] for label in labels)


def _credit(winners: Sequence[int], gold: int, ties: Ties) -> float:
    if ties == "first":
        return float(winners[0] == gold)
    if gold not in winners:
        return 0.0
    if len(winners) == 1:
        return 1.0
    return 1.0 / len(winners) if ties == "half" else 0.0
