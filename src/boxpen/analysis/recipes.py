"""The same model, different recipes: do two ways of asking for an answer agree?

Candidates may be scored, shown as options, or looked for in a free translation. An item counts if
both runs decided it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.metrics.agreement import cohen_estimate
from boxpen.metrics.choice import accuracy, clusters
from boxpen.metrics.intervals import Estimate, share
from boxpen.runs.comparison import same_items
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["RecipePair", "recipe_pairs"]


@dataclass(frozen=True)
class RecipePair:
    """One model on one suite under two recipes.

    Attributes:
        suite: Title of the suite.
        model: Short name of the model.
        recipes: How each run was made: ``sound (scored)``.
        accuracies: Of each run, on all items that it decided.
        common: The same on the items that both decided.
        agree: Share of those on which both choose the same candidate; a tie is a choice of its own.
        kappa: Cohen's kappa of the choices, the right candidate and each wrong one; blocks are
            drawn together.
        signatures: Of both runs.
    """

    suite: str
    model: str
    recipes: tuple[str, str]
    accuracies: tuple[Estimate, Estimate]
    common: tuple[Estimate, Estimate]
    agree: Estimate
    kappa: Estimate
    signatures: tuple[str, str]


def recipe_pairs(runs: Sequence[Run]) -> list[RecipePair]:
    """Return every pair of runs of one model on one suite that differ in their recipe.

    A pair that shares no item is left out.
    """
    found = []
    for a, b in itertools.combinations(runs, 2):
        same = (a.info.suite.name, a.info.model.fingerprint) == (
            b.info.suite.name,
            b.info.model.fingerprint,
        )
        if a.human or not same or a.info.recipe.digest == b.info.recipe.digest:
            continue
        one, other = sorted((a, b), key=_way)
        pair = _paired(one, other) if same_items(one, other) else None
        if pair is not None:
            found.append(pair)
    return found


def _paired(a: Run, b: Run) -> RecipePair | None:
    theirs = {verdict.id: verdict for verdict in b.verdicts}
    first = [v for v in a.verdicts if v.id in theirs]
    if not first:
        return None
    second = [theirs[v.id] for v in first]
    choices = [_choice(v) for v in first], [_choice(v) for v in second]
    blocks = clusters(first)
    return RecipePair(
        suite=a.suite_title,
        model=a.info.model.short,
        recipes=(_named(a), _named(b)),
        accuracies=(accuracy(a.verdicts), accuracy(b.verdicts)),
        common=(accuracy(first), accuracy(second)),
        agree=share([float(x == y) for x, y in zip(*choices, strict=True)], blocks),
        kappa=cohen_estimate(*choices, blocks or range(len(first))),
        signatures=(a.signature, b.signature),
    )


def _choice(verdict: Verdict) -> int | None:
    """Return the candidate that won, counted from the right one; None for a tie.

    Counted so, the position of the right candidate in a suite does not change kappa.
    """
    if verdict.tied > 1:
        return None
    return (verdict.winner - verdict.gold) % len(verdict.scores)


def _way(run: Run) -> int:
    return 2 if run.info.generated else int(run.info.asked)


def _named(run: Run) -> str:
    way = ("scored", "asked", "generated")[_way(run)]
    name = run.info.recipe.name
    return f"{way} ({name})"
