"""Robustness: what is left of a model's answers when an item is changed a little.

A *dual* is an item that one operation made of another: words were added, deleted, replaced or
swapped. Both are in one block, the original first. Where the truth flips with the change, a model
that understands it answers the two otherwise; the models of Zhou et al. (2020) tended to give the
same answer to both.

The tag ``operation`` names the operation; in the published duals of CATs and in ``starter.dual``,
``set`` does. The tags ``expected`` (flipped or kept) or ``flip`` (yes or no) tell whether the truth
flips; without them, it flips if another candidate is right. If an original has several duals, each
with its own block, ``side`` and ``item`` tell which belong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from boxpen.errors import RunError, nearest
from boxpen.metrics.choice import chance_of
from boxpen.metrics.compare import holm
from boxpen.metrics.duals import independence, survival
from boxpen.metrics.intervals import Estimate, share
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["DualPair", "Robustness", "dual_pairs", "find_pairs", "robustness"]

_OPERATION = "operation"
_SET = "set"  # of suites that were published as duals
_PUBLISHED = "cats-dual"
_SIDE, _ITEM = "side", "item"  # of suites that the builder duals makes
_FLIPS = {("expected", "flipped"): True, ("expected", "kept"): False,
          ("flip", "yes"): True, ("flip", "no"): False}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DualPair:
    """An original and its dual, as a model answered them.

    Attributes:
        block: Where both stand.
        operation: What made the dual of the original.
        flips: Whether another answer is right afterwards.
        original: The verdict on the original.
        dual: The verdict on the dual.
    """

    block: str
    operation: str
    flips: bool
    original: Verdict
    dual: Verdict

    @property
    def cluster(self) -> str:
        """What pairs of one original share: its id if the tags tell it, or else the block."""
        return self.dual.tags.get(_ITEM, self.block) if _SIDE in self.dual.tags else self.block

    @property
    def decided(self) -> bool:
        """Whether neither side ended in a tie."""
        return self.original.tied == self.dual.tied == 1

    @property
    def original_right(self) -> bool:
        """Whether the answer to the original is right; not to be asked of ties."""
        return self.original.winner == self.original.gold

    @property
    def dual_right(self) -> bool:
        """Whether the answer to the dual is right; not to be asked of ties."""
        return self.dual.winner == self.dual.gold

    @property
    def same(self) -> bool:
        """Whether both sides got the same answer; not to be asked of ties.

        Of two candidates, one right and one wrong answer are the same one if the truth flips, in
        whatever order the candidates stand.
        """
        if len(self.original.scores) == len(self.dual.scores) == 2:
            return (self.original_right == self.dual_right) != self.flips
        return self.original.winner == self.dual.winner


@dataclass(frozen=True, slots=True)
class Robustness:
    """How the answers to one kind of duals came out.

    Attributes:
        operation: What made the duals; ``all`` for all of them.
        both: The share of pairs that are right on both sides.
        consistency: The share of pairs that are right on both sides or on none.
        survives: Of what was right on originals, the share whose dual is right too.
        same: Of pairs whose truth flips, without ties, the share that got the same answer.
        independent: What ``both`` would be if the two answers were independent.
        guessing: What ``both`` would be if all were guessed.
        p: Two-sided p-value that the two answers are independent.
        adjusted: The same, corrected by Holm for the number of operations.
    """

    operation: str
    pairs: int
    flipped: int
    ties: int
    original: Estimate
    dual: Estimate
    both: Estimate
    consistency: Estimate
    survives: Estimate
    same: Estimate
    independent: float
    guessing: float
    test: str
    p: float
    adjusted: float


def dual_pairs(run: Run, by: str | None = None) -> list[DualPair]:
    """Return the originals of a run with their duals, in the order of the suite.

    Raises:
        RunError: If the run has no blocks, no such tag, or no duals.
    """
    name = run.info.suite.name
    if all(v.block is None for v in run.verdicts):
        raise RunError(
            f"the run of {name} has no blocks, expected a suite in which an original and its dual "
            "share one, such as cats-dual"
        )
    tags = list(dict.fromkeys(tag for v in run.verdicts for tag in v.tags))
    if by is not None and by not in tags:
        raise RunError(f"no item of the run of {name} has the tag '{by}', {nearest(by, tags)}")
    found = find_pairs(run, by)
    if not found and by is None:
        raise RunError(
            f"the run of {name} has no duals: no block of two judged items or more has the tag "
            f"'{_OPERATION}'; if its blocks are duals, --by names the tag of their operations"
        )
    if not found:
        raise RunError(
            f"the run of {name} has no duals: no block of two judged items or more has the tag "
            f"'{by}'"
        )
    return found


def find_pairs(run: Run, by: str | None = None) -> list[DualPair]:
    """Return the same, and nothing where there are no duals."""
    published = run.info.suite.name.partition(".")[0] == _PUBLISHED
    blocks: dict[str, list[Verdict]] = {}
    for verdict in run.verdicts:
        if verdict.block is not None:
            blocks.setdefault(verdict.block, []).append(verdict)
    pairs = []
    for block, members in blocks.items():
        tag = by or _tag(members, published=published)
        if tag is None or not any(tag in v.tags for v in members):
            continue
        # An original that says so, or bears no operation, is one wherever it stands.
        named = [v for v in members if v.tags.get(_SIDE) == "original" or tag not in v.tags]
        original = (named or members)[0]
        pairs += [
            DualPair(block, v.tags[tag], _flips(original, v), original, v)
            for v in members
            if v is not original and tag in v.tags
        ]
    return pairs


def robustness(pairs: Sequence[DualPair]) -> list[Robustness]:
    """Return the numbers of every operation, and then of all pairs."""
    operations = list(dict.fromkeys(pair.operation for pair in pairs))
    rows = [_row(name, [p for p in pairs if p.operation == name]) for name in operations]
    adjusted = holm([row.p for row in rows])
    rows = [replace(row, adjusted=p) for row, p in zip(rows, adjusted, strict=True)]
    return [*rows, _row("all", pairs)]


def _tag(members: Sequence[Verdict], *, published: bool) -> str | None:
    """Return the tag that names the operation of a block, if the block is one of duals."""
    if any(_OPERATION in v.tags for v in members):
        return _OPERATION
    return _SET if published or any("flip" in v.tags for v in members) else None


def _flips(original: Verdict, dual: Verdict) -> bool:
    told = [_FLIPS[tag] for tag in dual.tags.items() if tag in _FLIPS]
    return told[0] if told else original.gold != dual.gold


def _row(operation: str, pairs: Sequence[DualPair]) -> Robustness:
    first, second = [p.original.credit for p in pairs], [p.dual.credit for p in pairs]
    clusters = _clusters(pairs)

    def mean(value: Callable[[float, float], float]) -> Estimate:
        return share([value(a, b) for a, b in zip(first, second, strict=True)], clusters)

    flipped = [p for p in pairs if p.flips]
    told = [p for p in flipped if p.decided]
    dependence = independence(first, second, [p.operation for p in pairs], clusters)
    return Robustness(
        operation=operation,
        pairs=len(pairs),
        flipped=len(flipped),
        ties=sum(not p.decided for p in pairs),
        original=mean(lambda a, _: a),
        dual=mean(lambda _, b: b),
        both=mean(lambda a, b: a * b),
        consistency=mean(lambda a, b: a * b + (1 - a) * (1 - b)),
        survives=survival(first, second, clusters),
        same=share([float(p.same) for p in told], _clusters(told)),
        independent=dependence.expected,
        guessing=math.fsum(chance_of(p.original) * chance_of(p.dual) for p in pairs) / len(pairs),
        test=dependence.test,
        p=dependence.p,
        adjusted=dependence.p,
    )


def _clusters(pairs: Sequence[DualPair]) -> list[str] | None:
    """Return the cluster of every pair; None if each is by itself."""
    of = [pair.cluster for pair in pairs]
    return of if len(set(of)) < len(of) else None
