"""Checks of the numbers that a server gives; each raises if they cannot be right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from boxpen.models.remote.client import MismatchError
from boxpen.models.remote.protocol import FirstToken, TokenScores

__all__ = [
    "all_close",
    "as_scores",
    "check_sums",
    "close",
    "first_difference",
    "noise",
    "not_constant",
    "same_before",
    "tops",
]


def close(first: float, second: float) -> bool:
    """Whether two log-probabilities are equal but for the noise of bfloat16."""
    return abs(first - second) <= 0.05 + 0.01 * abs(first)


def tops(token: FirstToken) -> list[float]:
    """Return the log-probabilities of the most likely tokens, highest first."""
    return sorted((logprob for _, _, logprob in token.top), reverse=True)


def as_scores(token: FirstToken) -> TokenScores:
    """Return the most likely tokens as if they were those of a prompt."""
    return TokenScores((), (), tuple(tops(token)))


def all_close(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two lists have the same length and values, but for noise."""
    return len(one) == len(other) > 0 and all(map(close, one, other))


def check_sums(tokens: Sequence[FirstToken]) -> None:
    """Raise if the probabilities of some tokens add up to more than 1."""
    for token in tokens:
        total = sum(math.exp(min(value, 1.0)) for value in tops(token))
        if total > 1.02:
            raise MismatchError(
                f"the probabilities of {len(token.top)} tokens add up to {total:.2f}"
            )


def noise(first: Sequence[TokenScores], second: Sequence[TokenScores]) -> float:
    """Return the largest difference between two answers to the same requests."""
    most = 0.0
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one.logprobs[1:], other.logprobs[1:], strict=False):
            most = max(most, abs(a - b))
            if not close(a, b):
                raise MismatchError(f"the same request has different answers ({a:.3f} and {b:.3f})")
        if len(one.logprobs) != len(other.logprobs):
            raise MismatchError("the same request has answers of different length")
    return most


def not_constant(values: Sequence[float]) -> None:
    """Raise if all values are the same."""
    if max(values) - min(values) < 1e-3:
        raise MismatchError(f"every log-probability is {values[0]:.3f}")


def _shared(one: TokenScores, other: TokenScores) -> int:
    """Return how many tokens two texts begin with in common."""
    pairs = zip(one.ids, other.ids, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def same_before(one: TokenScores, other: TokenScores) -> None:
    """Raise if the tokens that two texts share differ in log-probability."""
    for i in range(1, _shared(one, other)):
        a, b = one.logprobs[i], other.logprobs[i]
        if not close(a, b):
            raise MismatchError(
                f"a token has the log-probability {a:.3f} or {b:.3f}, depending on what follows: "
                "log-probabilities are shifted by one"
            )


def first_difference(one: TokenScores, other: TokenScores) -> bool:
    """Whether the first tokens that differ also differ in log-probability."""
    place = _shared(one, other)
    if not 0 < place < min(len(one.ids), len(other.ids)):
        return False
    return not close(one.logprobs[place], other.logprobs[place])
