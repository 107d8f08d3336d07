"""Which judge gets which questions, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from boxpen.errors import BuildError, nearest
from boxpen.names import check_judge
from boxpen.review.agreement import disagreements
from boxpen.review.judgement import Judgement, Question, latest, lot

__all__ = [
    "Order",
    "Selection",
    "assigned",
    "of_these_texts",
    "open_questions",
    "ordered",
    "sampled",
    "selected",
]

Order = Literal["score", "given", "random", "own"]
"""Most likely good first; as given; shuffled, the same for all judges; shuffled per judge."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which questions a judge gets.

    Attributes:
        sample: How many units to sample, the same for all judges; all if None.
        judges: All judges, if each item is judged by some of them only.
        overlap: How many of them judge each item.
        disputed: Only items on which other judges disagree.
        everything: Also items that the judge has judged already.
        order: The order of questions; ``own`` if None.
        seed: Seed of the sample, the assignment and the order.
    """

    sample: int | None = None
    judges: tuple[str, ...] = ()
    overlap: int | None = None
    disputed: bool = False
    everything: bool = False
    order: Order | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.overlap is None) != (not self.judges):
            raise BuildError("--judges and --overlap need each other, expected both or neither")
        for name in self.judges:
            check_judge(name, "--judges")


def selected(
    questions: Sequence[Question], given: Sequence[Judgement], judge: str, wanted: Selection
) -> list[Question]:
    """Return the questions for one judge, in order, with their options shuffled.

    Args:
        questions: All questions of a task.
        given: The judgements so far, of these texts.
        judge: The judge.
        wanted: Which questions.
    """
    chosen = sampled(questions, wanted.sample, wanted.seed)
    if wanted.overlap is not None:
        chosen = assigned(chosen, judge, wanted.judges, wanted.overlap, wanted.seed)
    if wanted.disputed:
        disputed = {found.item for found in disagreements(g for g in given if g.judge != judge)}
        chosen = [question for question in chosen if question.item in disputed]
    if not wanted.everything:
        chosen = open_questions(chosen, latest(given), judge)
    chosen = ordered(chosen, wanted.order or "own", judge, wanted.seed)
    return [question.shuffled(judge, wanted.seed) for question in chosen]


def sampled(questions: Sequence[Question], size: int | None, seed: int = 0) -> list[Question]:
    """Sample units of questions at random, in their order; only ids and the seed matter."""
    if size is None:
        return list(questions)
    if size < 1:
        raise BuildError(f"the sample is {size}, expected 1 or more")
    units = {question.unit or question.item for question in questions}
    taken = set(sorted(units, key=lambda unit: lot(seed, "sample", unit))[:size])
    return [question for question in questions if (question.unit or question.item) in taken]


def assigned(
    questions: Sequence[Question], judge: str, judges: Sequence[str], overlap: int, seed: int = 0
) -> list[Question]:
    """Return the questions of one judge if ``overlap`` of all judges judge every item.

    Judges are drawn for each item separately, so that it keeps its judges when items are added or
    removed; shares are therefore about equal, not exactly.
    """
    team = sorted(set(judges))
    if judge not in team:
        raise BuildError(f"judge '{judge}' is not among the judges, {nearest(judge, team)}")
    if not 1 <= overlap <= len(team):
        raise BuildError(f"the overlap is {overlap} judges, expected from 1 to {len(team)}")
    return [
        question
        for question in questions
        if judge in sorted(team, key=lambda name: lot(seed, question.item, name))[:overlap]
    ]


def ordered(
    questions: Sequence[Question], order: Order, judge: str = "", seed: int = 0
) -> list[Question]:
    """Put questions in the order in which they are asked.

    The order ``score`` starts with the best of every part, then the second best of every part, and
    so on, so that a judge who stops early has judged good items of all parts. Shuffled questions
    that give away the answers to others come last.
    """
    if order == "given":
        return list(questions)
    if order != "score":
        salt = judge if order == "own" else ""
        return sorted(questions, key=lambda q: (q.late, lot(seed, "order", salt, q.item)))
    best = sorted(questions, key=lambda q: (math.inf if q.score is None else -q.score, q.item))
    ranks: dict[str, int] = {}
    ranked = []
    for question in best:
        ranks[question.part] = ranks.get(question.part, 0) + 1
        ranked.append((ranks[question.part], question))
    return [question for _, question in sorted(ranked, key=lambda pair: pair[0])]


def open_questions(
    questions: Iterable[Question], said: Mapping[str, Mapping[str, Judgement]], judge: str
) -> list[Question]:
    """Return what a judge has not judged yet, by what ``latest`` returns.

    Verdicts on earlier texts do not count.
    """

    def answered(question: Question) -> bool:
        one = said.get(question.item, {}).get(judge)
        return one is not None and bool(one.verdict) and question.was_seen(one)

    return [question for question in questions if not answered(question)]


def of_these_texts(
    judgements: Iterable[Judgement], questions: Iterable[Question]
) -> tuple[list[Judgement], int]:
    """Return the judgements of these questions, and how many are about earlier texts."""
    by_item = {question.item: question for question in questions}
    known = [one for one in judgements if one.item in by_item]
    kept = [one for one in known if by_item[one.item].was_seen(one)]
    return kept, len(known) - len(kept)
