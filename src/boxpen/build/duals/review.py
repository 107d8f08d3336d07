"""Review of duals: judges accept a dual, reject it, or say that the other sentence is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from boxpen.build.builders import find_config
from boxpen.build.duals.rows import Row, read_rows
from boxpen.errors import BuildError
from boxpen.names import check_suite_name
from boxpen.review import (
    Applied,
    Destination,
    Detail,
    Journal,
    Question,
    Review,
    ReviewTask,
    Target,
    VerdictSet,
)
from boxpen.review.guides import DUALS

__all__ = ["DualTask"]

_PROPOSALS = "proposals.parquet"


class DualTask(ReviewTask):
    """Are both sentences good English, and is the first the sensible one?

    The verdict ``relabel`` accepts the sentences, but says that the other one is sensible.

    Args:
        rows: Duals.
        journal: Where judgements are kept.
        folder: The folder of the build.
    """

    name = "duals"
    target = "a folder or configuration of the builder 'duals'"
    noun = "dual"
    guide = DUALS
    verdicts = VerdictSet(
        {"accept": ("a", "y", "yes"), "relabel": ("l", "other"), "reject": ("r", "n", "no")}
    )

    def __init__(
        self, rows: Sequence[Row], journal: Journal | None = None, folder: Path = Path()
    ) -> None:
        self.rows = rows
        self.journal = journal or Journal(folder / "review.jsonl")
        self.folder = folder

    @classmethod
    def find(cls, target: Target) -> DualTask | None:
        """Return the task for a build of duals."""
        folder = target.path
        if folder is None:
            return None
        settings = find_config(folder, "duals")
        if settings is not None:
            folder = settings.folder
        elif not (folder / _PROPOSALS).is_file():
            return None
        journal = target.open_journal(folder / "review.jsonl", cls.name)
        return cls(read_rows(folder / _PROPOSALS), journal, folder)

    def files(self) -> dict[Path, str]:
        """Return the files of the build."""
        from boxpen.build.duals.stages import FILES

        held = {self.folder / name: holds for name, holds in FILES.items()}
        return {**held, self.folder / "review.jsonl": "the judgements"}

    def questions(self) -> list[Question]:
        """Return one question per dual; the sentence that should be sensible comes first.

        The reason of the rule and the fluency are hints.
        """
        asked = []
        for row in self.rows:
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

    def details(self, review: Review) -> list[Detail]:
        """Return the decisions by operation."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            verdict = review.decisions[row["id"]].verdict or "open"
            found.setdefault(row["operation"], Counter())[verdict] += 1
        found["all"] = sum(found.values(), Counter())
        names = (*self.verdicts.forms, "open")
        rows = [(key, *(of[name] for name in names)) for key, of in found.items()]
        return [Detail("operations", ("operation", *names), rows)]

    def accepted(self, review: Review) -> list[Row]:
        """Return the accepted duals, with the labels that judges gave them."""
        found = []
        for row in self.rows:
            verdict = review.decisions[row["id"]].verdict
            if verdict in ("accept", "relabel"):
                found.append(_relabelled(row) if verdict == "relabel" else row)
        return found

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write the accepted duals as a suite, each in a block with its original."""
        from boxpen.build.duals.stages import SOURCE
        from boxpen.build.duals.suite import dual_suite
        from boxpen.catalog import read_suite, write_suite

        out = to.ending(".jsonl")
        check_suite_name(to.name, "--name")
        source = read_suite(self.folder / SOURCE)
        chosen = self.accepted(review)
        counts = review.counts
        if not chosen:
            raise BuildError(
                f"none of {len(self.rows):,} duals is accepted: {counts['reject']:,} rejected, "
                f"{counts['open']:,} open; see boxpen review status"
            )
        judges = [review.decisions[row["id"]].judges for row in chosen]
        suite = dual_suite(
            source, chosen, to.name or f"{source.name}-duals", judges=judges if any(judges) else ()
        )
        write_suite(suite, out)
        return Applied(
            out,
            f"{len(chosen):,} blocks of a pair and its dual written to {out}",
            {"items": len(suite), "blocks": len(chosen), "hash": suite.hash, "decisions": counts},
        )


def _relabelled(row: Row) -> Row:
    other = {"flipped": "kept", "kept": "flipped"}[row["expected"]]
    return {**row, "gold": 1 - row["gold"], "expected": other}
