"""Agreement of judges: percent agreement, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Answers are names without order (nominal). ``items`` holds, for every item, the answers that were
given to it; what a judge left out is simply not there, and items with fewer than two answers say
nothing about agreement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from boxpen.metrics.intervals import RESAMPLES, SEED, Estimate

__all__ = [
    "cohen_estimate",
    "cohen_kappa",
    "fleiss_kappa",
    "free_kappa",
    "krippendorff_alpha",
    "percent_agreement",
    "weighted_kappa",
]

Answers = Sequence[Hashable]


def percent_agreement(items: Sequence[Answers]) -> float:
    """Return the share of pairs of judges who agree, averaged over items; NaN without a pair."""
    shares = [_agreeing(answers) for answers in items if len(answers) > 1]
    return math.fsum(shares) / len(shares) if shares else math.nan


def cohen_kappa(first: Answers, second: Answers) -> float:
    """Return Cohen's kappa of two judges who answered the same items (Cohen 1960).

    NaN if both gave one and the same answer throughout: then chance alone would agree as well.
    """
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n if n else math.nan
    one, other = Counter(first), Counter(second)
    expected = sum(count * other[answer] for answer, count in one.items()) / (n * n) if n else 0.0
    return _beyond_chance(observed, expected)


def cohen_estimate(
    first: Answers,
    second: Answers,
    clusters: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Return Cohen's kappa with the percentile interval of a bootstrap over whole clusters.

    Args:
        first: The answers of one judge.
        second: Those of another to the same questions.
        clusters: The cluster of every question.
        resamples: How many times clusters are drawn, with replacement; draws in which both give one
            and the same answer throughout say nothing.
        seed: Random seed for the draw, so that the same answers give the same interval.
    """
    import numpy as np

    kappa, n = cohen_kappa(first, second), len(first)
    if math.isnan(kappa):
        return Estimate(math.nan, math.nan, math.nan, n)
    answers = {answer: i for i, answer in enumerate(dict.fromkeys([*first, *second]))}
    places = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    crossed = np.zeros((len(places), len(answers), len(answers)))
    for a, b, cluster in zip(first, second, clusters, strict=True):
        crossed[places[cluster], answers[a], answers[b]] += 1
    rng = np.random.default_rng(seed)
    shares = np.full(len(places), 1 / len(places))
    drawn = rng.multinomial(len(places), shares, size=resamples)
    tables = np.tensordot(drawn, crossed, axes=1)  # (resamples, answers, answers)
    tables /= tables.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(tables, axis1=1, axis2=2)
    expected = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1)
    telling = expected < 1 - 1e-12
    kappas = (observed[telling] - expected[telling]) / (1 - expected[telling])
    low, high = np.quantile(kappas, [0.025, 0.975])
    return Estimate(kappa, float(low), float(high), n)


def weighted_kappa(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Cohen's kappa of two judges who gave numbers, with linear weights (Cohen 1968).

    Numbers that are far apart disagree more. NaN if both gave one and the same number throughout.
    """
    n = len(first)
    apart = sum(abs(a - b) for a, b in zip(first, second, strict=True)) * n
    one, other = Counter(first), Counter(second)
    expected = sum(abs(a - b) * x * y for a, x in one.items() for b, y in other.items())
    return 1 - apart / expected if expected else math.nan


def fleiss_kappa(items: Sequence[Answers]) -> float:
    """Return Fleiss' kappa (Fleiss 1971); every item must have the same number of answers.

    NaN if all answers are the same.

    Raises:
        ValueError: If the numbers of answers differ; Krippendorff's alpha allows that.
    """
    sizes = {len(answers) for answers in items}
    if len(sizes) > 1:
        raise ValueError(
            f"items have from {min(sizes)} to {max(sizes)} answers, expected equal numbers"
        )
    given = Counter(answer for answers in items for answer in answers)
    total = given.total()
    expected = sum(count * count for count in given.values()) / (total * total) if total else 0.0
    return _beyond_chance(percent_agreement(items), expected)


def free_kappa(items: Sequence[Answers], choices: Sequence[int]) -> float:
    """Return the free-marginal kappa (Randolph 2005): chance is 1/k for an item of k answers.

    Unlike the others it does not ask which answers are common, so it stays meaningful where the
    right answer is always in the same position.
    """
    pairs = [(a, k) for a, k in zip(items, choices, strict=True) if len(a) > 1]
    if not pairs:
        return math.nan
    expected = math.fsum(1 / k for _, k in pairs) / len(pairs)
    return _beyond_chance(percent_agreement([answers for answers, _ in pairs]), expected)


def krippendorff_alpha(items: Sequence[Answers]) -> float:
    """Return Krippendorff's alpha for nominal data (Krippendorff 2011); answers may be missing.

    NaN if all answers are the same.
    """
    paired = [answers for answers in items if len(answers) > 1]
    given = Counter(answer for answers in paired for answer in answers)
    n = given.total()
    # Every item weighs as much as it has answers: its m (m - 1) pairs count 1 / (m - 1) each.
    observed = math.fsum(len(answers) * (1 - _agreeing(answers)) for answers in paired)
    expected = n * n - sum(count * count for count in given.values())
    return 1 - (n - 1) * observed / expected if expected else math.nan


def _agreeing(answers: Answers) -> float:
    """Return the share of pairs of answers to one item that are equal."""
    m = len(answers)
    return sum(count * (count - 1) for count in Counter(answers).values()) / (m * (m - 1))


def _beyond_chance(observed: float, expected: float) -> float:
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan
