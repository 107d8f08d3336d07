"""How often translations have errors of each type, and how that goes with the choices of a system.

``error_shares`` is Table 7 of He et al. (2020), by set and with intervals. ``crossed`` asks whether
a system that prefers the wrong candidate makes the error itself when it translates freely.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boxpen.analysis.translation_errors import COMMON_SENSE, ERROR_TYPES, RIGHT, Output
from boxpen.metrics.intervals import Estimate, share
from boxpen.review import Decision, labels_of

__all__ = ["Crossed", "ErrorShares", "crossed", "error_shares"]


Found = Sequence[tuple[str, bool]]
"""The cluster of every translation or error, and whether it is of the kind that is counted."""


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """The errors of one system in one part of a suite.

    Attributes:
        part: The set, or ``total``.
        translations: How many there are.
        judged: Of how many it is decided what is wrong.
        right: The share of right ones among these.
        errors: How many errors these have.
        counts: How many of each type.
        shares: The share of each type among all errors.
    """

    system: str
    part: str
    translations: int
    judged: int
    right: Estimate
    errors: int
    counts: Mapping[str, int]
    shares: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Crossed:
    """Errors of one type against the choice between right and wrong candidate.

    Attributes:
        type: The type of error.
        wrong: The share of translations with such an error where the wrong candidate was chosen.
        right: The same where the right one was.
        difference: The former less the latter.
        table: Numbers of translations: wrong choice with and without the error, then right choice.
        left_out: Translations that are judged but of items without a choice.
    """

    system: str
    type: str
    wrong: Estimate
    right: Estimate
    difference: Estimate
    table: tuple[tuple[int, int], tuple[int, int]]
    left_out: int


def error_shares(outputs: Sequence[Output], decisions: Mapping[str, Decision]) -> list[ErrorShares]:
    """Count errors by type, for every system over each set and in total.

    Items of a block, and errors of one translation, are not independent of each other, and the
    intervals allow for it.

    Args:
        outputs: What was translated.
        decisions: By question; what is open is not counted.
    """
    rows = []
    for system in dict.fromkeys(output.system for output in outputs):
        mine = [output for output in outputs if output.system == system]
        parts = list(dict.fromkeys(output.question.part for output in mine))
        for part in parts if len(parts) > 1 else ():
            some = [output for output in mine if output.question.part == part]
            rows.append(_shares(system, part, some, decisions))
        rows.append(_shares(system, "total", mine, decisions))
    return rows


def crossed(
    outputs: Sequence[Output], decisions: Mapping[str, Decision], error: str = COMMON_SENSE
) -> list[Crossed]:
    """Ask whether a system that chose the wrong candidate also translated with such an error."""
    rows = []
    for system in dict.fromkeys(output.system for output in outputs):
        judged = [
            (output, error in labels)
            for output in outputs
            if output.system == system and (labels := _labels(output, decisions))
        ]
        chosen = {
            chose: [(output.cluster, found) for output, found in judged if output.chose is chose]
            for chose in (False, True)
        }
        wrong, right = _share(chosen[False]), _share(chosen[True])
        rows.append(
            Crossed(
                system=system,
                type=error,
                wrong=wrong,
                right=right,
                difference=_difference(wrong, right, _opposed(chosen[False], chosen[True])),
                table=(_with_and_without(chosen[False]), _with_and_without(chosen[True])),
                left_out=sum(output.chose is None for output, _ in judged),
            )
        )
    return rows


def _labels(output: Output, decisions: Mapping[str, Decision]) -> list[str]:
    """Return what a translation was judged to be; nothing as long as it is open."""
    decision = decisions.get(output.question.item)
    return labels_of(decision.verdict or "") if decision is not None else []


def _shares(
    system: str, part: str, outputs: Sequence[Output], decisions: Mapping[str, Decision]
) -> ErrorShares:
    judged = [(o.cluster, labels) for o in outputs if (labels := _labels(o, decisions))]
    errors = [(cluster, label) for cluster, some in judged for label in some if label != RIGHT]
    return ErrorShares(
        system=system,
        part=part,
        translations=len(outputs),
        judged=len(judged),
        right=_share([(cluster, some == [RIGHT]) for cluster, some in judged]),
        errors=len(errors),
        counts={kind: sum(label == kind for _, label in errors) for kind in ERROR_TYPES},
        shares={
            kind: _share([(cluster, label == kind) for cluster, label in errors])
            for kind in ERROR_TYPES
        },
    )


def _share(found: Found) -> Estimate:
    clusters = [cluster for cluster, _ in found]
    alone = len(set(clusters)) == len(clusters)
    return share([float(value) for _, value in found], None if alone else clusters)


def _with_and_without(found: Found) -> tuple[int, int]:
    there = sum(value for _, value in found)
    return there, len(found) - there


def _difference(one: Estimate, other: Estimate, opposed: float) -> Estimate:
    """Return the difference of two shares (Newcombe 1998, method 10), wider as they are opposed."""
    if not one.n or not other.n:
        return Estimate(math.nan, math.nan, math.nan, one.n + other.n)

    def half(mine: float, theirs: float) -> float:
        return math.sqrt(mine * mine + theirs * theirs + 2 * opposed * mine * theirs)

    value = one.value - other.value
    down = half(one.value - one.low, other.high - other.value)
    up = half(one.high - one.value, other.value - other.low)
    return Estimate(value, max(-1.0, value - down), min(1.0, value + up), one.n + other.n)


def _opposed(one: Found, other: Found) -> float:
    """Return how far blocks with an item in each of two groups make their shares differ, 0 to 1.

    It is their correlation where that is negative. A positive one would make the interval
    narrower than for independent items, which a few blocks are not reason enough for.
    """
    mine, theirs = _deviations(one), _deviations(other)
    scale = math.sqrt(
        math.fsum(d * d for d in mine.values()) * math.fsum(d * d for d in theirs.values())
    )
    common = math.fsum(d * theirs[cluster] for cluster, d in mine.items() if cluster in theirs)
    return max(0.0, -common / scale) if scale > 1e-9 else 0.0


def _deviations(found: Found) -> dict[str, float]:
    """Return for every cluster how far the sum of its values is from what the mean makes expect."""
    expected = math.fsum(value for _, value in found) / len(found) if found else 0.0
    sums: dict[str, float] = {}
    for cluster, value in found:
        sums[cluster] = sums.get(cluster, 0.0) + value - expected
    return sums
