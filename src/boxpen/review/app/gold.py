"""Gold items: items with known answers, for the training round and to see who is attentive."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from boxpen.errors import BuildError, SuiteError
from boxpen.items import item_from_dict
from boxpen.printable import excerpt
from boxpen.review.answers import AnswerTask
from boxpen.review.judgement import Question
from boxpen.review.task import ReviewTask
from boxpen.text.lines import opened

__all__ = ["Gold", "GoldItem", "read_gold"]

TRAINING = 5
"""Maximum number of items in the training round."""


@dataclass(frozen=True, slots=True)
class GoldItem:
    """The right verdict on an item, and why."""

    item: str
    verdict: str
    why: str = ""
    also: frozenset[str] = frozenset()
    """Other verdicts that are right as well."""

    def is_right(self, verdict: str) -> bool:
        """Whether a judge who gives this verdict is right."""
        return verdict == self.verdict or verdict in self.also


@dataclass(frozen=True)
class Gold:
    """The gold items of a task.

    Attributes:
        items: In their order; the first few make the training round.
        extra: Questions that are not part of the target: their answers never count in results.
    """

    items: Sequence[GoldItem] = ()
    extra: Sequence[Question] = field(default=())

    @property
    def training(self) -> Sequence[GoldItem]:
        """Those of the training round."""
        return self.items[:TRAINING]

    @property
    def by_item(self) -> Mapping[str, GoldItem]:
        """All of them by item."""
        return {one.item: one for one in self.items}

    def beside(self, sample: Sequence[Question], everything: Sequence[Question]) -> Gold:
        """Return these gold items for a sample: those that were not drawn are mixed in."""
        lacking = self.by_item.keys() - {question.item for question in sample}
        missed = [question for question in everything if question.item in lacking]
        return replace(self, extra=(*self.extra, *missed))


def read_gold(path: Path, tasks: Sequence[ReviewTask]) -> list[Gold]:
    """Read a file of gold items, and return those of every task.

    A line is ``{"item": …, "verdict": …, "why": …}``, about an item of a target, or, where a suite
    is answered, an item as suites have them, optionally with ``why``: it is mixed in.

    Raises:
        BuildError: If a line is neither, or about an item that no target has.
    """
    questions = [{question.item: question for question in task.questions()} for task in tasks]
    found: list[dict[str, GoldItem]] = [{} for _ in tasks]
    extra: list[list[Question]] = [[] for _ in tasks]
    try:
        with opened(path) as stream:
            lines = list(stream)
    except SuiteError as error:
        raise BuildError(f"--gold: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        data = _object(line, where)
        why = data.pop("why", "")
        if not isinstance(why, str):
            raise BuildError(f"{where}: 'why' must be text")
        if "verdict" in data:
            place, item = _place(data, questions, where)
            one = GoldItem(item, _verdict(tasks[place], questions[place][item], data, where), why)
        else:
            place, question, (verdict, *also) = _mixed_in(data, tasks, where)
            one = GoldItem(question.item, verdict, why, frozenset(also))
            if question.item in questions[place]:
                raise BuildError(
                    f"{where} has the item '{question.item}', which is part of the target; give "
                    "its verdict alone, or give it another id"
                )
            extra[place].append(question)
        if one.item in found[place]:
            raise BuildError(f"{where} has the item '{one.item}' a second time")
        found[place][one.item] = one
    if not any(found):
        raise BuildError(f"{path} has no gold items, expected at least one")
    return [Gold(tuple(some.values()), tuple(e)) for some, e in zip(found, extra, strict=True)]


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
        json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise BuildError(f"{where} is {excerpt(line.strip())}, expected a JSON object")
    return data


def _place(
    data: Mapping[str, Any], questions: Sequence[Mapping[str, Question]], where: str
) -> tuple[int, str]:
    item = data.get("item")
    if not isinstance(item, str):
        raise BuildError(f"{where} has no 'item', expected the name of one")
    for place, some in enumerate(questions):
        if item in some:
            return place, item
    raise BuildError(f"{where} has the item {excerpt(item)}, which no target has")


def _verdict(task: ReviewTask, question: Question, data: Mapping[str, Any], where: str) -> str:
    text = str(data["verdict"]).strip()
    if question.options:
        choices = task.offered(question)
        by_text = {option.text: option.verdict for option in choices}
        known = {option.verdict for option in choices}
        verdict = by_text.get(text) or (text if text in known else None)
        wanted = "the number of a candidate in the suite, from 1, or its text"
    else:
        verdict, wanted = task.verdicts.read(text), str(task.verdicts)
    if verdict is None:
        raise BuildError(f"{where} has the verdict {excerpt(text)}, expected {wanted}")
    return verdict


def _mixed_in(
    data: dict[str, Any], tasks: Sequence[ReviewTask], where: str
) -> tuple[int, Question, tuple[str, ...]]:
    for place, task in enumerate(tasks):
        if isinstance(task, AnswerTask):
            try:
                item = item_from_dict(data)
                for problem in item.problems():
                    raise SuiteError(f"item '{item.id}' {problem}")
            except SuiteError as error:
                raise BuildError(f"{where}: {error}") from None
            question = task.question(item)
            if question is None:
                raise BuildError(f"{where}: item '{item.id}' has no candidates to choose from")
            return place, *question
    raise BuildError(
        f'{where} has no \'verdict\'; expected {{"item": …, "verdict": …}}: items can be mixed '
        "in only where a suite is answered"
    )
