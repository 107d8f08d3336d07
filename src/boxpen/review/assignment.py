"""Who judges what, and in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from boxpen.errors import BuildError, nearest
from boxpen.review.judgement import Judgement, Question

__all__ = ["Order", "assigned", "of_these_texts", "open_questions", "ordered", "sampled"]

Order = Literal["score", "given", "random", "own"]
"""Likely-good first; as they come; shuffled, the same for all judges; shuffled for each judge."""


def sampled(questions: Sequence[Question], size: int | None, seed: int = 0) -> list[Question]:
    """Take so many questions at random, in their order; which ones depends on ids and seed alone.

    Raises:
        BuildError: If the size is less than one.
    """
    if size is None:
        return list(questions)
    if size < 1:
        raise BuildError(f"the sample is {size}, expected 1 or more")
    taken = {q.item for q in sorted(questions, key=lambda q: _lot(seed, "sample", q.item))[:size]}
    return [question for question in questions if question.item in taken]


def assigned(
    questions: Sequence[Question], judge: str, judges: Sequence[str], each: int, seed: int = 0
) -> list[Question]:
    """Return the questions of one judge where every item is judged by ``each`` of all judges.

    Lots are drawn for each item by itself, so that it keeps its judges when others come or go;
    judges therefore get about, not exactly, as many items.

    Raises:
        BuildError: If the judge is not one of them, or there are fewer than ``each``.
    """
    team = sorted(set(judges))
    if judge not in team:
        raise BuildError(f"judge '{judge}' is not among the judges, {nearest(judge, team)}")
    if not 1 <= each <= len(team):
        raise BuildError(f"each item is to have {each} judges, expected from 1 to {len(team)}")
    return [
        question
        for question in questions
        if judge in sorted(team, key=lambda name: _lot(seed, question.item, name))[:each]
    ]


def ordered(
    questions: Sequence[Question], order: Order, judge: str = "", seed: int = 0
) -> list[Question]:
    """Put questions in the order in which they are asked.

    Likely-good first means: the best of every part, then the second best of every part and so on.
    A judge who stops early has then judged good items of all parts.
    """
    if order == "given":
        return list(questions)
    if order == "score":
        return _best_first(questions)
    salt = judge if order == "own" else ""
    return sorted(questions, key=lambda q: _lot(seed, "order", salt, q.item))


def open_questions(
    questions: Iterable[Question], said: Mapping[str, Mapping[str, Judgement]], judge: str
) -> list[Question]:
    """Return what a judge has not judged yet; a verdict on other texts than these is none.

    Args:
        questions: What is asked.
        said: What ``latest`` returns.
        judge: Who.
    """

    def answered(question: Question) -> bool:
        one = said.get(question.item, {}).get(judge)
        return one is not None and bool(one.verdict) and question.was_seen(one)

    return [question for question in questions if not answered(question)]


def of_these_texts(
    judgements: Iterable[Judgement], questions: Iterable[Question]
) -> tuple[list[Judgement], int]:
    """Return the judgements of these questions, and how many were of other texts of theirs."""
    by_item = {question.item: question for question in questions}
    known = [one for one in judgements if one.item in by_item]
    kept = [one for one in known if by_item[one.item].was_seen(one)]
    return kept, len(known) - len(kept)


def _best_first(questions: Sequence[Question]) -> list[Question]:
    def merit(question: Question) -> tuple[float, str]:
        worst = float("inf")
        return (worst if question.score is None else -question.score, question.item)

    places: dict[str, int] = {}
    ranked = []
    for question in sorted(questions, key=merit):
        place = places[question.part] = places.get(question.part, 0) + 1
        ranked.append((place, *merit(question), question))
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]


def _lot(seed: int, *names: str) -> bytes:
    """Return a number that names and seed decide, in whatever order lots are drawn."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()
