"""Agreement between judges, in all and by part, and the items on which they disagree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from boxpen.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from boxpen.review.judgement import Judgement, latest, plain

__all__ = ["Agreement", "Disagreement", "Pair", "agreement_table", "disagreements"]

Verdicts = dict[str, str]
"""The verdict of each judge of an item."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Agreement of two judges on the items that both judged."""

    first: str
    second: str
    items: int
    percent: float
    kappa: float
    """Cohen's; NaN if both gave the same single verdict throughout."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on a part of the items; NaN where it is undefined."""

    part: str
    judges: int
    judged: int
    """Items with a verdict."""
    items: int
    """Items with two or more verdicts, which the measures are computed from."""
    percent: float
    """Share of pairs of judges who agree, averaged over items."""
    cohen: float
    """Cohen's kappa; for more than two judges the mean over pairs (Light 1971)."""
    fleiss: float
    fleiss_items: int
    """How many items Fleiss' kappa uses: it needs the same number of verdicts on each."""
    alpha: float
    """Krippendorff's, over all items with two verdicts or more."""
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which verdicts or edits differ."""

    item: str
    judgements: tuple[Judgement, ...]


def agreement_table(
    judgements: Iterable[Judgement], parts: Mapping[str, str] | None = None
) -> list[Agreement]:
    """Return the agreement over all items, named 'all', and then over each part.

    Args:
        judgements: In the order in which they were given; the last of each judge counts.
        parts: The part of each item, such as its relation; other items are ignored.
    """
    said = {
        item: {judge: one.verdict for judge, one in of.items() if one.verdict}
        for item, of in latest(judgements).items()
        if parts is None or item in parts
    }
    rows = [_agreement("all", list(said.values()))]
    for part in sorted(set((parts or {}).values())):
        verdicts = [of for item, of in said.items() if parts and parts[item] == part]
        rows.append(_agreement(part, verdicts))
    return rows


def disagreements(judgements: Iterable[Judgement]) -> list[Disagreement]:
    """Return the items on which judges disagree, sorted by name."""
    found = []
    for item, of in sorted(latest(judgements).items()):
        given = tuple(one for one in of.values() if one.verdict)
        if len({(one.verdict, plain(one.edit)) for one in given}) > 1:
            found.append(Disagreement(item, given))
    return found


def _agreement(part: str, verdicts: Sequence[Verdicts]) -> Agreement:
    several = [list(of.values()) for of in verdicts if len(of) > 1]
    judges = sorted({judge for of in verdicts for judge in of})
    pairs = tuple(pair for two in combinations(judges, 2) if (pair := _pair(*two, verdicts)).items)
    kappas = [pair.kappa for pair in pairs if not math.isnan(pair.kappa)]
    sizes = Counter(map(len, several))
    size = max(sizes, key=lambda size: (sizes[size], size), default=0)
    even = [of for of in several if len(of) == size]
    return Agreement(
        part=part,
        judges=len(judges),
        judged=sum(1 for of in verdicts if of),
        items=len(several),
        percent=percent_agreement(several),
        cohen=math.fsum(kappas) / len(kappas) if kappas else math.nan,
        fleiss=fleiss_kappa(even),
        fleiss_items=len(even),
        alpha=krippendorff_alpha(several),
        pairs=pairs,
    )


def _pair(first: str, second: str, verdicts: Sequence[Verdicts]) -> Pair:
    both = [(of[first], of[second]) for of in verdicts if first in of and second in of]
    one, other = [a for a, _ in both], [b for _, b in both]
    same = sum(a == b for a, b in both) / len(both) if both else math.nan
    return Pair(first, second, len(both), same, cohen_kappa(one, other))
