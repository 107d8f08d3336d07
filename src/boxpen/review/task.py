"""A review task: what is asked about a target, and what the verdicts change.

A task knows what a judge is shown, which verdicts there are, how an answer is checked, and how
verdicts change its target. How questions and answers travel (CSV sheets, a web page) and how
results are displayed is up to whoever uses it. Tasks are found by ``boxpen.review.tasks``.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from boxpen.errors import BuildError, RunError, nearest
from boxpen.files import check_free, replaced, resolved
from boxpen.names import check_name
from boxpen.printable import excerpt, neutral
from boxpen.review.agreement import Agreement, Disagreement, agreement_table, disagreements
from boxpen.review.assignment import Order, of_these_texts
from boxpen.review.database import DatabaseJournal, is_database
from boxpen.review.decisions import Decision, Rule, decide
from boxpen.review.guide import Guide
from boxpen.review.journal import Journal
from boxpen.review.judgement import (
    Judgement,
    Option,
    Question,
    VerdictSet,
    latest,
    settled,
)
from boxpen.review.labels import decide_labels, label_agreement, label_pairs, labels_of

if TYPE_CHECKING:
    from boxpen.runs.run import Run

__all__ = ["Applied", "Destination", "Detail", "Review", "ReviewTask", "Target", "check_output"]


@dataclass(frozen=True)
class Target:
    """What a user wants to have reviewed, as named on the command line."""

    words: tuple[str, ...]
    """A suite by name, or paths."""
    journal: Path | str | None = None
    """Where judgements are kept, if not in the usual place: a file, or a database."""
    tag: str | None = None
    values: tuple[str, ...] | None = None
    """For tags of items: the tag, and the values that may be given."""

    @property
    def path(self) -> Path | None:
        """The one path; None if there are several words, or the name of a known suite."""
        from boxpen.catalog import is_suite

        known = len(self.words) > 1 or is_suite(self.words[0])
        return None if known else Path(self.words[0])

    @cached_property
    def runs(self) -> list[Path]:
        """The run directories; none if the target is something else."""
        from boxpen.runs.directory import run_directories

        if len(self.words) == 1 and self.path is None:
            return []
        try:
            return run_directories([Path(word) for word in self.words])
        except RunError:
            return []

    @cached_property
    def loaded_runs(self) -> list[Run]:
        """The runs of the directories."""
        from boxpen.runs.run import Run

        return [Run.load(path) for path in self.runs]

    def journal_beside(self, runs: Sequence[Path], name: str, task: str) -> Journal:
        """Return the journal beside run directories, which are replaced when they are rerun."""
        folders = sorted({run.resolve().parent for run in runs})
        if self.journal is None and len(folders) > 1:
            raise BuildError(
                f"the runs are in {' and '.join(map(str, folders))}, expected one folder, or "
                "--journal with the file of the judgements"
            )
        return self.open_journal(folders[0] / name, task)

    def open_journal(
        self, usual: Path, task: str, *, tag: str | None = None, untagged: bool = False
    ) -> Journal:
        """Return the journal of a task: a file of lines, or its judgements in a database.

        Args:
            usual: The file, unless another place is asked for.
            task: Name of the task.
            tag: The tag that is judged, if it is about one.
            untagged: Whether lines without a tag may belong to it.
        """
        place = self.journal or usual
        if is_database(place):
            return DatabaseJournal(place, task, tag=tag, target=self.place)
        return Journal(place, tag=tag, untagged=untagged)

    @property
    def place(self) -> str:
        """What is reviewed as one text, the same from wherever it is named."""
        known = self.path is None and not self.runs
        return ", ".join(self.words if known else (str(Path(w).resolve()) for w in self.words))

    def __str__(self) -> str:
        return ", ".join(self.words)


class Detail(NamedTuple):
    """A table that a task adds to the status of its review."""

    name: str
    columns: tuple[str, ...]
    """Names as in data: with underscores, not spaces."""
    rows: Sequence[tuple[Any, ...]]
    """Texts, numbers, and estimates with their intervals."""


class Destination(NamedTuple):
    """Where the result of a review goes."""

    path: Path
    name: str | None = None
    """Name of the suite or system that is made; the usual one if None."""
    overwrite: bool = False
    """Whether what is there already may be replaced."""

    def ending(self, *endings: str) -> Path:
        """Return the path, which must have one of these endings."""
        if self.path.suffix.lower() not in endings:
            wanted = " or ".join(endings)
            raise BuildError(f"--out is {self.path}, expected a file that ends in {wanted}")
        return self.path


class Applied(NamedTuple):
    """The result of applying verdicts to a target."""

    path: Path
    says: str
    """A sentence about what was written."""
    data: Mapping[str, Any]
    """The same as data."""


@dataclass(frozen=True)
class Review:
    """The state of a review: judgements and the decisions that follow from them.

    Attributes:
        questions: What was asked.
        verdicts: The verdicts that may be given.
        given: The judgements of these questions.
        decisions: One per question.
        rule: How the decisions were made.
        min_judges: Items with fewer verdicts are open.
        outdated: How many judgements were ignored because the texts have changed since.
        torn: A sentence about the journal's last line, if it was cut off.
    """

    questions: Sequence[Question]
    verdicts: VerdictSet
    given: Sequence[Judgement]
    decisions: Mapping[str, Decision]
    rule: Rule
    min_judges: int
    outdated: int = 0
    torn: str | None = None

    @property
    def judging(self) -> list[Judgement]:
        """The judgements without those of adjudicators who only decide."""
        return [one for one in self.given if one.judge not in self.rule.deciders]

    @property
    def judges(self) -> dict[str, int]:
        """How many items each judge has judged."""
        named = [j for of in latest(self.judging).values() for j, one in of.items() if one.verdict]
        return dict(sorted(Counter(named).items()))

    @property
    def counts(self) -> dict[str, int]:
        """How many items were decided each way; one with several labels counts for each."""
        split = labels_of if self.verdicts.joined else lambda verdict: [verdict]
        found = [d.verdict for d in self.decisions.values() if d.verdict is not None]
        counted = Counter(label for verdict in found for label in split(verdict))
        names = [*self.verdicts.forms, *sorted(counted.keys() - self.verdicts.forms.keys())]
        return {**{name: counted[name] for name in names}, "open": len(self.open)}

    @property
    def open(self) -> dict[str, str]:
        """Why each open item is open."""
        return {item: d.reason for item, d in self.decisions.items() if d.verdict is None}

    @property
    def agreement(self) -> list[Agreement]:
        """Agreement in all, by part, and by label where a verdict may have several."""
        rows = agreement_table(self.judging, {q.item: q.part for q in self.questions})
        labels = [label for label in self.verdicts.forms if label in self.verdicts.joined]
        return [row for row in rows if row.part] + label_agreement(self.judging, labels)

    @property
    def disagreements(self) -> list[Disagreement]:
        """The items on which judges disagree."""
        return disagreements(self.judging)

    @property
    def details(self) -> list[Detail]:
        """Agreement in labels, as He et al. (2020) count it, where a verdict may have several."""
        if not self.verdicts.joined:
            return []
        some = label_pairs(self.judging, self.verdicts.joined)
        whole = label_pairs(self.judging, self.verdicts.forms)
        rows = [
            (one.first, one.second, one.share, one.labels, all_.share, all_.labels)
            for one, all_ in zip(some, whole, strict=True)
        ]
        columns = ("first", "second", "share", "labels", "share_of_all", "all_labels")
        return [Detail("label_pairs", columns, rows)]


class ReviewTask(ABC):
    """What is asked about a target, and what the verdicts change.

    Class attributes:
        name: What the task is called on the command line.
        target: What it reviews, for messages.
        noun: What one question is about.
        origin: What sheets belong to, for messages.
        order: The order of questions in a sheet, unless another is asked for.
        only_by_name: Whether the task must be named, because another is meant otherwise.
        columns: Texts that must be in a sheet because the digest does not cover them.
        guide: What judges read before they begin.
    """

    name: ClassVar[str]
    target: ClassVar[str]
    noun: ClassVar[str] = "item"
    origin: str = "table"
    order: ClassVar[Order] = "own"
    only_by_name: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()
    guide: Guide = Guide()

    verdicts: VerdictSet
    journal: Journal
    rule: Rule = Rule()
    min_judges: int = 1
    default_out: Path | None = None

    @classmethod
    def fits(cls, target: Target) -> bool:  # noqa: ARG003
        """Whether the task makes sense for its target if it is not asked for by name."""
        return True

    @classmethod
    @abstractmethod
    def find(cls, target: Target) -> ReviewTask | None:
        """Return the task for a target, or None if the target is of another kind."""

    @abstractmethod
    def questions(self) -> list[Question]:
        """Return what judges are asked."""

    def offered(self, question: Question) -> list[Option]:
        """Return what may be chosen: the options of a question, and verdicts beside them."""
        named = [verdict for verdict in self.verdicts.forms if verdict in self.verdicts.beside]
        beside = [Option(self.guide.label(verdict).label, verdict) for verdict in named]
        return [*question.options, *(beside if question.options else ())]

    def check(self, judgement: Judgement, question: Question) -> Judgement:  # noqa: ARG002
        """Check an answer, and return it as it is kept; errors continue 'FILE, line 2: '."""
        return judgement

    def files(self) -> dict[Path, str]:
        """Return the files that must not be overwritten, and what they hold."""
        return {}

    def details(self, review: Review) -> list[Detail]:  # noqa: ARG002
        """Return tables that only this task has, for the status."""
        return []

    def apply(self, review: Review, to: Destination) -> Applied:
        """Change the target by the verdicts; here: write the decisions as a table."""
        out = to.ending(".csv")
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(("item", "verdict", "edit", "judges", "reason"))
        for item, found in review.decisions.items():
            texts = map(neutral, (item, found.verdict or "", found.edit))
            writer.writerow((*texts, found.judges, neutral(found.reason)))
        with replaced(out, BuildError) as stream:
            stream.write(text.getvalue().encode())
        decided = len(review.decisions) - len(review.open)
        says = f"{decided} decision(s) written to {out}; {len(review.open)} {self.noun}(s) open"
        return Applied(out, says, {"decided": decided, "open": len(review.open)})

    def review(self, rule: Rule | None = None, min_judges: int | None = None) -> Review:
        """Read the journal and decide every item."""
        history = self.journal.read()
        rule = replace(rule or self.rule, deciders=history.adjudicators)
        rule.check(history.judgements, self.journal.path)
        return replace(self.decide(history.judgements, rule, min_judges), torn=history.torn)

    def decide(
        self,
        judgements: Iterable[Judgement],
        rule: Rule | None = None,
        min_judges: int | None = None,
    ) -> Review:
        """Decide every item.

        Args:
            judgements: All judgements; those of other items or of earlier texts are ignored.
            rule: How to decide if judges disagree; that of the task if None.
            min_judges: Items with fewer verdicts stay open.
        """
        rule, fewest = rule or self.rule, self.min_judges if min_judges is None else min_judges
        self._check_rule(rule)
        questions = self.questions()
        known, outdated = of_these_texts(judgements, questions)
        given = list(settled(known))
        for one in given:
            self.check_kept(one)
        items = [question.item for question in questions]
        if self.verdicts.joined:
            decisions = decide_labels(given, self.verdicts, rule, fewest, items)
        else:
            decisions = decide(given, rule, fewest, items)
        return Review(questions, self.verdicts, given, decisions, rule, fewest, outdated)

    def check_kept(self, one: Judgement) -> None:
        """Check a judgement of the journal, which may be that of another task."""
        given = f"{self.journal.path}: judge '{one.judge}' gives item '{one.item}' the verdict"
        if one.verdict and self.verdicts.read(one.verdict) != one.verdict:
            raise BuildError(f"{given} {excerpt(one.verdict)}, expected {self.verdicts}")
        if one.verdict in self.verdicts.edited and not one.edit.strip():
            raise BuildError(f"{given} '{one.verdict}' and no edit, expected the new text")

    def unjudged(self) -> Review:
        """Return a review that accepts everything as it was proposed."""
        if "accept" not in self.verdicts.forms:
            raise BuildError(f"--unjudged accepts proposals; the task '{self.name}' has none")
        decisions = {
            q.item: Decision(q.item, "accept", "", {}, "not judged") for q in self.questions()
        }
        return Review([], self.verdicts, [], decisions, self.rule, 0)

    def rule_named(
        self, name: str | None, adjudicator: str | None, divided: str | None = None
    ) -> Rule | None:
        """Return the rule that options ask for; None if they leave it to the task."""
        check_name(adjudicator, "--adjudicator")
        if name is None and adjudicator is None and divided is None:
            return None
        adjudicator = adjudicator or (self.rule.adjudicator if name is None else None)
        divided = divided or self.rule.otherwise or "open"
        return Rule.named(name or self.rule.name, divided, adjudicator)

    def _check_rule(self, rule: Rule) -> None:
        plain = [verdict for verdict in self.verdicts.forms if verdict not in self.verdicts.edited]
        allowed = [Rule("any").veto] if self.verdicts.joined else plain
        for verdict in filter(None, (rule.veto, rule.otherwise)):
            if self.verdicts.forms and verdict not in allowed:
                way_out = nearest(verdict, allowed)
                raise BuildError(f"the rule has the verdict '{verdict}', {way_out}")


def check_output(task: ReviewTask, out: Path, *, overwrite: bool) -> None:
    """Refuse, before any work, to overwrite files of the target, or any file without being told."""
    place = resolved(out, BuildError)
    for path, holds in {**task.files(), task.journal.path: "the judgements"}.items():
        same = place.is_file() and path.is_file() and place.samefile(path)
        if same or place == resolved(path, BuildError):
            raise BuildError(f"--out is {out}, which holds {holds}; expected another file")
    check_free(out, BuildError, overwrite=overwrite)
