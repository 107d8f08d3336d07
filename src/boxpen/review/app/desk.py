"""Judging key by key: one key press judges an item, and the next one is there.

A desk holds the questions that are open for a judge. Every verdict is in the journal before the
next question is asked, so that the work may stop anywhere and go on later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from boxpen.errors import BuildError
from boxpen.review.assignment import Selection, of_these_texts, selected
from boxpen.review.judgement import Judgement, Question, latest
from boxpen.review.task import ReviewTask

__all__ = ["SKIP", "UNDO", "Desk"]

UNDO, SKIP = "u", "s"


class Desk:
    """The questions of one judge, and what the judge says.

    Args:
        task: What is asked.
        judge: Who judges.
        wanted: Which questions, and in which order; by default in that of the task.

    Raises:
        BuildError: If verdicts of the task take more than a key.
    """

    def __init__(self, task: ReviewTask, judge: str, wanted: Selection | None = None) -> None:
        if task.verdicts.joined or not task.verdicts.forms:
            raise BuildError(
                f"the task '{task.name}' takes more than one key per item; use boxpen review serve "
                "or export"
            )
        wanted = wanted or Selection()
        if wanted.order is None:
            wanted = replace(wanted, order=task.order)
        self.task, self.judge = task, judge
        history = task.journal.read()
        asked = task.questions()
        given, _ = of_these_texts(history.judgements, asked)
        self.torn = history.torn
        """A sentence about the journal's last line, if it was cut off."""
        self.open = deque(selected(asked, given, judge, wanted))
        self.done: list[Question] = []
        self._before = {item: of[judge] for item, of in latest(given).items() if judge in of}

    @property
    def question(self) -> Question | None:
        """What is asked now; None if nothing is left."""
        return self.open[0] if self.open else None

    @property
    def keys(self) -> dict[str, str]:
        """The verdict of each key: digits in order, and letters that abbreviate verdicts."""
        if self.question is None:
            return {}
        offered = self.task.offered(self.question)
        if offered:
            return {str(n): option.verdict for n, option in enumerate(offered, 1)}
        forms = self.task.verdicts.forms
        letters = {form: verdict for verdict, of in forms.items() for form in of if len(form) == 1}
        free = {form: verdict for form, verdict in letters.items() if form not in (UNDO, SKIP)}
        return {**{str(n): verdict for n, verdict in enumerate(forms, 1)}, **free}

    @property
    def labels(self) -> dict[int, str]:
        """What the digits mean that are not those of the options of the question."""
        if self.question is None:
            return {}
        options = len(self.question.options)
        offered = [option.text for option in self.task.offered(self.question)]
        named = [self.task.guide.label(verdict).label for verdict in self.task.verdicts.forms]
        found = enumerate(offered if options else named, 1)
        return {n: label for n, label in found if n > options}

    def judged(self, verdict: str, edit: str = "") -> None:
        """Keep a verdict on the question, and go to the next one.

        Raises:
            BuildError: If the verdict needs an edit, or has one that the task refuses.
        """
        question = self.open[0]
        if verdict in self.task.verdicts.edited and not edit.strip():
            raise BuildError(f"the verdict '{verdict}' needs a new text")
        one = Judgement(
            question.item, self.judge, verdict, edit, seen=question.digest, order=question.order
        )
        self.task.journal.append([self.task.check(one, question)])
        self.done.append(self.open.popleft())

    def skip(self) -> None:
        """Ask the question again after all others."""
        self.open.rotate(-1)

    def undo(self) -> bool:
        """Withdraw the last verdict, and ask again; False if there is none.

        An earlier verdict of this judge holds again.
        """
        if not self.done:
            return False
        question = self.done[-1]
        withdrawn = Judgement(question.item, self.judge, "", seen=question.digest)
        self.task.journal.append([self._before.get(question.item, withdrawn)])
        self.open.appendleft(self.done.pop())
        return True
