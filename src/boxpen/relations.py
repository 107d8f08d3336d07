"""The relations of Razeghi et al. (2021), in the order in which the paper prints them."""

__all__ = ["ATOMIC", "CONCEPTNET"]

CONCEPTNET = ("capableof", "desires", "createdby", "usedfor", "isa", "madeof", "hasa")
"""Those that it takes from ConceptNet."""

ATOMIC = ("xAttr", "xNeed", "xIntent", "xEffect", "xWant")
"""Those that it takes from ATOMIC."""
