"""The human filter: people accept a dual, reject it, or say that the other sentence is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from boxpen.build.duals.rows import Row
from boxpen.catalog.plaintext import excerpt
from boxpen.errors import BuildError
from boxpen.review import (
    Decision,
    Judgement,
    Question,
    Rule,
    VerdictSet,
    of_these_texts,
    settle,
)

__all__ = ["VERDICTS", "Reviewed", "questions", "review_duals"]

VERDICTS = VerdictSet(
    {"accept": ("a", "y", "yes"), "reject": ("r", "n", "no"), "relabel": ("l", "other")}
)
"""``relabel`` accepts the sentences, and says that the other one is the sensible one."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review leaves.

    Attributes:
        accepted: Duals, with the labels that people gave them.
        rejected: How many are rejected.
        relabelled: How many of the accepted have another label than was expected.
        open: How many are not decided yet.
        decisions: By dual.
        outdated: Judgements that were left out because the texts have changed since.
    """

    accepted: list[Row]
    rejected: int
    relabelled: int
    open: int
    decisions: Mapping[str, Decision]
    outdated: int


def questions(rows: Iterable[Row]) -> list[Question]:
    """Return what is asked of duals: are both good English, and is the first the sensible one?

    Of the new sentences the one that is expected to be sensible stands first. The rules' reason and
    the fluency are hints, which judges need not see.
    """
    asked = []
    for row in rows:
        old = (row["original_first"], row["original_second"])
        new = (row["first"], row["second"])
        asked.append(
            Question(
                item=row["id"],
                shown={
                    "operation": row["operation"],
                    "original_sensible": old[row["original_gold"]],
                    "original_senseless": old[1 - row["original_gold"]],
                    "dual_sensible": new[row["gold"]],
                    "dual_senseless": new[1 - row["gold"]],
                },
                part=row["operation"],
                score=row["fluency"],
                hints={
                    "kind": row["kind"],
                    "expected": row["expected"],
                    "fluency": "" if row["fluency"] is None else f"{row['fluency']:.2f}",
                    "reason": row["reason"],
                },
            )
        )
    return asked


def review_duals(
    rows: Sequence[Row],
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
) -> Reviewed:
    """Divide duals by what people say of them, and correct their labels.

    Args:
        rows: Duals.
        judgements: All of the journal.
        rule: How judges who differ decide.
        min_judges: Fewest judges of a dual.

    Raises:
        BuildError: If a judgement has a verdict that there is not.
    """
    asked = questions(rows)
    kept, outdated = of_these_texts(judgements, asked)
    for one in kept:
        if one.verdict and one.verdict not in VERDICTS.forms:
            raise BuildError(
                f"judge '{one.judge}' gives item '{one.item}' the verdict {excerpt(one.verdict)}, "
                f"expected {', '.join(VERDICTS.forms)}"
            )
    decisions = settle(kept, rule, min_judges, [question.item for question in asked])
    verdicts = [decisions[row["id"]].verdict for row in rows]
    accepted = [
        _relabelled(row) if verdict == "relabel" else row
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict in ("accept", "relabel")
    ]
    return Reviewed(
        accepted,
        verdicts.count("reject"),
        verdicts.count("relabel"),
        verdicts.count(None),
        decisions,
        outdated,
    )


def _relabelled(row: Row) -> Row:
    other = {"flipped": "kept", "kept": "flipped"}[row["expected"]]
    return {**row, "gold": 1 - row["gold"], "expected": other}
