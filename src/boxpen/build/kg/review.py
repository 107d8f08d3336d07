"""The human filter: people accept, reject or edit triples, and check wrong tails.

Filtering by hand is the one step that the paper found no substitute for: 'Does this sentence make
sense or not?', and, of wrong answers, are they really wrong?
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxpen.build.kg.review_edits import WRONG, Restate, edited, node_text, split_edit, worded
from boxpen.build.kg.triples import triple_id
from boxpen.catalog.plaintext import excerpt
from boxpen.errors import BuildError, nearest
from boxpen.review import (
    Decision,
    Judgement,
    Question,
    Rule,
    VerdictSet,
    of_these_texts,
    settle,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ACCEPTABILITY",
    "Reviewed",
    "review_triples",
    "review_wrong_tails",
    "triple_questions",
    "wrong_tail_questions",
]

ACCEPTABILITY = VerdictSet(
    {"accept": ("a", "y", "yes"), "reject": ("r", "n", "no"), "edit": ("e",)},
    edited=frozenset({"edit"}),
)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review leaves."""

    accepted: pl.DataFrame
    """With the column ``edited_from``: the id before the edit, null where there was none."""
    dropped: pl.DataFrame
    """With the columns ``step`` and ``reason``."""
    open: pl.DataFrame
    """Not decided yet, with the column ``reason``."""
    decisions: Mapping[str, Decision]
    """By item."""
    outdated: int
    """Judgements that were left out because the texts have changed since."""


def triple_questions(table: pl.DataFrame) -> list[Question]:
    """Return what is asked about triples: do they make sense?

    Raises:
        BuildError: If a triple is there twice.
    """
    return _once(
        Question(
            item=row["id"],
            shown=_shown(row),
            part=row["relation"],
            score=_finite(row.get("plausibility")),
            hints=_hints(row),
        )
        for row in table.iter_rows(named=True)
    )


def wrong_tail_questions(table: pl.DataFrame) -> list[Question]:
    """Return what is asked about wrong tails: is each of them really wrong?

    Raises:
        BuildError: If the table has none, or a triple has the same one twice.
    """
    return _once(
        Question(
            item=_wrong_item(row["id"], tail),
            shown={
                "question": "Is the wrong tail really wrong?",
                **{name: _shown(row)[name] for name in ("relation", "head", "tail")},
                WRONG: text,
            },
            part=row["relation"],
        )
        for row in table.iter_rows(named=True)
        for tail, text in _wrong_tails(row)
    )


def review_triples(
    table: pl.DataFrame,
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
    *,
    restate: Restate = worded,
) -> Reviewed:
    """Divide triples into accepted, dropped and open ones, and apply edits.

    An edited triple has the id of its new texts. It is dropped if that triple is in the table
    already, unless the latter is still open.

    Args:
        table: Triples; head and tail are shown as ``head_text`` and ``tail_text`` where these are.
        judgements: All of the journal.
        rule: How judges who differ decide.
        min_judges: Fewest judges of a triple.
        restate: Makes the sentence of an edited triple.
    """
    questions = triple_questions(table)
    decisions, outdated = _decisions(questions, judgements, rule, min_judges)
    by_verdict = {verdict: set[str]() for verdict in ACCEPTABILITY.forms}
    for item, decision in decisions.items():
        if decision.verdict is not None:
            by_verdict[decision.verdict].add(item)
    taken = set(by_verdict["accept"])
    accepted: list[dict[str, Any]] = []
    dropped: list[dict[str, Any]] = []
    still: list[dict[str, Any]] = []
    for row in table.iter_rows(named=True):
        decision = decisions[row["id"]]
        if decision.verdict is None:
            still.append({**row, "reason": decision.reason})
        elif decision.verdict == "reject":
            dropped.append(_dropped(row, f"rejected {decision.reason}"))
        elif decision.verdict == "accept":
            accepted.append({"edited_from": None, **row})
        else:
            new = edited(row, decision.edit, restate)
            if new["id"] in taken or new["id"] in by_verdict["reject"]:
                fate = "there already" if new["id"] in taken else "rejected"
                reason = f"edited {decision.reason} into '{new['id']}', which is {fate}"
                dropped.append(_dropped(row, reason))
            else:
                taken.add(new["id"])
                accepted.append({**new, "edited_from": row["id"]})
    return Reviewed(
        accepted=_frame(table, accepted, "edited_from"),
        dropped=_frame(table, dropped, "step", "reason"),
        open=_frame(table, still, "reason"),
        decisions=decisions,
        outdated=outdated,
    )


