"""Accuracy, reasoning consistency and related metrics over verdicts.

What an item earns is decided first; everything here only adds up. Items of a block are a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

from boxpen.metrics.intervals import Estimate, bootstrap, mean, mean_of_shares, share
from boxpen.scoring.verdicts import Verdict

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "both_right",
    "both_wrong",
    "chance",
    "chance_of",
    "clusters",
    "consistency",
    "every_order",
    "failure_rate",
    "flip_rate",
    "macro_accuracy",
    "margin",
    "right_answers",
]

Interval = Literal["wilson", "bootstrap"]


def accuracy(verdicts: Sequence[Verdict], interval: Interval = "wilson") -> Estimate:
    """Return the mean credit.

    Args:
        verdicts: What to add up.
        interval: Wilson's score interval with a design effect for blocks, or the percentiles of a
            bootstrap over blocks.
    """
    earned = [v.credit for v in verdicts]
    if interval == "bootstrap":
        return bootstrap(earned, clusters(verdicts))
    return share(earned, clusters(verdicts))


def every_order(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of asked items that are right in every order of their options."""
    return share([float(v.credit == 1) for v in verdicts], clusters(verdicts))


def failure_rate(verdicts: Sequence[Verdict], interval: Interval = "wilson") -> Estimate:
    """Return the failure rate: one minus the mean credit."""
    right = accuracy(verdicts, interval)
    return Estimate(1 - right.value, 1 - right.high, 1 - right.low, right.n)


def macro_accuracy(groups: Sequence[Sequence[Verdict]]) -> Estimate:
    """Return the mean of the accuracies of groups, however many items each has."""
    return mean_of_shares(
        [([v.credit for v in group], clusters(group)) for group in groups if group]
    )


def margin(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the mean margin: score of the right candidate minus that of the best wrong one."""
    return mean([v.margin for v in verdicts], clusters(verdicts))


def chance(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the accuracy of guessing."""
    if not verdicts:
        return Estimate(math.nan, math.nan, math.nan, 0)
    value = math.fsum(map(chance_of, verdicts)) / len(verdicts)
    return Estimate(value, value, value, len(verdicts))


def chance_of(verdict: Verdict) -> float:
    """Return what guessing earns: 1/k for an item of k candidates, of which one is right."""
    return right_answers(verdict) / len(verdict.scores)


def right_answers(verdict: Verdict) -> int:
    """Return how many of the candidates or competing labels are right.

    Of two labels that an item accepts only one competes in the 2-way setting: an item of which
    every answer is right is left out.
    """
    return min(1 + len(verdict.also), len(verdict.scores) - 1)


def balanced_accuracy(groups: Sequence[Sequence[Verdict]]) -> Estimate:
    """Return the mean of the accuracies of groups whose items may share blocks.

    With one group for each label, a classifier that gives one answer always has 1/k for k labels.
    """
    groups = [group for group in groups if group]
    verdicts = [v for group in groups for v in group]
    apart = macro_accuracy(groups)
    means = [accuracy(group).value for group in groups]
    # An item moves the result by its distance from the mean of its group: that groups differ in
    # size or in accuracy adds no spread.
    moved = [
        apart.value + (v.credit - own) * len(verdicts) / (len(groups) * len(group))
        for group, own in zip(groups, means, strict=True)
        for v in group
    ]
    joint = share(moved, clusters(verdicts))
    # Never narrower than for groups that share no blocks.
    return apart._replace(low=min(apart.low, joint.low), high=max(apart.high, joint.high))


def consistency(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks that are all right or all wrong (CommonMT section 6.1, CATs).

    A model that is always wrong is perfectly consistent: read it beside ``both_right``.
    """
    return share([_all_right(b) + _all_wrong(b) for b in _blocks(verdicts)])


def both_right(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks in which every item is right."""
    return share([_all_right(b) for b in _blocks(verdicts)])


def both_wrong(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks in which every item is wrong."""
    return share([_all_wrong(b) for b in _blocks(verdicts)])


def flip_rate(verdicts: Sequence[Verdict]) -> Estimate:
    """Return the share of blocks in which some items are right and some wrong."""
    return share([max(0.0, 1 - _all_right(b) - _all_wrong(b)) for b in _blocks(verdicts)])


def clusters(verdicts: Sequence[Verdict]) -> list[Hashable] | None:
    """Return the cluster of every verdict: its block, or itself; None if each is by itself."""
    of = [("block", v.block) if v.block is not None else ("item", v.id) for v in verdicts]
    return list(of) if len(set(of)) < len(of) else None


def _all_right(earned: Sequence[float]) -> float:
    return math.prod(earned)


def _all_wrong(earned: Sequence[float]) -> float:
    return math.prod(1 - credit for credit in earned)


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
