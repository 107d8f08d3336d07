"""Numbers as reports write them."""

from __future__ import annotations

__all__ = ["p_value"]


def p_value(value: float) -> str:
    """Return a p-value with three digits: ``.049``, ``1.000``, ``<.001``."""
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
