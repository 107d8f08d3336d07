"""Answering the items of a suite: people choose a candidate, as models do.

A judge sees the candidates in an order drawn for judge and item, and not which of them is right.
Neither the order nor anything else in a sheet depends on the right answer, or on the order of the
candidates in the suite. The labels of natural language inference always come in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from boxpen.catalog import load_suite, write_suite
from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Item, Suite
from boxpen.review import (
    Applied,
    Destination,
    Detail,
    Journal,
    Option,
    Question,
    Review,
    ReviewTask,
    Target,
    VerdictSet,
    latest,
)
from boxpen.review.guides import ANSWERS
from boxpen.review.human_run import (
    Answers,
    choice_of,
    read_answers,
    right_places,
    run_of_answers,
)

__all__ = ["AnswerTask", "Failed", "most_fail", "samples"]

FEWEST = 3
"""Fewest judges of an item for the rule that most of them fail it."""


class Failed(NamedTuple):
    """An item that most judges fail."""

    item: str
    right: int
    judges: int


def most_fail(right: int, judges: int) -> bool:
    """Whether an item should be rewritten or dropped: most of three or more judges fail it.

    This is the rule of Sen-Making (Wang et al. 2019).
    """
    return judges >= FEWEST and 2 * right < judges


def samples(suite: Suite) -> dict[str, str]:
    """Return the sample of every item: what is rewritten or dropped together.

    A sentence that makes no sense and the reason why are one sample, as in Sen-Making, and so are
    the items of a block, unless they are different tests of one triple (tag ``task``). Samples
    that share an item are one, called by the first block or else sentence in it.
    """
    choices = [item for item in suite if isinstance(item, Choice)]
    wrong = {
        item.id: {text for n, text in enumerate(item.candidates) if n != item.gold}
        for item in choices
    }
    explained = {item.context for item in choices} & {t for of in wrong.values() for t in of}
    shared: dict[str, list[str]] = {}
    for item in suite:
        found = []
        if item.block is not None and "task" not in item.tags:
            found.append(f"block {item.block}")
        if isinstance(item, Choice):
            about = ({item.context} | wrong[item.id]) & explained
            found += sorted(f"sentence {text}" for text in about)
        shared[item.id] = found or [item.id]
    joined = _joined(shared.values())
    return {item: joined[found[0]] for item, found in shared.items()}


def _joined(groups: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the first name of all that hang together; those of a group do (union-find)."""
    above: dict[str, str] = {}

    def first(name: str) -> str:
        while (higher := above.setdefault(name, name)) != name:
            above[name] = above[higher]
            name = higher
        return name

    for group in groups:
        for name in group:
            one, other = sorted((first(group[0]), first(name)))
            above[other] = one
    return {name: first(name) for name in list(above)}


