"""How far a search may go, be it asked for by an option, a configuration or a checkpoint."""

__all__ = ["MOST_BEAM", "MOST_PENALTY"]

MOST_BEAM = 1_000
"""With a vocabulary of 30,000, a step for one sentence has 30 million numbers then."""
MOST_PENALTY = 10.0
"""Either way: a length to a higher power is soon no number any more."""
