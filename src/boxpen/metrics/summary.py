"""The numbers of a run: every metric, over all items and by every tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeVar

from boxpen.metrics.bleu import bleu
from boxpen.metrics.choice import (
    Interval,
    accuracy,
    both_right,
    both_wrong,
    chance,
    consistency,
    every_order,
    failure_rate,
    flip_rate,
    macro_accuracy,
    margin,
)
from boxpen.metrics.intervals import Estimate
from boxpen.scoring.verdicts import Verdict

__all__ = [
    "DASH",
    "FEWEST_BLOCKS",
    "LABELS",
    "METRICS",
    "MOST_VALUES",
    "OF_BLOCKS",
    "Row",
    "Translation",
    "estimates",
    "labelled",
    "macro_groups",
    "possible_metrics",
    "slicing_tags",
    "summarise",
    "too_few_blocks",
]

MOST_VALUES = 32
"""A tag with more values than this (an ambiguous word, say) makes no slices."""


DASH = "–"
FEWEST_BLOCKS = 10
"""A share of fewer blocks than this is not shown: one block more or less would change it all."""

METRICS = (
    "accuracy", "consistency", "both_right", "both_wrong", "flip_rate", "failure_rate", "margin",
    "chance", "macro_accuracy", "macro_chance", "every_order", "bleu",
)  # fmt: skip
"""Every metric that ``summarise`` may return."""

OF_BLOCKS = frozenset({"consistency", "both_right", "both_wrong", "flip_rate"})
"""Metrics that are shares of blocks."""


def too_few_blocks(metric: str, n: int) -> bool:
    """Whether a number is a share of so few blocks that a dash is shown instead."""
    return metric in OF_BLOCKS and n < FEWEST_BLOCKS


class _Tagged(Protocol):
    """An item, or the verdict on one."""

    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def block(self) -> str | None: ...


T = TypeVar("T", bound=_Tagged)


@dataclass(frozen=True, slots=True)
class Row:
    """One number, with everything needed to judge it.

    Attributes:
        slice: ``all``, or ``tag=value``.
        metric: ``accuracy``, ``failure_rate``, ``chance``, ``margin``, over blocks ``consistency``,
            ``both_right``, ``both_wrong`` and ``flip_rate``, over parts or sets
            ``macro_accuracy`` and ``macro_chance``, of asked questions ``every_order``, or
            ``bleu``.
        low: Lower end of its 95 % interval.
        high: Upper end.
        n: Items, blocks or sentences that it was taken over.
        ties: How many items of the slice ended in a tie.
        truncated: In how many items of the slice a candidate was longer than the model reads.
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
    truncated: int = 0

    def __repr__(self) -> str:
        return f"{self.suite} × {self.model}, {self.slice}: {self.metric} {self} (n = {self.n:,})"

    def cells(self) -> dict[str, str]:
        """Return the columns that a notebook shows."""
        return {
            "suite": self.suite,
            "model": self.model,
            "slice": self.slice,
            "metric": self.metric.replace("_", " "),
            "value": str(self),
            "n": f"{self.n:,}",
            "ties": f"{self.ties:,}",
        }

    def __str__(self) -> str:
        """Return ``0.543 [0.514, 0.573]``; a dash for a share of fewer than ten blocks."""
        if too_few_blocks(self.metric, self.n):
            return DASH
        digits = 1 if self.metric == "bleu" else 3
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


@dataclass(frozen=True, slots=True)
class Translation:
    """One source sentence, its reference and the model's translation.

    Attributes:
        context: The sentence before the source, whether the model read it or not.
        reference_context: Its translation.
    """

    id: str
    source: str
    reference: str
    translation: str
    language: str | None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    context: str | None = None
    reference_context: str | None = None


