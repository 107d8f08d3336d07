"""Systems compared on the same sentences: what is right, and BLEU, each with a paired test."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.analysis.discourse.ruling import RIGHT
from boxpen.errors import RunError
from boxpen.metrics.bleu import BleuPair, paired_bleu
from boxpen.metrics.compare import holm
from boxpen.metrics.intervals import Estimate, paired
from boxpen.metrics.paired import exact_mcnemar

__all__ = ["Comparison", "compare_renderings"]


_Key = tuple[str, str, str]
"""The name of an item, its source and its reference."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the sentences of a phenomenon, or on all.

    Attributes:
        part: ``all``, or a phenomenon.
        a: Name of the first system.
        b: Name of the second.
        n: Sentences that both translated, and whose outcome is known for both.
        only_a: Those that only the first has right.
        only_b: Those that only the second has right.
        difference: Share right of the first less that of the second, with its 95 % interval.
        p: Of the exact McNemar test, two-sided.
        adjusted: The same, corrected by Holm for the number of pairs of systems.
        bleu: Of both, on all sentences that both translated, with a randomisation test.
        bleu_adjusted: Its p-value, corrected in the same way.
    """

    part: str
    a: str
    b: str
    n: int
    only_a: int
    only_b: int
    difference: Estimate
    p: float
    adjusted: float
    bleu: BleuPair
    bleu_adjusted: float


def compare_renderings(
    renderings: Sequence[Rendering], outcomes: Mapping[Rendering, str | None]
) -> list[Comparison]:
    """Compare every two systems, on all sentences and by phenomenon.

    Args:
        renderings: What was translated.
        outcomes: What became of each; None, or not there, if that is open.

    Raises:
        RunError: If there are less than two systems, or two have no sentence in common.
    """
    systems: dict[str, dict[_Key, Rendering]] = {}
    for one in renderings:  # items of two suites may have the same name
        systems.setdefault(one.system, {})[one.id, one.source, one.reference] = one
    if len(systems) < 2:
        raise RunError(
            f"the runs are of one system ({', '.join(systems)}), expected two or more to compare"
        )
    found: list[Comparison] = []
    for part in ("all", *PHENOMENA):
        pairs = [
            made
            for a, b in itertools.combinations(systems, 2)
            if (made := _pair(part, (a, systems[a]), (b, systems[b]), outcomes)) is not None
        ]
        right, bleu = holm([one.p for one in pairs]), holm([one.bleu.p for one in pairs])
        found += [
            replace(one, adjusted=p, bleu_adjusted=q)
            for one, p, q in zip(pairs, right, bleu, strict=True)
        ]
    return found


def _pair(
    part: str,
    one: tuple[str, Mapping[_Key, Rendering]],
    other: tuple[str, Mapping[_Key, Rendering]],
    outcomes: Mapping[Rendering, str | None],
) -> Comparison | None:
    """Return the comparison; None if neither has sentences of this phenomenon."""
    (a, mine), (b, theirs) = one, other
    both = [
        (first, theirs[key])
        for key, first in mine.items()
        if key in theirs and part in ("all", first.phenomenon)
    ]
    if not both:
        if part == "all":
            raise RunError(f"{a} and {b} translated no sentence in common")
        return None
    known = [
        (float(x == RIGHT), float(y == RIGHT))
        for first, second in both
        if (x := outcomes.get(first)) is not None and (y := outcomes.get(second)) is not None
    ]
    only_a, only_b = sum(x > y for x, y in known), sum(x < y for x, y in known)
    p = exact_mcnemar(only_a, only_b)
    bleu = paired_bleu(
        [first.translation for first, _ in both],
        [second.translation for _, second in both],
        [first.reference for first, _ in both],
        "zh",
    )
    difference = paired([x for x, _ in known], [y for _, y in known])
    return Comparison(part, a, b, len(known), only_a, only_b, difference, p, p, bleu, bleu.p)
