"""The numbers of a run: every metric, over all items and by every tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from boxpen.metrics.bleu import bleu
from boxpen.metrics.choice import accuracy, both_right, consistency
from boxpen.metrics.intervals import Estimate
from boxpen.scoring.verdicts import Verdict

__all__ = ["MOST_VALUES", "Row", "Translation", "summarise"]

MOST_VALUES = 32
"""A tag with more values than this (an ambiguous word, say) makes no slices."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number, with everything needed to judge it.

    Attributes:
        suite: Name of the suite.
        slice: ``all``, or ``tag=value``.
        model: Name of the model.
        metric: ``accuracy``, ``consistency``, ``both_right`` or ``bleu``.
        value: The number.
        low: Lower end of its 95 % interval.
        high: Upper end.
        n: Items, blocks or sentences that it was taken over.
        ties: How many items of the slice ended in a tie.
        signature: How the number was made.
    """

    suite: str
    slice: str
    model: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    ties: int
    signature: str


@dataclass(frozen=True, slots=True)
class Translation:
    """One source sentence, its reference, and what the model made of it."""

    id: str
    source: str
    reference: str
    translation: str
    language: str | None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)


def summarise(
    verdicts: Sequence[Verdict],
    translations: Sequence[Translation],
    *,
    suite: str,
    model: str,
    signature: str,
    beam: int,
) -> list[Row]:
    """Return accuracy, consistency, both-right and BLEU, over all and by every tag."""
    names = ["all"]
    for tag, values in _tags([v.tags for v in verdicts] + [t.tags for t in translations]).items():
        names += [f"{tag}={value}" for value in values]
    rows: list[Row] = []
    for name in names:
        chosen = [v for v in verdicts if _within(v.tags, name)]
        ties = sum(1 for v in chosen if v.tied > 1)
        for metric, estimate in _estimates(chosen):
            rows.append(Row(suite, name, model, metric, *estimate[:3], estimate.n, ties, signature))
        made = [t for t in translations if _within(t.tags, name)]
        if made and len({t.language for t in made}) == 1:
            result = bleu(
                [t.translation for t in made], [t.reference for t in made], made[0].language
            )
            line = f"{signature}|beam:{beam}|{result.signature}"
            e = result.estimate
            rows.append(Row(suite, name, model, "bleu", e.value, e.low, e.high, e.n, 0, line))
    return rows


def _estimates(verdicts: Sequence[Verdict]) -> list[tuple[str, Estimate]]:
    if not verdicts:
        return []
    found = [("accuracy", accuracy(verdicts))]
    together = consistency(verdicts)
    if together.n:
        found += [("consistency", together), ("both_right", both_right(verdicts))]
    return found


def _tags(tags: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    seen: dict[str, dict[str, None]] = {}
    for each in tags:
        for tag, value in each.items():
            seen.setdefault(tag, {})[value] = None
    return {tag: list(values) for tag, values in seen.items() if len(values) <= MOST_VALUES}


def _within(tags: Mapping[str, str], name: str) -> bool:
    tag, _, value = name.partition("=")
    return name == "all" or tags.get(tag) == value
