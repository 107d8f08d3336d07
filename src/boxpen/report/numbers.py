"""Numbers as reports write them."""

from __future__ import annotations

__all__ = ["DASH", "FEWEST_BLOCKS", "digits", "p_value", "too_few_blocks"]

DASH = "–"
FEWEST_BLOCKS = 10
"""A share of fewer blocks than this is not shown: one block more or less would change it all."""

_OF_BLOCKS = frozenset({"consistency", "both_right", "both_wrong", "flip_rate"})


def p_value(value: float) -> str:
    """Return a p-value with three digits: ``.049``, ``1.000``, ``<.001``."""
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def digits(metric: str) -> int:
    """Return how many decimals of a metric are shown."""
    return 1 if metric == "bleu" else 3


def too_few_blocks(metric: str, n: int) -> bool:
    """Whether a number is a share of so few blocks that a dash stands for it."""
    return metric in _OF_BLOCKS and n < FEWEST_BLOCKS
