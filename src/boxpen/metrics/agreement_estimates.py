"""Agreement of judges with intervals, fast enough for a million answers.

Every measure is a function of sums over items, so leaving items out means subtracting their sums.
Intervals are those of the jackknife (Efron and Stein 1981): items are left out one at a time, or,
where there are many, one group of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxpen.metrics.intervals import SEED, Estimate, share

__all__ = ["MEASURES", "AgreementEstimates", "agreement_estimates"]

MEASURES = ("observed", "alpha", "cohen", "fleiss", "free")
GROUPS = 100
"""Most groups of the jackknife."""
_LARGEST = 20_000_000  # numbers in the tables of pairs of judges

Floats = NDArray[np.float64]
_UNKNOWN = Estimate(math.nan, math.nan, math.nan, 0)


class AgreementEstimates(NamedTuple):
    """Agreement with 95 % intervals; NaN where it is undefined."""

    observed: Estimate
    """Share of pairs of judges who agree, averaged over items."""
    alpha: Estimate
    """Krippendorff's, nominal."""
    cohen: Estimate
    """Cohen's kappa; for more than two judges the mean over pairs (Light 1971)."""
    fleiss: Estimate
    """Fleiss' kappa, over the items with the most frequent number of answers."""
    free: Estimate
    """Free-marginal kappa (Randolph 2005)."""
    prevalence: float
    """Share of the most frequent answer."""
    fleiss_size: int
    """Number of answers of the items that Fleiss' kappa uses."""


def agreement_estimates(
    answers: NDArray[np.integer], choices: NDArray[np.integer] | None = None, seed: int = SEED
) -> AgreementEstimates:
    """Return all measures of agreement.

    Args:
        answers: One row per item and one column per judge: the number of an answer, or -1.
        choices: How many answers were possible for each item; None if any were.
        seed: Seed for the groups of the jackknife.
    """
    given = answers >= 0
    several = given.sum(axis=1) > 1
    answers, given = answers[several], given[several]
    places = given.any(axis=0)
    answers, given = answers[:, places], given[:, places]
    n = len(answers)
    if n == 0:
        none = _UNKNOWN
        return AgreementEstimates(none, none, none, none, none, math.nan, 0)
    _, answers = np.unique(np.where(given, answers, -1), return_inverse=True)
    answers = answers.reshape(given.shape) - (0 if given.all() else 1)
    kinds = int(answers.max()) + 1
    counts = np.stack([(answers == kind).sum(axis=1) for kind in range(kinds)], axis=1)  # (n, k)
    sizes = counts.sum(axis=1)
    agree = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    groups = _groups(n, answers.shape[1], kinds, seed)
    found = np.bincount(sizes)
    size = int(np.flatnonzero(found == found.max())[-1])
    even = sizes == size
    per_item: dict[str, Floats] = {
        "items": np.ones(n),
        "agree": agree,
        "differ": sizes * (1 - agree),
        "given": counts.astype(float),
        "even": even.astype(float),
        "even_agree": agree * even,
        "even_given": counts * even[:, None],
    }
    if choices is not None:
        per_item["chance"] = 1 / choices[several]
    sums = {name: _grouped(values, groups) for name, values in per_item.items()}
    pairs = _pairs(answers, given, groups, kinds)
    return AgreementEstimates(
        observed=_observed(sums, agree, n),
        alpha=_estimate(sums, _alpha, n),
        cohen=_estimate(pairs, _cohen, n) if answers.shape[1] > 1 else _UNKNOWN,
        fleiss=_estimate(sums, _fleiss, int(even.sum())),
        free=_estimate(sums, _free, n) if choices is not None else _UNKNOWN._replace(n=n),
        prevalence=float(counts.sum(axis=0).max() / counts.sum()),
        fleiss_size=size,
    )


