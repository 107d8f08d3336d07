"""Tasks and questions as pages get them.

Options are numbered as they are shown. Nothing tells which of them is the first in the suite, where
the right answer often is: an answer is a number as shown, and ``order`` leads back to the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from boxpen.errors import BuildError
from boxpen.printable import excerpt
from boxpen.review.app.campaign import CampaignTask
from boxpen.review.judgement import Judgement, Question
from boxpen.review.task import ReviewTask

__all__ = ["answer_of", "answer_text", "question_json", "task_json", "verdict_of"]


def task_json(one: CampaignTask, judge: str) -> dict[str, Any]:
    """Return a task, and how far a judge is."""
    task, progress = one.task, one.progress
    guide = task.guide
    options = any(question.options for question in progress.questions[:1])
    verdicts = []
    for value in task.verdicts.forms:
        label = guide.label(value)
        verdicts.append(
            {
                "value": value,
                "label": label.label,
                "help": label.help,
                "edit": value in task.verdicts.edited,
                "joined": value in task.verdicts.joined,
                "field": label.field,
            }
        )
    return {
        "key": one.key,
        "name": task.name,
        "title": guide.title or task.name,
        "noun": task.noun,
        "instructions": list(guide.instructions),
        "examples": [
            {
                "shown": _named(e.shown),
                "options": _numbered(e.options),
                "answer": e.answer,
                "why": e.why,
            }
            for e in guide.examples
        ],
        "kind": "options" if options else "verdicts",
        "free": not options and not task.verdicts.forms,
        "verdicts": [] if options else verdicts,
        "training": {"total": len(progress.training), "done": progress.trained(judge)},
        **progress_json(one, judge),
    }


def progress_json(one: CampaignTask, judge: str) -> dict[str, Any]:
    """Return how far a judge is."""
    done, left = one.progress.done[judge], one.progress.left[judge]
    each = one.progress.seconds(judge)
    return {
        "done": done,
        "total": done + left,
        "seconds_left": None if each is None else round(each * left),
    }


def question_json(
    task: ReviewTask,
    question: Question,
    *,
    mine: Judgement | None = None,
    training: bool = False,
    blind: bool = False,
) -> dict[str, Any]:
    """Return a question, whose options are in the order in which they are shown."""
    said = mine is not None and (mine.verdict or mine.comment or mine.edit)
    return {
        "item": question.item,
        "seen": question.digest,
        "order": question.order,
        "part": question.part,
        "shown": _named(question.shown),
        "hints": [] if blind else _named({k: v for k, v in question.hints.items() if v}),
        "options": _numbered([option.text for option in task.offered(question)]),
        "training": training,
        "mine": {
            "answer": answer_of(task, question, mine.verdict),
            "edit": mine.edit,
            "comment": mine.comment,
            "time": mine.time,
        }
        if mine is not None and said
        else None,
    }


def answer_of(task: ReviewTask, question: Question, verdict: str) -> str:
    """Return a verdict as an answer: the number of its option, as shown."""
    for number, option in enumerate(task.offered(question), 1):
        if option.verdict == verdict:
            return str(number)
    return "" if question.options else verdict


def answer_text(task: ReviewTask, question: Question, verdict: str) -> str:
    """Return a verdict in words."""
    for option in question.options:
        if option.verdict == verdict:
            return option.text
    labels = verdict.split("+") if task.verdicts.joined else [verdict]
    return ", ".join(task.guide.label(label).label for label in labels)


def verdict_of(task: ReviewTask, question: Question, answer: str, edit: str) -> str:
    """Return the verdict that an answer means; empty if it withdraws one.

    Raises:
        BuildError: If it is none, or lacks an edit.
    """
    if not answer:
        return ""
    if question.options:
        chosen = {str(n): option.verdict for n, option in enumerate(task.offered(question), 1)}
        verdict = chosen.get(answer)
        wanted = f"a number from 1 to {len(chosen)}"
    else:
        verdict, wanted = task.verdicts.read(answer), str(task.verdicts)
    if verdict is None:
        raise BuildError(f"the answer is {excerpt(answer)}, expected {wanted}")
    if verdict in task.verdicts.edited and not edit:
        raise BuildError(f"the answer '{verdict}' needs the new text")
    if edit and verdict not in task.verdicts.edited:
        raise BuildError(f"the answer '{verdict}' has an edit, expected none")
    return verdict


def _named(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "text": text} for name, text in texts.items()]


def _numbered(texts: Sequence[str]) -> list[dict[str, str]]:
    return [{"number": str(number), "text": text} for number, text in enumerate(texts, 1)]
