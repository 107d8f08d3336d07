"""Verdicts: which candidate won, by how much, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from boxpen.errors import ScoringError
from boxpen.items import Choice, Entail
from boxpen.scoring.labels import names_of, offered, right_places
from boxpen.scoring.normalise import TIE_TOLERANCE, score, units
from boxpen.scoring.policy import ScoringPolicy, Ties
from boxpen.scoring.requests import Record

__all__ = ["Scored", "Verdict", "decide"]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One candidate as it was scored: its request, its record, and the record without context.

    An entailment item has only one: its hypothesis after its premise, with all labels in the
    record. ``dtype`` is the precision of the records, in a run that has two.
    """

    text: str
    record: Record
    unconditional: Record | None = None
    prefix: str = ""
    source: str | None = None
    dtype: str = ""


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
        also: Names of other labels that are right as well, whether they compete or not.
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
    also: tuple[str, ...] = ()


def decide(item: Choice | Entail, candidates: Sequence[Scored], policy: ScoringPolicy) -> Verdict:
    """Compare the candidates of an item, or the labels of a premise and a hypothesis.

    Scores nearer than the accuracy of a sum of log-probabilities (``TIE_TOLERANCE``) are a tie:
    such a difference says nothing and can change with the batch.

    Raises:
        ScoringError: If a candidate has no score, or no competing label is right for the item.
    """
    also: tuple[str, ...] = ()
    if isinstance(item, Entail):
        right, also, scores = _label_scores(item, candidates[0], policy)
        fewest = 1
    else:
        right = (item.gold,)
        scores = tuple(
            score(c.record, c.text, policy.norm, unconditional=c.unconditional) for c in candidates
        )
        fewest = min(units(c.record, c.text, policy.norm) for c in candidates)
    best = max(scores)
    winners = [i for i, s in enumerate(scores) if best - s <= TIE_TOLERANCE / fewest]
    others = [s for i, s in enumerate(scores) if i not in right]
    return Verdict(
        id=item.id,
        block=item.block,
        tags=item.tags,
        gold=right[0],
        scores=scores,
        winner=winners[0],
        tied=len(winners),
        credit=_credit(winners, right, policy.ties),
        margin=max(scores[i] for i in right) - max(others),
        also=also,
        truncated=any(c.record.truncated for c in candidates),
        crossing=any(c.record.crossing for c in candidates),
    )


def _label_scores(
    item: Entail, scored: Scored, policy: ScoringPolicy
) -> tuple[tuple[int, ...], tuple[str, ...], tuple[float, ...]]:
    """Return the places of right labels, other labels that are right, and what all labels score."""
    numbers = scored.record.token_ids.tolist()
    labels = offered(numbers, policy.nli)
    names = names_of(labels)
    right = right_places((item.label, *item.also), labels)
    if not 0 < len(right) < len(labels):
        raise ScoringError(
            f"item '{item.id}' expects '{' or '.join((item.label, *item.also))}', and the model "
            f"chooses between {' and '.join(names)}"
        )
    found = dict(zip(numbers, scored.record.logprobs.tolist(), strict=True))
    also = tuple(label for label in (item.label, *item.also) if label != names[right[0]])
    return right, also if item.also else (), tuple(found[label] for label in labels)


def _credit(winners: Sequence[int], right: Sequence[int], ties: Ties) -> float:
    if ties == "first":
        return float(winners[0] in right)
    earned = sum(i in right for i in winners) / len(winners)
    return earned if ties == "half" else float(earned == 1)
