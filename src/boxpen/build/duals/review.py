"""Review of duals: judges say which of the two new sentences makes sense.

They see neither the label of the original nor the one that is expected of the dual; both pairs come
in an order that has nothing to do with them. The sentence that is chosen becomes a verdict:
``accept`` if it is the expected one, ``relabel`` if it is the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
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
    Judgement,
    Option,
    Question,
    Review,
    ReviewTask,
    Rule,
    Target,
    VerdictSet,
)
from boxpen.review.guides import DUALS
from boxpen.review.judgement import lot

__all__ = ["DualTask", "decided"]

_PROPOSALS = "proposals.parquet"
_FAULTS = {"both": ("b",), "neither": ("n",), "english": ("e",), "reject": ("r",)}
_DECIDED = VerdictSet({"accept": (), "relabel": (), "reject": ()})


def decided(judgement: Judgement) -> Judgement:
    """Return a judgement as it counts: whatever the fault of a dual is, it is rejected."""
    return replace(judgement, verdict="reject") if judgement.verdict in _FAULTS else judgement


class DualTask(ReviewTask):
    """Which of the two new sentences makes sense, and is their English right?

    A judge chooses a sentence, or names a fault: ``both`` make sense, ``neither`` does, the
    ``english`` is wrong, or ``reject`` for anything else. Journals of earlier versions, in which
    judges saw the expected sentence first, still count.

    Args:
        rows: Duals.
        journal: Where judgements are kept.
        folder: The folder of the build.
    """

    name = "duals"
    target = "a folder or configuration of the builder 'duals'"
    noun = "dual"
    guide = DUALS
    verdicts = VerdictSet({"accept": (), "relabel": (), **_FAULTS}, beside=frozenset(_FAULTS))

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
        """Return one question per dual, in which nothing that is shown depends on a label.

        The original sentences come in an order drawn for the item, the new ones as options, which
        are shuffled for each judge. The kind of edit and the fluency are hints; what the rule
        expects, and why, is not shown: with the original it gives the answer away.
        """
        return [_question(row) for row in self.rows]

    def decide(
        self,
        judgements: Iterable[Judgement],
        rule: Rule | None = None,
        min_judges: int | None = None,
    ) -> Review:
        """Decide every dual; judges who name different faults agree that it is rejected."""
        found = super().decide(map(decided, judgements), rule, min_judges)
        return replace(found, verdicts=_DECIDED)

    def details(self, review: Review) -> list[Detail]:
        """Return the decisions by operation."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            verdict = review.decisions[row["id"]].verdict or "open"
            found.setdefault(row["operation"], Counter())[verdict] += 1
        found["all"] = sum(found.values(), Counter())
        names = (*_DECIDED.forms, "open")
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


def _question(row: Row) -> Question:
    old = (row["original_first"], row["original_second"])
    new = (row["first"], row["second"])
    gold = row["gold"]
    before = Question(
        row["id"],
        {
            "operation": row["operation"],
            "original_sensible": old[row["original_gold"]],
            "original_senseless": old[1 - row["original_gold"]],
            "dual_sensible": new[gold],
            "dual_senseless": new[1 - gold],
        },
    )
    one, two = sorted(old, key=lambda text: lot(0, "original", row["id"], text))
    return Question(
        item=row["id"],
        shown={"original_a": one, "original_b": two},
        part=row["operation"],
        score=row["fluency"],
        hints={
            "kind": row["kind"],
            "fluency": "" if row["fluency"] is None else f"{row['fluency']:.2f}",
        },
        options=tuple(sorted((Option(new[gold], "accept"), Option(new[1 - gold], "relabel")))),
        earlier=frozenset({before.digest}),
        # 'accept' means another sentence when a build expects another.
        expected=new[gold],
    )


def _relabelled(row: Row) -> Row:
    other = {"flipped": "kept", "kept": "flipped"}[row["expected"]]
    return {**row, "gold": 1 - row["gold"], "expected": other}
