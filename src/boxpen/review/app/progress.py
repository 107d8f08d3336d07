"""The state of one task, kept up to date with every judgement: who has said what, who is asked.

It is rebuilt from the database when a server starts. Verdicts are kept as small numbers in a table
of items and judges, so that figures over a million judgements take milliseconds.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxpen.review.app.gold import Gold
from boxpen.review.app.plan import Plan
from boxpen.review.assignment import Order, ordered
from boxpen.review.judgement import Question, lot, plain

__all__ = ["Progress", "Timing"]

NOBODY = -1
"""In the table: no verdict."""


class Timing:
    """How long a judge took for each answer."""

    def __init__(self) -> None:
        self.items = array("i")
        self.ms = array("i")

    def add(self, item: int, ms: int) -> None:
        """Add an answer; a time of 0 is unknown."""
        if ms > 0:
            self.items.append(item)
            self.ms.append(ms)

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return copies of items and milliseconds."""
        return np.array(self.items, np.int32), np.array(self.ms, np.int32)


class Decided(NamedTuple):
    """What an adjudicator decided."""

    verdict: str
    edit: str
    by: str


class Progress:
    """What is known about one task.

    Args:
        questions: What is asked; gold items that are not part of the target come last.
        plan: How many judges each item gets.
        gold: Items with known answers.
        order: The order of questions.
    """

    def __init__(
        self, questions: Sequence[Question], plan: Plan, gold: Gold, order: Order = "own"
    ) -> None:
        self.questions = [*questions, *gold.extra]
        self.plan, self.gold, self.order = plan, gold, order
        self.index = {question.item: i for i, question in enumerate(self.questions)}
        self.size = len(questions)  # of the target
        self.training = [self.index[one.item] for one in gold.training]
        self.gold_items = {self.index[item]: one for item, one in gold.by_item.items()}
        self.columns: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.codes = np.full((len(self.questions), 4), NOBODY, np.int32)
        self.asked = np.zeros((len(self.questions), 4), np.bool_)
        self.edits: dict[tuple[int, int], str] = {}
        self.done: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.skipped: dict[str, dict[int, None]] = {}
        self.timing: dict[str, Timing] = {}
        self.last: dict[str, str] = {}
        self.first_gold: dict[tuple[str, int], str] = {}
        """The first verdict of each judge on gold items."""
        self.decided: dict[int, Decided] = {}
        self.finished: set[int] = set()
        self.disputed: set[int] = set()
        self.judgements = 0
        self.outdated = 0
        self.team: tuple[str, ...] = ()
        self.ready = False
        self._ranks: dict[int, list[str]] = {}
        self._orders: dict[str, NDArray[np.int32]] = {}

    @cached_property
    def digests(self) -> list[str]:
        """The digest of every question."""
        return [question.digest for question in self.questions]

    def was_seen(self, item: int, seen: str) -> bool:
        """Whether a judgement is about the texts of an item; see ``Question.was_seen``."""
        return seen in ("", self.digests[item]) or seen in self.questions[item].earlier

    def set_team(self, team: Collection[str]) -> None:
        """Say who judges; what is open for whom is worked out anew."""
        self.team = tuple(sorted(team))
        self.ready = True
        self._ranks = {}
        for name in self.team:
            self._column(name)
        self.asked[:] = False
        self.left.clear()
        self.finished.clear()
        self.disputed.clear()
        for item in range(len(self.questions)):
            self._refresh(item)

    def add(self, rows: Iterable[Any]) -> None:
        """Take in rows of the database, in their order; ``set_team`` must follow the first."""
        for row in rows:
            item = self.index.get(row.item)
            if item is None:
                continue
            if not self.was_seen(item, row.seen):
                self.outdated += 1
                continue
            self.judgements += 1
            if row.kind == "decide":
                if row.verdict:
                    self.decided[item] = Decided(row.verdict, row.edit, row.judge)
                else:
                    self.decided.pop(item, None)
            else:
                self._judged(item, row)
            if self.ready:
                self._refresh(item)

    def _judged(self, item: int, row: Any) -> None:
        judge: str = row.judge
        column = self._column(judge)
        before = self.codes[item, column]
        code = self.labels.setdefault(row.verdict, len(self.labels)) if row.verdict else NOBODY
        self.codes[item, column] = code
        self.done[judge] += int(code >= 0) - int(before >= 0)
        if row.edit:
            self.edits[item, column] = plain(row.edit)
        else:
            self.edits.pop((item, column), None)
        skipped = self.skipped.setdefault(judge, {})
        skipped.pop(item, None)
        # An answer to a gold item that was taken back looks the same as a skip; it may wait too.
        if row.kind == "skip" or (row.kind == "extra" and not row.verdict):
            skipped[item] = None
        if row.verdict:
            self.timing.setdefault(judge, Timing()).add(item, row.ms)
            if item in self.gold_items:
                self.first_gold.setdefault((judge, item), row.verdict)
        self.last[judge] = max(self.last.get(judge, ""), row.time)

    def _column(self, judge: str) -> int:
        column = self.columns.setdefault(judge, len(self.columns))
        if column >= self.codes.shape[1]:
            more = self.codes.shape[1]
            self.codes = np.pad(self.codes, ((0, 0), (0, more)), constant_values=NOBODY)
            self.asked = np.pad(self.asked, ((0, 0), (0, more)))
        return column

    def votes(self, item: int) -> dict[str, tuple[int, str]]:
        """Return the verdict, as a number, and the edit of every judge of an item."""
        row = self.codes[item].tolist()
        return {
            judge: (row[column], self.edits.get((item, column), ""))
            for judge, column in self.columns.items()
            if row[column] >= 0
        }

    def _refresh(self, item: int) -> None:
        """Work out whether an item is finished or disputed, and who is asked about it."""
        given = self.votes(item)
        votes = Counter(given.values())
        settled = item in self.decided
        free = [judge for judge in self.team if judge not in given]
        needed = 0 if settled else self.plan.needed(votes, len(free))
        asked = free
        if item not in self.gold_items and needed < len(free):  # gold items go to everyone
            asked = [judge for judge in self._rank(item) if judge not in given][:needed]
        _set(self.finished, item, not needed)
        _set(self.disputed, item, item < self.size and len(votes) > 1)
        wanted = set(asked)
        before = self.asked[item].tolist()
        for judge in self.team:
            column = self.columns[judge]
            new = judge in wanted
            if before[column] != new:
                self.asked[item, column] = new
                self.left[judge] += 1 if new else -1

    def _rank(self, item: int) -> list[str]:
        """Return the judges in the order in which this item is offered to them."""
        found = self._ranks.get(item)
        if found is None:
            name = self.questions[item].item
            found = sorted(self.team, key=lambda judge: lot(self.plan.seed, name, judge))
            self._ranks[item] = found
        return found

    def queue(self, judge: str, limit: int, without: Collection[str] = ()) -> tuple[str, list[int]]:
        """Return the phase that a judge is in, and the next items."""
        column = self.columns.get(judge)
        if column is None:
            return "finished", []
        later = self.skipped.get(judge, {})
        training = [i for i in self.training if self.asked[i, column]]
        if training:
            training.sort(key=lambda item: item in later)
            return "training", self._without(training, without)[:limit]
        order = self._order(judge)
        waiting = order[self.asked[order, column]]
        names = {self.index[name] for name in without if name in self.index}
        found: list[int] = []
        for item in waiting.tolist():
            if item not in names and item not in later:
                found.append(item)
                if len(found) == limit:
                    break
        if len(found) < limit:
            again = [i for i in later if self.asked[i, column] and i not in names]
            found += again[: limit - len(found)]
        return ("judging" if len(waiting) else "finished"), found

    def _without(self, items: Iterable[int], names: Collection[str]) -> list[int]:
        return [item for item in items if self.questions[item].item not in names]

    def _order(self, judge: str) -> NDArray[np.int32]:
        """Return all items in the order in which a judge gets them; gold ones are mixed in."""
        found = self._orders.get(judge)
        if found is None:
            seed = self.plan.seed
            plain_ = [q for i, q in enumerate(self.questions) if i not in self.gold_items]
            names = [self.index[q.item] for q in ordered(plain_, self.order, judge, seed)]
            trained = set(self.training)
            for item in sorted(self.gold_items.keys() - trained):
                draw = lot(seed, "gold", judge, self.questions[item].item)
                names.insert(int.from_bytes(draw[:8]) % (len(names) + 1), item)
            found = self._orders[judge] = np.array([*self.training, *names], np.int32)
        return found

    def trained(self, judge: str) -> int:
        """Return how many training items a judge has done."""
        column = self.columns.get(judge)
        if column is None:
            return 0
        return int(sum(self.codes[i, column] >= 0 for i in self.training))

    def seconds(self, judge: str) -> float | None:
        """Return the median time per item of a judge; None if too little is known."""
        timing = self.timing.get(judge)
        if timing is None or len(timing.ms) < 3:
            return None
        return median(timing.ms[-50:]) / 1000

    def shown(self, item: int, judge: str) -> Question:
        """Return a question as a judge sees it: its options in an order of their own."""
        return self.questions[item].shuffled(judge, self.plan.seed)

    def verdict_names(self) -> Mapping[int, str]:
        """Return verdicts by number."""
        return {code: verdict for verdict, code in self.labels.items()}


def _set(found: set[int], item: int, member: bool) -> None:
    if member:
        found.add(item)
    else:
        found.discard(item)
