"""Review of a knowledge graph: triples, wrong answers, and wordings.

Judges accept, reject or edit. Filtering by hand is the one step that the paper found no substitute
for: does this sentence make sense, and are wrong answers really wrong?
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from boxpen.build.builders import find_config
from boxpen.build.kg.review_edits import (
    EDITABLE,
    WRONG,
    Restate,
    canonical_edit,
    edited,
    node_text,
    split_edit,
    worded,
)
from boxpen.build.kg.triples import read_table, triple_id, write_table
from boxpen.build.libraries import need_libraries
from boxpen.errors import BuildError
from boxpen.files import check_free
from boxpen.review import (
    Applied,
    Decision,
    Destination,
    Journal,
    Judgement,
    Question,
    Review,
    ReviewTask,
    Target,
    VerdictSet,
)
from boxpen.review.guides import TRIPLES, WORDINGS, WRONG_ANSWERS

__all__ = ["Divided", "TripleTask", "WordingTask", "WrongAnswerTask"]


class Divided(NamedTuple):
    """A table divided by the verdicts of judges."""

    accepted: pl.DataFrame
    """Triples have the column ``edited_from``: the id before the edit, null if there was none."""
    dropped: pl.DataFrame
    """With the columns ``step`` and ``reason``."""
    open: pl.DataFrame
    """Not decided yet, with the column ``reason``."""


class TripleTask(ReviewTask):
    """Do triples make sense?

    Args:
        table: Triples; shown as ``head_text`` and ``tail_text`` where these exist.
        journal: Where judgements are kept.
        restate: Makes the sentence of an edited triple.
        path: The file of the table.
    """

    name = "triples"
    target = "a table, folder or configuration of the builder 'kg'"
    order = "score"
    guide = TRIPLES
    verdicts = VerdictSet(
        {"accept": ("a", "y", "yes"), "edit": ("e",), "reject": ("r", "n", "no")},
        edited=frozenset({"edit"}),
    )
    editable: ClassVar[tuple[str, ...]] = EDITABLE
    file: ClassVar[str] = "sampled.parquet"
    journal_file: ClassVar[str] = "review.jsonl"
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        table: pl.DataFrame,
        journal: Journal | None = None,
        *,
        restate: Restate = worded,
        path: Path | None = None,
    ) -> None:
        self.table = table
        self.journal = journal or Journal(self.journal_file)
        self.restate = restate
        self.path = path

    @classmethod
    def find(cls, target: Target) -> TripleTask | None:
        """Return the task for a table of triples, or the build that has one."""
        path = target.path
        if path is None:
            return None
        settings = find_config(path, "kg")
        if settings is not None:
            path = settings.folder / cls.file
        elif (path / "filtered.parquet").is_file():
            path = path / cls.file
        elif path.suffix != ".parquet" or not _has_triples(path):
            return None
        need_libraries()  # which edited triples are worded with
        review = settings.review if settings else None
        own = review and (review.wrong_journal if cls is WrongAnswerTask else review.journal)
        kept = own if cls is not WordingTask else None
        journal = target.open_journal(kept or path.with_name(cls.journal_file), cls.name)
        task = cls(read_table(path, *cls.needs), journal, path=path)
        if review is not None:
            task.rule = review.decide_by()
            task.min_judges = review.min_judges
        return task

    def files(self) -> dict[Path, str]:
        """Return the table."""
        return {self.path: "the table that is reviewed"} if self.path else {}

    def questions(self) -> list[Question]:
        """Return one question per triple.

        Raises:
            BuildError: If a triple appears twice.
        """
        return _once(
            Question(
                item=row["id"],
                shown=_shown(row),
                part=row["relation"],
                score=_finite(row.get("plausibility")),
                hints=_hints(row),
            )
            for row in self.table.iter_rows(named=True)
        )

    def check(self, judgement: Judgement, question: Question) -> Judgement:
        """Check the edit, and return it in one spelling."""
        return canonical_edit(judgement, question.shown, self.editable)

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write what is accepted, and beside it what is dropped and what is open."""
        out = to.path
        found = self.divide(review)
        suffix = out.suffix or ".parquet"
        others = {
            out.with_name(f"{out.stem}-dropped{suffix}"): found.dropped,
            out.with_name(f"{out.stem}-open{suffix}"): found.open,
        }
        for path in others:
            check_free(path, BuildError, overwrite=to.overwrite)
        for path, table in {**others, out: found.accepted}.items():
            write_table(table, path)
        counts = {name: getattr(found, name).height for name in found._fields}
        return Applied(
            out,
            f"{counts['accepted']} triple(s) written to {out}; {counts['dropped']} dropped, "
            f"{counts['open']} open",
            counts,
        )

    def divide(self, review: Review) -> Divided:
        """Divide triples into accepted, dropped and open ones, and apply edits.

        An edited triple has the id of its new texts. It is dropped if that triple is in the table
        already, unless that one is still open.
        """
        fates = {"accept": "already there", "reject": "rejected"}
        known = {i: fates[d.verdict] for i, d in review.decisions.items() if d.verdict in fates}
        accepted: list[dict[str, Any]] = []
        dropped: list[dict[str, Any]] = []
        still: list[dict[str, Any]] = []
        for row in self.table.iter_rows(named=True):
            decision = review.decisions[row["id"]]
            if decision.verdict is None:
                still.append({**row, "reason": decision.reason})
            elif decision.verdict == "reject":
                dropped.append(_dropped(row, f"rejected {decision.reason}"))
            elif decision.verdict == "accept":
                accepted.append({"edited_from": None, **row})
            elif (fate := known.get((new := self._edited(row, decision))["id"])) is not None:
                reason = f"edited {decision.reason} into '{new['id']}', which is {fate}"
                dropped.append(_dropped(row, reason))
            else:
                known[new["id"]] = fates["accept"]
                accepted.append({**new, "edited_from": row["id"]})
        return Divided(
            accepted=_frame(self.table, accepted, "edited_from"),
            dropped=_frame(self.table, dropped, "step", "reason"),
            open=_frame(self.table, still, "reason"),
        )

    def _edited(self, row: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
        return edited(row, decision.edit, self.restate)


class WordingTask(TripleTask):
    """Do sentences say what their triples say, in good English? An edit is a better sentence."""

    name = "wordings"
    guide = WORDINGS
    only_by_name = True
    editable = ("sentence",)
    journal_file = "review-wordings.jsonl"
    needs = ("sentence",)

    def questions(self) -> list[Question]:
        """Return one question per sentence."""
        asked = "Does the sentence say this, in good English?"
        return _once(
            Question(row["id"], {"question": asked, **_shown(row)}, part=row["relation"])
            for row in self.table.iter_rows(named=True)
        )

    def _edited(self, row: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
        return {**row, "sentence": decision.edit}


class WrongAnswerTask(TripleTask):
    """Are the wrong answers to questions really wrong? An edit is another wrong answer."""

    name = "wrong-answers"
    guide = WRONG_ANSWERS
    only_by_name = True
    editable = (WRONG,)
    file = "negatives.parquet"
    journal_file = "review-wrong.jsonl"
    needs = ("wrong", "wrong_text")
    at_least = 1
    """Fewest wrong answers of a triple."""

    def questions(self) -> list[Question]:
        """Return one question per wrong tail.

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
            for row in self.table.iter_rows(named=True)
            for tail, text in _wrong_tails(row)
        )

    def divide(self, review: Review) -> Divided:
        """Keep the wrong tails that are really wrong.

        Rejected tails are dropped, one row each; undecided ones are open; both have the column
        ``wrong_tail``. A triple with fewer than ``at_least`` tails left is dropped too, or open
        while it has open ones.
        """
        accepted: list[dict[str, Any]] = []
        dropped: list[dict[str, Any]] = []
        still: list[dict[str, Any]] = []
        for row in self.table.iter_rows(named=True):
            kept: list[tuple[str, str]] = []
            waiting = False
            for tail, text in _wrong_tails(row):
                decision = review.decisions[_wrong_item(row["id"], tail)]
                if decision.verdict is None:
                    waiting = True
                    still.append({**row, "wrong_tail": text, "reason": decision.reason})
                elif decision.verdict == "reject":
                    reason = f"rejected {decision.reason}"
                    dropped.append({**_dropped(row, reason), "wrong_tail": text})
                else:
                    same = decision.verdict == "accept"
                    kept.append((tail, text) if same else _other(row, decision))
            # An edit may turn one wrong tail into another; the first of them is kept.
            kept = list({text: (tail, text) for tail, text in reversed(kept)}.values())[::-1]
            if len(kept) >= self.at_least:
                lists = {"wrong": [t for t, _ in kept], "wrong_text": [x for _, x in kept]}
                accepted.append({**row, **lists})
            elif not waiting:
                reason = f"{len(kept)} wrong tail(s) left, expected {self.at_least} or more"
                dropped.append({**_dropped(row, reason), "wrong_tail": None})
        return Divided(
            accepted=_frame(self.table, accepted),
            dropped=_frame(self.table, dropped, "wrong_tail", "step", "reason"),
            open=_frame(self.table, still, "wrong_tail", "reason"),
        )


def _has_triples(path: Path) -> bool:
    """Whether a Parquet file has triples, and not a suite; one that cannot be read counts."""
    try:
        return {"head", "relation", "tail"} <= pl.read_parquet_schema(path).keys()
    except (pl.exceptions.PolarsError, OSError):
        return True


def _shown(row: Mapping[str, Any]) -> dict[str, str]:
    shown = {name: node_text(row, name) for name in ("head", "tail")}
    return {"relation": row["relation"], **shown, "sentence": row.get("sentence") or ""}


def _hints(row: Mapping[str, Any]) -> dict[str, str]:
    if "plausibility" not in row:
        return {}
    score = _finite(row["plausibility"])
    return {"plausibility": "" if score is None else f"{score:.2f}"}


def _finite(score: float | None) -> float | None:
    return score if score is not None and math.isfinite(score) else None


def _wrong_tails(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the wrong tails of a triple with their texts."""
    if "wrong" not in row or "wrong_text" not in row:
        raise BuildError("the table has no wrong tails, expected the columns wrong and wrong_text")
    tails, texts = row["wrong"] or [], row["wrong_text"] or []
    if len(tails) != len(texts):
        raise BuildError(
            f"triple '{row['id']}' has {len(tails)} wrong tails and {len(texts)} texts, expected "
            "as many of both"
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
    types: dict[str, Any] = {**table.schema, **dict.fromkeys(more, pl.String)}
    return pl.DataFrame(rows, schema=types)