def review_wrong_tails(
    table: pl.DataFrame,
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
    *,
    at_least: int = 1,
) -> Reviewed:
    """Keep the wrong tails that are really wrong.

    Rejected tails, one row each, are dropped, those not decided yet are open; both have the column
    ``wrong_tail``. A triple with fewer than ``at_least`` tails left is dropped too, or open as long
    as it has open ones.

    Args:
        table: Triples with the columns ``wrong`` and ``wrong_text``.
        judgements: All of the journal.
        rule: How judges who differ decide.
        min_judges: Fewest judges of a tail.
        at_least: Fewest wrong tails of a triple.
    """
    questions = wrong_tail_questions(table)
    decisions, outdated = _decisions(questions, judgements, rule, min_judges)
    accepted: list[dict[str, Any]] = []
    dropped: list[dict[str, Any]] = []
    still: list[dict[str, Any]] = []
    for row in table.iter_rows(named=True):
        kept: list[tuple[str, str]] = []
        waiting = False
        for tail, text in _wrong_tails(row):
            decision = decisions[_wrong_item(row["id"], tail)]
            if decision.verdict is None:
                waiting = True
                still.append({**row, "wrong_tail": text, "reason": decision.reason})
            elif decision.verdict == "reject":
                reason = f"rejected {decision.reason}"
                dropped.append({**_dropped(row, reason), "wrong_tail": text})
            else:
                kept.append((tail, text) if decision.verdict == "accept" else _other(row, decision))
        # An edit may make one wrong tail of another; the first of them stays.
        kept = list({text: (tail, text) for tail, text in reversed(kept)}.values())[::-1]
        if len(kept) >= at_least:
            lists = {"wrong": [t for t, _ in kept], "wrong_text": [x for _, x in kept]}
            accepted.append({**row, **lists})
        elif not waiting:
            reason = f"{len(kept)} wrong tail(s) left, expected {at_least} or more"
            dropped.append({**_dropped(row, reason), "wrong_tail": None})
    return Reviewed(
        accepted=_frame(table, accepted),
        dropped=_frame(table, dropped, "wrong_tail", "step", "reason"),
        open=_frame(table, still, "wrong_tail", "reason"),
        decisions=decisions,
        outdated=outdated,
    )


def _decisions(
    questions: Sequence[Question],
    judgements: Iterable[Judgement],
    rule: Rule | None,
    min_judges: int,
) -> tuple[dict[str, Decision], int]:
    rule = rule or Rule()
    for verdict in filter(None, (rule.veto, rule.otherwise)):
        if verdict not in ("accept", "reject"):
            way_out = nearest(verdict, ["accept", "reject"])
            raise BuildError(f"the rule has the verdict '{verdict}', {way_out}")
    kept, outdated = of_these_texts(judgements, questions)
    for one in kept:
        if one.verdict and one.verdict not in ACCEPTABILITY.forms:
            raise BuildError(
                f"judge '{one.judge}' gives item '{one.item}' the verdict {excerpt(one.verdict)}, "
                f"expected {', '.join(ACCEPTABILITY.forms)}"
            )
        if one.verdict in ACCEPTABILITY.edited and not one.edit.strip():
            raise BuildError(
                f"judge '{one.judge}' gives item '{one.item}' the verdict '{one.verdict}' and no "
                "edit, expected the new text"
            )
    return settle(kept, rule, min_judges, [q.item for q in questions]), outdated


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    shown = {name: node_text(row, name) for name in ("head", "tail")}
    return {"relation": row["relation"], **shown, "sentence": row.get("sentence") or ""}


def _hints(row: Mapping[str, Any]) -> dict[str, str]:
    score = _finite(row.get("plausibility"))
    return (
        {"plausibility": "" if score is None else f"{score:.2f}"} if "plausibility" in row else {}
    )


def _finite(score: float | None) -> float | None:
    return score if score is not None and math.isfinite(score) else None


def _wrong_tails(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the wrong tails of a triple with their texts."""
    if "wrong" not in row or "wrong_text" not in row:
        raise BuildError("the table has no wrong tails, expected the columns wrong and wrong_text")
    tails, texts = row["wrong"] or [], row["wrong_text"] or []
    if len(tails) != len(texts):
        raise BuildError(
            f"triple '{row['id']}' has {len(tails)} wrong tails and {len(texts)} texts of them, "
            "expected as many"
        )
    return [(str(tail), str(text)) for tail, text in zip(tails, texts, strict=True)]


def _other(row: Mapping[str, Any], decision: Decision) -> tuple[str, str]:
    """Return what a wrong tail was edited into, with the id of the triple that it would make."""
    text = split_edit(decision.edit, wrong=True)[WRONG]
    return triple_id(row["relation"], row["head"], text), text


def _wrong_item(triple: str, tail: str) -> str:
    return f"{triple}/{hashlib.sha256(tail.encode()).hexdigest()[:8]}"


def _once(questions: Iterable[Question]) -> list[Question]:
    found: dict[str, Question] = {}
    for question in questions:
        if question.item in found:
            raise BuildError(f"the table has '{question.item}' twice, expected each item once")
        found[question.item] = question
    return list(found.values())


def _dropped(row: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {**row, "step": "review", "reason": reason}


def _frame(table: pl.DataFrame, rows: list[dict[str, Any]], *more: str) -> pl.DataFrame:
    import polars as pl

    types: dict[str, Any] = {**table.schema, **dict.fromkeys(more, pl.String)}
    return pl.DataFrame(rows, schema=types)
