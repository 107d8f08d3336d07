"""Accuracy and reasoning consistency over verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from boxpen.metrics.intervals import Estimate, share
from boxpen.scoring.verdicts import Verdict

__all__ = ["accuracy", "both_right", "consistency"]


def accuracy(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the mean credit; items of a block are treated as a cluster."""
    clusters = [("block", v.block) if v.block is not None else ("item", v.id) for v in verdicts]
    clustered = len(set(clusters)) < len(clusters)
    return share([v.credit for v in verdicts], clusters if clustered else None)


def consistency(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks that are all right or all wrong (CommonMT section 6.1, CATs).

    A model that is always wrong is perfectly consistent: read it beside ``both_right``.
    """
    blocks = _blocks(verdicts)
    return share([math.prod(b) + math.prod(1 - c for c in b) for b in blocks])


def both_right(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks in which every item is right."""
    return share([math.prod(b) for b in _blocks(verdicts)])


def _blocks(verdicts: Sequence[Verdict]) -> list[list[float]]:
    """Return the credits of every block of two or more items.

    A tie earns part of a credit; products of credits are then the chance that the block comes out
    so when ties are broken at random.
    """
    blocks: dict[str, list[float]] = {}
    for verdict in verdicts:
        if verdict.block is not None:
            blocks.setdefault(verdict.block, []).append(verdict.credit)
    return [b for b in blocks.values() if len(b) > 1]