class AnswerTask(ReviewTask):
    """Which candidate is right?

    A verdict is the number of a candidate in the suite, from 1.

    Args:
        suite: The suite; items without candidates are not asked.
        journal: Where answers are kept.
    """

    name = "answers"
    target = "the items of a suite"
    origin = "suite"
    guide = ANSWERS
    min_judges = 3
    default_out = Path("runs")

    def __init__(self, suite: Suite, journal: Journal | None = None) -> None:
        self.suite = suite
        self.journal = journal or Journal(f"{suite.name}-answers.jsonl")
        found = [(item, choice_of(item)) for item in suite]
        self.choices = [(item, choice) for item, choice in found if choice is not None]
        if not self.choices:
            raise BuildError(f"suite '{suite.name}' has no item with candidates to choose from")
        most = max(len(choice.candidates) for _, choice in self.choices)
        self.verdicts = VerdictSet({str(number): () for number in range(1, most + 1)})

    @classmethod
    def find(cls, target: Target) -> AnswerTask | None:
        """Return the task for a suite; the journal is beside its file, or in the current folder."""
        path = target.path
        if len(target.words) > 1 or (path is not None and path.is_dir()):
            return None
        suite = load_suite(target.words[0])
        folder = path.parent if path is not None and path.is_file() else Path()
        own = re.sub(r"[^\w.-]+", "_", f"{suite.name}-answers.jsonl")
        return cls(suite, target.open_journal(folder / own, cls.name))

    def questions(self) -> list[Question]:
        """Return one question per item; its candidates are shuffled for each judge."""
        wrong = {
            text
            for _, choice in self.choices
            for n, text in enumerate(choice.candidates)
            if n != choice.gold
        }
        # "Why does this make no sense?" gives away which sentence makes none.
        return [
            replace(_question(item, choice), late=choice.context in wrong)
            for item, choice in self.choices
        ]

    @property
    def right(self) -> dict[str, frozenset[str]]:
        """The right verdicts on every item."""
        return {
            item.id: frozenset(str(place + 1) for place in right_places(item, choice))
            for item, choice in self.choices
        }

    def failed(self, review: Review) -> list[Failed]:
        """Return the items that most of three or more judges fail, in the order of the suite."""
        said = latest(review.given)
        right = self.right
        found = []
        for question in review.questions:
            judges = review.rule.judging(said.get(question.item, {}))
            verdicts = [one.verdict for one in judges.values() if one.verdict]
            hits = sum(verdict in right[question.item] for verdict in verdicts)
            if most_fail(hits, len(verdicts)):
                found.append(Failed(question.item, hits, len(verdicts)))
        return found

    def details(self, review: Review) -> list[Detail]:
        """Return the items that most judges fail."""
        return [Detail("most_judges_fail", Failed._fields, self.failed(review))]

    def apply_failed(self, review: Review, to: Destination) -> Applied:
        """Write the suite without the items that most judges fail, and without their samples."""
        failed = {one.item for one in self.failed(review)}
        sample = samples(self.suite)
        gone = {sample[item] for item in failed}
        kept = [item for item in self.suite if sample[item.id] not in gone]
        if not kept:
            raise BuildError(f"most judges fail every item of suite '{self.suite.name}'")
        left_out = len(self.suite) - len(kept)
        note = f"Without {len(failed)} items that most of three or more judges failed"
        note += (
            f", and {more} other items of their samples."
            if (more := left_out - len(failed))
            else "."
        )
        notes = " ".join(filter(None, (self.suite.card.notes, note)))
        made = replace(self.suite.take(kept), card=replace(self.suite.card, notes=notes))
        made = replace(made, name=to.name) if to.name else made
        write_suite(made, to.path)
        says = f"{len(kept):,} items written to {to.path}; {left_out:,} left out"
        data = {"items": len(kept), "failed": sorted(failed), "left_out": left_out}
        data["hash"] = made.hash
        return Applied(to.path, says, data)

    @staticmethod
    def question(item: Item) -> tuple[Question, tuple[str, ...]] | None:
        """Return the question about any item and the right verdicts; None without candidates.

        The verdict that is expected comes first.
        """
        choice = choice_of(item)
        if choice is None:
            return None
        others = right_places(item, choice) - {choice.gold}
        right = tuple(str(place + 1) for place in (choice.gold, *sorted(others)))
        return _question(item, choice), right

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write the run in which the majority of judges decides, as with tables of answers."""
        if review.rule.name != "majority":
            raise BuildError(
                f"the rule is '{review.rule.name}', expected 'majority': a run of people counts "
                "the judges who chose each candidate"
            )
        answers: Answers = {}
        said = latest(review.given)
        for question in review.questions:
            found = {
                j: int(one.verdict) - 1
                for j, one in review.rule.judging(said.get(question.item, {})).items()
                if one.verdict
            }
            if found:
                answers[question.item] = found
        return self._written(answers, self.journal.path, to, review.min_judges)

    def apply_table(
        self, path: Path, to: Destination, *, min_judges: int | None = None, start: int = 0
    ) -> Applied:
        """Write the run of a table of answers; see ``read_answers``."""
        answers = read_answers(self.suite, path, start=start)
        fewest = self.min_judges if min_judges is None else min_judges
        return self._written(answers, path, to, fewest)

    def _written(self, answers: Answers, where: Path, to: Destination, fewest: int) -> Applied:
        run = run_of_answers(self.suite, answers, where, name=to.name, min_judges=fewest)
        place = run.save(to.path)
        human = run.info.human
        assert human is not None
        says = f"{human.answers} answers of {human.judges} judge(s) written to {place}"
        return Applied(place, says, {"path": str(place), "human": human.to_json()})


def _question(item: Item, choice: Choice) -> Question:
    labels = isinstance(item, Entail)
    options = [Option(text, str(number)) for number, text in enumerate(choice.candidates, 1)]
    # The order of the suite may give away the right answer, which is often the first.
    shown = tuple(options if labels else sorted(options))
    part = item.tags.get("set", "")
    return Question(item.id, _shown(item), part=part, options=shown, fixed=labels)


def _shown(item: Item) -> dict[str, str]:
    if isinstance(item, Entail):
        return {"premise": item.premise, "hypothesis": item.hypothesis}
    texts = {"context": item.context, "source": item.source}
    return {name: text for name, text in texts.items() if text is not None}