def summarise(
    verdicts: Sequence[Verdict],
    translations: Sequence[Translation],
    *,
    suite: str,
    model: str,
    signature: str,
    beam: int,
    asked: bool = False,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> list[Row]:
    """Return every metric, over all and by every tag.

    Args:
        verdicts: The decisions.
        translations: The translations of a translation model.
        suite: Name of the suite.
        model: Name of the model.
        signature: How the numbers were made.
        beam: Beam size of translations; 0 if unknown.
        asked: Whether the verdicts are shares of the orders in which a model was asked.
        labels: Hashes of the tags that later readers gave (see ``labelled``).
    """
    names = ["all"]
    found = slicing_tags([v.tags for v in verdicts] + [t.tags for t in translations])
    for tag, values in found.items():
        names += [f"{tag}={value}" for value in values]
    rows: list[Row] = []
    for name in names:
        chosen = [v for v in verdicts if _within(v.tags, name)]
        made_by = labelled(signature, labels, [name.partition("=")[0]])
        ties = sum(1 for v in chosen if v.tied > 1)
        cut = sum(1 for v in chosen if v.truncated)
        extra = [("every_order", every_order(chosen))] if asked and chosen else []
        for metric, e in estimates(chosen) + extra:
            rows.append(Row(suite, name, model, metric, *e, ties, made_by, cut))
        made = [t for t in translations if _within(t.tags, name)]
        if made and len({t.language for t in made}) == 1:
            result = bleu(
                [t.translation for t in made], [t.reference for t in made], made[0].language
            )
            line = f"{signature}|{f'beam:{beam}|' if beam else ''}{result.signature}"
            line = labelled(line, labels, [name.partition("=")[0]])
            e = result.estimate
            rows.append(Row(suite, name, model, "bleu", e.value, e.low, e.high, e.n, 0, line))
    return rows


def estimates(
    verdicts: Sequence[Verdict], interval: Interval = "wilson"
) -> list[tuple[str, Estimate]]:
    """Return every metric that applies to some verdicts."""
    if not verdicts:
        return []
    found = [("accuracy", accuracy(verdicts, interval))]
    together = consistency(verdicts)
    if together.n:
        found += [
            ("consistency", together),
            ("both_right", both_right(verdicts)),
            ("both_wrong", both_wrong(verdicts)),
            ("flip_rate", flip_rate(verdicts)),
        ]
    found += [
        ("failure_rate", failure_rate(verdicts, interval)),
        ("margin", margin(verdicts)),
        ("chance", chance(verdicts)),
    ]
    groups = list(macro_groups(verdicts).values())
    if groups:
        guessed = [chance(group) for group in groups]
        value = sum(e.value for e in guessed) / len(guessed)
        found += [
            ("macro_accuracy", macro_accuracy(groups)),
            ("macro_chance", Estimate(value, value, value, sum(e.n for e in guessed))),
        ]
    return found


LABELS = "|labels:"


def labelled(signature: str, labels: Mapping[str, str], tags: Iterable[str]) -> str:
    """Return the signature of a slice, which names the labels that it was made by.

    Args:
        signature: How the numbers of the run were made.
        labels: Hashes of the tags that are no part of the hash of the suite.
        tags: What the slice was made by.
    """
    named = [labels[tag] for tag in tags if tag in labels]
    return signature + LABELS + "+".join(named) if named else signature


def possible_metrics(
    judged: Sequence[_Tagged], translated: Sequence[_Tagged], *, asked: bool
) -> dict[str, list[str]]:
    """Return by slice the metrics that ``summarise`` may find, before there are results.

    Args:
        judged: The items whose verdicts there will be.
        translated: The items that will be translated.
        asked: Whether a model is asked.
    """
    found: dict[str, list[str]] = {}
    slices = slicing_tags([item.tags for item in (*judged, *translated)])
    for name in ("all", *(f"{tag}={value}" for tag, values in slices.items() for value in values)):
        chosen = [item for item in judged if _within(item.tags, name)]
        lacking: set[str] = set()
        if not any(_within(item.tags, name) for item in translated):
            lacking |= {"bleu"}
        if not asked:
            lacking |= {"every_order"}
        blocks = [item.block for item in chosen if item.block is not None]
        if len(set(blocks)) == len(blocks):
            lacking |= OF_BLOCKS
        if not macro_groups(chosen):
            lacking |= {"macro_accuracy", "macro_chance"}
        if not chosen:
            lacking |= set(METRICS) - {"bleu"}
        found[name] = [metric for metric in METRICS if metric not in lacking]
    return found


def macro_groups(verdicts: Sequence[T]) -> dict[str, list[T]]:
    """Return what a macro average is taken over: the parts of a suite, or else its sets.

    Empty if there are fewer than two. Items that belong to none are left out.
    """
    for tag in ("part", "set"):
        groups: dict[str, list[T]] = {}
        for verdict in verdicts:
            if tag in verdict.tags:
                groups.setdefault(verdict.tags[tag], []).append(verdict)
        if len(groups) > 1:
            return {f"{tag}={value}": members for value, members in groups.items()}
    return {}


def slicing_tags(tags: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the tags that divide items, with their values, both in order of first appearance.

    A tag that tells items apart divides nothing: one with many values, and ``item`` beside
    ``side`` and ``operation``, the id of the original in suites that the builder ``duals`` makes.
    """
    seen: dict[str, dict[str, None]] = {}
    for each in tags:
        for tag, value in each.items():
            seen.setdefault(tag, {})[value] = None
    if {"side", "operation"} <= seen.keys():
        seen.pop("item", None)
    return {tag: list(values) for tag, values in seen.items() if len(values) <= MOST_VALUES}


def _within(tags: Mapping[str, str], name: str) -> bool:
    tag, _, value = name.partition("=")
    return name == "all" or tags.get(tag) == value
