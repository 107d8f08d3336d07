"""The human filter: people accept, reject or mend what rules have found.

Subtitles are translated by amateurs, with errors; the paper had professional translators go through
its instances and correct them. Here an edit is a better translation of the current sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from boxpen.build.discourse.pool import Row
from boxpen.build.discourse.pronouns import class_word
from boxpen.catalog.plaintext import excerpt
from boxpen.errors import BuildError
from boxpen.review import (
    Decision,
    Judgement,
    Line,
    Question,
    Rule,
    VerdictSet,
    of_these_texts,
    settle,
)

__all__ = ["VERDICTS", "Reviewed", "checked_edit", "questions", "review_candidates"]

VERDICTS = VerdictSet(
    {"accept": ("a", "y", "yes"), "reject": ("r", "n", "no"), "edit": ("e",)},
    edited=frozenset({"edit"}),
)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review leaves.

    Attributes:
        accepted: Candidates, with the translations that they were given.
        rejected: How many are rejected.
        open: How many are not decided yet.
        spare: How many are accepted beyond what was wanted.
        decisions: By item.
        outdated: Judgements that were left out because the texts have changed since.
    """

    accepted: list[Row]
    rejected: int
    open: int
    spare: int
    decisions: Mapping[str, Decision]
    outdated: int


def questions(rows: Iterable[Row]) -> list[Question]:
    """Return what is asked of candidates: is the class right, told by the context, well translated?

    The rules' score and reason are hints, which judges need not see.
    """
    return [
        Question(
            item=row["id"],
            shown={
                "class": row["class"],
                "context": row["context_source"],
                "source": row["source"],
                "reference_context": row["context_target"],
                "reference": row["target"],
                "contrast": " / ".join(row["contrast"]),
            },
            part=row["class"],
            score=row["score"],
            hints={"score": f"{row['score']:.2f}", "reason": row["reason"]},
        )
        for row in rows
    ]


def checked_edit(line: Line, rows: Mapping[str, Row]) -> Judgement:
    """Return the judgement of a sheet's line in the form in which it is kept.

    Raises:
        BuildError: If an edit is the old translation, or is no longer of the class: of a pronoun
            it must have the word itself, and no other.
    """
    one = line.judgement
    if one.verdict not in VERDICTS.edited:
        return one
    row = rows[one.item]
    edit = " ".join(one.edit.split())
    if edit == row["target"]:
        raise BuildError(f"{line} has the edit '{edit}', which is the translation as it was")
    if row["set"] == "pronoun" and class_word(edit) != row["class"]:
        raise BuildError(f"{line} has the edit '{edit}', expected one with {row['class']}")
    return replace(one, edit=edit)


def review_candidates(
    rows: Sequence[Row],
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
    wanted: Mapping[str, int] | None = None,
) -> Reviewed:
    """Divide candidates by what people say of them, and apply edits.

    Args:
        rows: Candidates, the first drawn first.
        judgements: All of the journal.
        rule: How judges who differ decide.
        min_judges: Fewest judges of a candidate.
        wanted: Most candidates of every class; no limit if None.

    Raises:
        BuildError: If a judgement has a verdict that there is not, or lacks its edit.
    """
    asked = questions(rows)
    kept, outdated = of_these_texts(judgements, asked)
    for one in kept:
        if one.verdict and one.verdict not in VERDICTS.forms:
            raise BuildError(
                f"judge '{one.judge}' gives item '{one.item}' the verdict {excerpt(one.verdict)}, "
                f"expected {', '.join(VERDICTS.forms)}"
            )
        if one.verdict in VERDICTS.edited and not one.edit.strip():
            raise BuildError(
                f"judge '{one.judge}' gives item '{one.item}' the verdict '{one.verdict}' and no "
                "edit, expected the new translation"
            )
    decisions = settle(kept, rule, min_judges, [question.item for question in asked])
    left = None if wanted is None else dict(wanted)
    accepted: list[Row] = []
    rejected = still = spare = 0
    for row in rows:
        decision = decisions[row["id"]]
        if decision.verdict is None:
            still += 1
        elif decision.verdict == "reject":
            rejected += 1
        elif left is not None and not left.get(row["class"]):
            spare += 1
        else:
            accepted.append(_edited(row, decision.edit) if decision.verdict == "edit" else row)
            if left is not None:
                left[row["class"]] -= 1
    return Reviewed(accepted, rejected, still, spare, decisions, outdated)


def _edited(row: Row, target: str) -> dict[str, Any]:
    from boxpen.build.discourse.contrast import contrasts

    wrong = contrasts(row["set"], row["class"], row["word"], row["source"], target)
    return {**row, "target": target, "contrast": list(wrong)}
