"""Review of discourse candidates: judges accept, reject or correct what rules have found.

Subtitles are translated by amateurs, with errors; the paper had professional translators check and
correct its instances. Here an edit is a better translation of the current sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from boxpen.build.builders import find_config
from boxpen.build.discourse.phenomena.pairs import with_class
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.tables import Row
from boxpen.errors import BuildError
from boxpen.review import (
    Applied,
    Destination,
    Journal,
    Judgement,
    Question,
    Review,
    ReviewTask,
    Target,
    VerdictSet,
)
from boxpen.review.guides import CANDIDATES

__all__ = ["CandidateTask"]

_DRAWN = "sampled.parquet"


class CandidateTask(ReviewTask):
    """Is the class right, does the context determine it, and is the sentence translated well?

    Args:
        rows: Candidates, in the order in which they were drawn.
        journal: Where judgements are kept.
        wanted: Maximum number of accepted candidates per class; no limit if None.
        path: The file of the candidates.
        phenomena: The rules that found them; without, those that come with boxpen.
    """

    name = "candidates"
    target = "a folder or configuration of the builder 'discourse'"
    guide = CANDIDATES
    verdicts = VerdictSet(
        {"accept": ("a", "y", "yes"), "edit": ("e",), "reject": ("r", "n", "no")},
        edited=frozenset({"edit"}),
    )

    def __init__(
        self,
        rows: Sequence[Row],
        journal: Journal | None = None,
        *,
        wanted: Mapping[str, int] | None = None,
        path: Path | None = None,
        phenomena: Sequence[Phenomenon] = (),
    ) -> None:
        self.rows = rows
        self.journal = journal or Journal("review.jsonl")
        self.wanted = wanted
        self.path = path
        self._phenomena = {one.name: one for one in phenomena}
        self._by_id = {row["id"]: row for row in rows}

    @classmethod
    def find(cls, target: Target) -> CandidateTask | None:
        """Return the task for a build of a discourse suite."""
        from boxpen.build.discourse.mine import read_rows

        path = target.path
        if path is None:
            return None
        if path.suffix != ".toml" and (path / "candidates.parquet").is_file():
            drawn = path / _DRAWN
            journal = target.open_journal(path / "review.jsonl", cls.name)
            return cls(read_rows(drawn), journal, path=drawn)
        settings = find_config(path, "discourse")
        if settings is None:
            return None
        drawn = settings.folder / _DRAWN
        journal = target.open_journal(settings.journal, cls.name)
        task = cls(
            read_rows(drawn),
            journal,
            wanted=settings.wanted,
            path=drawn,
            phenomena=settings.rules,
        )
        if settings.review is not None:
            task.rule = settings.review.decide_by()
            task.min_judges = settings.review.min_judges
        return task

    def files(self) -> dict[Path, str]:
        """Return the table of candidates."""
        return {self.path: "the candidates that are reviewed"} if self.path else {}

    def questions(self) -> list[Question]:
        """Return one question per candidate; score and reason of the rules are hints."""
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
            for row in self.rows
        ]

    def check(self, judgement: Judgement, question: Question) -> Judgement:
        """Check an edit: a new translation that shows its class, where a rule can say so."""
        if judgement.verdict not in self.verdicts.edited:
            return judgement
        row = self._by_id[question.item]
        edit = " ".join(judgement.edit.split())
        if edit == row["target"]:
            raise BuildError(f"the edit '{edit}' is the old translation, expected a new one")
        shows = self._rule(row).shows
        if shows is not None and not shows(row["class"], edit):
            raise BuildError(f"the edit is '{edit}', expected one with {row['class']}")
        return replace(judgement, edit=edit)

    def accepted(self, review: Review) -> list[Row]:
        """Return the accepted candidates with their edits, no more of a class than wanted."""
        left = None if self.wanted is None else dict(self.wanted)
        accepted: list[Row] = []
        for row in self.rows:
            decision = review.decisions[row["id"]]
            if decision.verdict in ("accept", "edit") and (left is None or left.get(row["class"])):
                edit = decision.verdict == "edit"
                accepted.append(self._edited(row, decision.edit) if edit else row)
                if left is not None:
                    left[row["class"]] -= 1
        return accepted

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write the table of accepted candidates."""
        from boxpen.build.discourse.mine import write_rows

        out = to.ending(".parquet")
        rows = self.accepted(review)
        counts = review.counts
        write_rows(rows, out)
        return Applied(
            out,
            f"{len(rows)} candidate(s) written to {out}; {counts['reject']} rejected, "
            f"{counts['open']} open",
            {"written": len(rows), **counts},
        )

    def _rule(self, row: Row) -> Phenomenon:
        rule = self._phenomena.get(row["set"]) or with_class(row["set"], row["class"])
        if rule is None:
            raise BuildError(
                f"'{row['set']}' is a phenomenon of a configuration, expected its .toml file "
                "instead of the folder"
            )
        return rule

    def _edited(self, row: Row, target: str) -> dict[str, Any]:
        made = self._rule(row).contrasts(row["class"], row["word"], row["source"], target, "")
        return {**row, "target": target, "contrast": list(made)}