def _groups(n: int, judges: int, kinds: int, seed: int) -> NDArray[np.int64]:
    """Return the group of every item: as many as items, or equally large ones at random."""
    most = max(10, min(GROUPS, _LARGEST // (judges * judges * kinds)))
    if n <= most:
        return np.arange(n)
    return np.random.default_rng(seed).permutation(n) % most


def _grouped(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return the sums of every group: (groups, …)."""
    out = np.zeros((int(groups.max()) + 1, *values.shape[1:]))
    np.add.at(out, groups, values)
    return out


def _pairs(
    answers: NDArray[np.integer], given: NDArray[np.bool_], groups: NDArray[np.int64], kinds: int
) -> dict[str, Floats]:
    """Return, for every group and pair of judges, what Cohen's kappa needs."""
    number, judges = int(groups.max()) + 1, answers.shape[1]
    both = np.zeros((number, judges, judges))
    same = np.zeros_like(both)
    first = np.zeros((number, kinds, judges, judges))  # answers of the first where both answered
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    for group, part in enumerate(np.split(order, ends[:-1])):
        there = given[part].astype(np.float32)
        both[group] = there.T @ there
        for kind in range(kinds):
            gave = (answers[part] == kind).astype(np.float32)
            same[group] += gave.T @ gave
            first[group, kind] = gave.T @ there
    return {"both": both, "same": same, "first": first}


def _estimate(
    sums: Mapping[str, Floats], measure: Callable[[Mapping[str, Floats]], Floats], n: int
) -> Estimate:
    """Return a measure with its jackknife interval; ``measure`` takes many sums at once."""
    whole = {name: values.sum(axis=0, keepdims=True) for name, values in sums.items()}
    value = float(measure(whole)[0])
    if math.isnan(value):
        return Estimate(math.nan, math.nan, math.nan, n)
    left = measure({name: whole[name] - values for name, values in sums.items()})
    left = left[np.isfinite(left)]
    if len(left) < 2:
        return Estimate(value, math.nan, math.nan, n)
    from scipy.special import stdtrit

    spread = math.sqrt((len(left) - 1) / len(left) * float(((left - left.mean()) ** 2).sum()))
    half = float(stdtrit(len(left) - 1, 0.975)) * spread
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), n)


def _observed(sums: Mapping[str, Floats], agree: Floats, n: int) -> Estimate:
    found = _estimate(sums, lambda some: _ratio(some["agree"], some["items"]), n)
    if 0 < found.value < 1 and not math.isnan(found.low):
        return found._replace(low=max(0.0, found.low))
    return share(agree.tolist())  # a jackknife of equal values has no width


def _alpha(sums: Mapping[str, Floats]) -> Floats:
    total = sums["given"].sum(axis=1)
    expected = total**2 - (sums["given"] ** 2).sum(axis=1)
    found: Floats = 1 - (total - 1) * _ratio(sums["differ"], expected)
    return found


def _fleiss(sums: Mapping[str, Floats]) -> Floats:
    shares = _ratio(sums["even_given"], sums["even_given"].sum(axis=1, keepdims=True))
    return _beyond_chance(_ratio(sums["even_agree"], sums["even"]), (shares**2).sum(axis=1))


def _free(sums: Mapping[str, Floats]) -> Floats:
    chance = _ratio(sums["chance"], sums["items"])
    return _beyond_chance(_ratio(sums["agree"], sums["items"]), chance)


def _cohen(sums: Mapping[str, Floats]) -> Floats:
    one, other = np.triu_indices(sums["both"].shape[1], 1)
    both = sums["both"][:, one, other]
    first, second = sums["first"][:, :, one, other], sums["first"][:, :, other, one]
    expected = _ratio((first * second).sum(axis=1), both**2)
    kappas = _beyond_chance(_ratio(sums["same"][:, one, other], both), expected)
    valid = np.isfinite(kappas)
    return _ratio(np.where(valid, kappas, 0).sum(axis=1), valid.sum(axis=1).astype(float))


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    return _ratio(observed - expected, np.where(expected < 1 - 1e-12, 1 - expected, 0))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN where nothing is there to divide by."""
    out: Floats = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=out, where=np.abs(below) > 1e-9)
    return out
