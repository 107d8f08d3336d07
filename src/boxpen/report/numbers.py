"""Numbers as reports write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from boxpen.metrics.intervals import Estimate
from boxpen.metrics.summary import DASH, FEWEST_BLOCKS, too_few_blocks

__all__ = [
    "DASH",
    "FEWEST_BLOCKS",
    "digits",
    "interval",
    "p_value",
    "percent",
    "plain",
    "too_few_blocks",
]


def interval(value: float, low: float, high: float, digits: int, sign: str = "") -> str:
    """Return a number with its interval: ``0.614 [0.586, 0.641]``."""
    form = f"{sign}.{digits}f"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def percent(estimate: Estimate, sign: str = "") -> str:
    """Return a share in per cent with its interval: ``61.4 [58.6, 64.1]``; a dash for NaN."""
    value, low, high = (100 * number for number in estimate[:3])
    return DASH if math.isnan(value) else interval(value, low, high, 1, sign)


def p_value(value: float) -> str:
    """Return a p-value with three digits: ``.049``, ``1.000``, ``<.001``."""
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def digits(metric: str) -> int:
    """Return how many decimals of a metric are shown."""
    return 1 if metric == "bleu" else 3


def plain(value: Any) -> Any:
    """Return a dataclass or an estimate, and those within it, as objects for JSON."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Estimate):
        return value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return value
