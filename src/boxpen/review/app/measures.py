"""Agreement for the dashboard: every measure with its interval, and a warning where it misleads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxpen.metrics.agreement_estimates import AgreementEstimates, agreement_estimates
from boxpen.metrics.intervals import Estimate
from boxpen.review.judgement import Question, VerdictSet

__all__ = ["agreement_json", "possible_answers"]

FEW = 30
"""Items below which an interval is rough."""
PREVALENT = 0.9
"""Share of one verdict above which measures that correct for chance mislead."""
MANY = 1000
"""Different verdicts above which tables of pairs of judges would fill the memory."""
_NAMES = {
    "alpha": "Krippendorff's α",
    "cohen": "Cohen's κ (mean of pairs)",
    "fleiss": "Fleiss' κ",
    "free": "free-marginal κ",
    "observed": "observed",
}
_BY_MARGINALS = ("alpha", "cohen", "fleiss")


def possible_answers(question: Question, verdicts: VerdictSet) -> int:
    """Return how many different answers a question allows; 0 if any text does."""
    if question.options:
        return len(question.options) + len(verdicts.beside)
    joined = len(verdicts.joined)
    return len(verdicts.forms) - joined + (2**joined - 1 if joined else 0)


def agreement_json(
    codes: NDArray[np.integer], choices: NDArray[np.integer] | None
) -> list[dict[str, Any]]:
    """Return every measure; ``codes`` has a row per item and a column per judge."""
    too_many = len(np.unique(codes)) > MANY
    found = agreement_estimates(codes[:0] if too_many else codes, choices)
    return [
        {
            "name": name,
            "value": _number(one.value),
            "low": _number(one.low),
            "high": _number(one.high),
            "n": one.n,
            "warning": f"not worked out: there are more than {MANY:,} different verdicts"
            if too_many
            else _warning(key, one, found, choices is None),
        }
        for key, name in _NAMES.items()
        if (one := getattr(found, key)) is not None
    ]


def _warning(key: str, one: Estimate, found: AgreementEstimates, any_text: bool) -> str | None:
    if found.observed.n == 0:
        return "no item has two verdicts yet"
    if key == "free" and any_text:
        return "undefined: any text may be given, so chance is not known"
    if math.isnan(one.value):
        return "undefined: all verdicts are the same"
    said = []
    if key == "fleiss" and one.n < found.observed.n:
        said.append(f"only over the {one.n:,} items with {found.fleiss_size} verdicts")
    if one.n < FEW:
        said.append(f"only {one.n} items have two verdicts or more, so the interval is rough")
    if key in _BY_MARGINALS and found.prevalence >= PREVALENT:
        said.append(
            f"{found.prevalence:.0%} of verdicts are the same one: this is low even if judges "
            "agree; read it with the observed agreement"
        )
    if one.value == 1:
        said.append("no two judges differ yet")
    return "; ".join(said) or None


def _number(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None
