"""Systems compared on the same sentences: what is right, and BLEU, each with a paired test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from boxpen.analysis.discourse.class_judge import PHENOMENA
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.analysis.discourse.ruling import RIGHT
from boxpen.errors import RunError
from boxpen.metrics.bleu import BleuPair, paired_bleu, sentence_counts
from boxpen.metrics.compare import holm
from boxpen.metrics.intervals import Estimate, paired
from boxpen.metrics.paired import exact_mcnemar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Comparison", "compare_renderings"]

_LANGUAGE = "zh"  # into which discourse suites translate
_Key = tuple[str, str, str]
"""The name of an item, its source and its reference."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the sentences of a phenomenon, or on all.

    Attributes:
        part: ``all``, or a phenomenon.
        n: Sentences that both translated, and whose outcome is known for both.
        only_a: Those that only the first has right.
        only_b: Those that only the second has right.
        difference: Share right of the first less that of the second, with its 95 % interval.
        p: Of the exact McNemar test, two-sided; nan if there is nothing to test.
        adjusted: The same, corrected by Holm for the number of pairs that were tested.
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

    Raises:
        RunError: If there are less than two systems, or two have no sentence in common.
    """
    found: dict[str, dict[_Key, Rendering]] = {}
    for one in renderings:
        found.setdefault(one.system, {})[one.sentence] = one
    if len(found) < 2:
        raise RunError(
            f"the runs are of one system ({', '.join(found)}), expected two or more to compare"
        )
    systems = [_System(name, some) for name, some in found.items()]
    out: list[Comparison] = []
    for part in ("all", *PHENOMENA):
        pairs = [_pair(part, a, b, outcomes) for a, b in itertools.combinations(systems, 2)]
        out += _corrected([pair for pair in pairs if pair is not None])
    return out


class _System:
    """What a system translated, with what BLEU is computed of."""

    def __init__(self, name: str, made: Mapping[_Key, Rendering]) -> None:
        self.name = name
        self.made = made
        counts = sentence_counts(
            [one.translation for one in made.values()],
            [one.reference for one in made.values()],
            _LANGUAGE,
        )
        self._row = {key: row for row, key in enumerate(made)}
        self._counts = counts

    def counts(self, keys: Sequence[_Key]) -> NDArray[np.int64]:
        return self._counts[[self._row[key] for key in keys]]


def _pair(
    part: str, a: _System, b: _System, outcomes: Mapping[Rendering, str | None]
) -> Comparison | None:
    """Return the comparison; None if they have no sentence of this phenomenon in common."""
    keys = [key for key, one in a.made.items() if key in b.made and part in ("all", one.phenomenon)]
    if not keys:
        if part == "all":
            raise RunError(f"{a.name} and {b.name} translated no sentence in common")
        return None
    known = [
        (float(x == RIGHT), float(y == RIGHT))
        for key in keys
        if (x := outcomes.get(a.made[key])) is not None
        and (y := outcomes.get(b.made[key])) is not None
    ]
    only_a, only_b = sum(x > y for x, y in known), sum(x < y for x, y in known)
    p = exact_mcnemar(only_a, only_b) if known else math.nan
    bleu = paired_bleu(a.counts(keys), b.counts(keys), _LANGUAGE)
    difference = paired([x for x, _ in known], [y for _, y in known])
    return Comparison(
        part, a.name, b.name, len(known), only_a, only_b, difference, p, p, bleu, bleu.p
    )


def _corrected(pairs: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of a part; what could not be tested is none of the tests."""
    tested = iter(holm([one.p for one in pairs if one.n]))
    return [
        replace(one, adjusted=next(tested) if one.n else math.nan, bleu_adjusted=q)
        for one, q in zip(pairs, holm([one.bleu.p for one in pairs]), strict=True)
    ]
