"""Comparison of systems on the same items: paired tests, corrected for their number."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from boxpen.errors import RunError
from boxpen.metrics.choice import clusters
from boxpen.metrics.intervals import Estimate, paired
from boxpen.metrics.paired import exact_mcnemar
from boxpen.metrics.randomise import randomisation
from boxpen.scoring.verdicts import Verdict

__all__ = ["Pair", "compare_verdicts", "holm"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the same items.

    Attributes:
        only_a: Items on which the first scored higher.
        only_b: Items on which the second scored higher.
        difference: Accuracy of the first minus that of the second, with its 95 % interval.
        test: ``McNemar`` or ``randomisation``.
        adjusted: The same, corrected by Holm for the number of pairs that were compared.
        differing: The ids of the items on which they differ, in the order of the suite.
        noise: The largest difference between their scores of one candidate, if both runs have the
            same signature; else None.
    """

    suite: str
    a: str
    b: str
    n: int
    only_a: int
    only_b: int
    difference: Estimate
    test: str
    p: float
    adjusted: float
    differing: tuple[str, ...]
    noise: float | None = None

    def __repr__(self) -> str:
        return (
            f"{self.suite}: {self.a} − {self.b} = {self._shown}, p = {self.adjusted:.3g} "
            f"({self.test}, {self.n:,} items)"
        )

    def cells(self) -> dict[str, str]:
        """Return the columns that a notebook shows."""
        return {
            "suite": self.suite,
            "a": self.a,
            "b": self.b,
            "items": f"{self.n:,}",
            "only a": f"{self.only_a:,}",
            "only b": f"{self.only_b:,}",
            "a − b": self._shown,
            "p (Holm)": f"{self.adjusted:.3g}",
            "test": self.test,
        }

    @property
    def _shown(self) -> str:
        value, low, high, _ = self.difference
        return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def compare_verdicts(
    systems: Mapping[str, Sequence[Verdict]], suite: str, *, common: bool = False
) -> list[Pair]:
    """Compare every two systems; p-values are corrected for the number of pairs.

    Items that are independent and either right or wrong take the exact McNemar test. Where items
    belong to blocks, or ties earned a part of a credit, whole blocks are randomised.

    Raises:
        RunError: If the systems did not judge the same items, or an item is not the same.
    """
    if common:
        everywhere = set.intersection(*({v.id for v in some} for some in systems.values()))
        systems = {name: [v for v in some if v.id in everywhere] for name, some in systems.items()}
    pairs = [
        _pair(suite, (a, systems[a]), (b, systems[b]))
        for a, b in itertools.combinations(systems, 2)
    ]
    adjusted = holm([pair.p for pair in pairs])
    return [replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    out = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        out[i] = largest
    return out


def _pair(
    suite: str,
    one: tuple[str, Sequence[Verdict]],
    other: tuple[str, Sequence[Verdict]],
) -> Pair:
    (a, mine), (b, theirs) = one, other
    by_id = {v.id: v for v in theirs}
    shared = [v for v in mine if v.id in by_id]
    if alone := {v.id for v in mine} ^ set(by_id):
        raise RunError(
            f"{a} and {b} did not judge the same items of {suite}: {len(alone)} appear in one run "
            f"only ('{min(alone)}'); use --common to compare the other {len(shared)}"
        )
    if not shared:
        raise RunError(f"{a} and {b} have no item of {suite} in common")
    for v in shared:
        if (v.gold, len(v.scores)) != (by_id[v.id].gold, len(by_id[v.id].scores)):
            raise RunError(f"item '{v.id}' of {suite} is not the same for {a} and for {b}")
    gaps = [v.credit - by_id[v.id].credit for v in shared]
    of = clusters(shared)
    only_a, only_b = sum(g > 0 for g in gaps), sum(g < 0 for g in gaps)
    if of is None and all(abs(g) in (0, 1) for g in gaps):
        test, p = "McNemar", exact_mcnemar(only_a, only_b)
    else:
        blocks: dict[object, list[float]] = {}
        for gap, cluster in zip(gaps, of or range(len(gaps)), strict=True):
            blocks.setdefault(cluster, []).append(gap)
        test, p = "randomisation", randomisation(list(blocks.values()))
    differing = tuple(v.id for v, gap in zip(shared, gaps, strict=True) if gap)
    difference = paired([v.credit for v in shared], [by_id[v.id].credit for v in shared], of)
    return Pair(suite, a, b, len(shared), only_a, only_b, difference, test, p, p, differing)
