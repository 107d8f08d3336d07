"""The relations of Razeghi et al. (2021), in the order in which the paper prints them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ATOMIC", "CONCEPTNET", "WRONG", "is_wrong"]

CONCEPTNET = ("capableof", "desires", "createdby", "usedfor", "isa", "madeof", "hasa")
"""Those that it takes from ConceptNet."""

ATOMIC = ("xAttr", "xNeed", "xIntent", "xEffect", "xWant")
"""Those that it takes from ATOMIC."""

WRONG = "-wrong"
"""The id of a test of inference with a wrong tail is that of the same words with the right one,
and this."""


def is_wrong(tags: Mapping[str, str]) -> bool:
    """Return whether a test of inference has a wrong tail."""
    return tags.get("tail") == "wrong"
