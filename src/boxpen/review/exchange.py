"""Sheets out and in: what a judge has not judged yet, and answers, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from boxpen.errors import BuildError
from boxpen.review.assignment import Selection, of_these_texts, selected
from boxpen.review.foreign import is_foreign, read_foreign
from boxpen.review.journal import Journal
from boxpen.review.judgement import Judgement, Question, VerdictSet, latest
from boxpen.review.sheet import Line, read_sheet, write_sheet
from boxpen.review.task import ReviewTask

__all__ = ["Imported", "export_sheet", "import_sheets"]


def export_sheet(
    task: ReviewTask, judge: str, out: Path, wanted: Selection, *, blind: bool
) -> tuple[int, str | None]:
    """Write a sheet for a judge, unless it would be empty.

    Args:
        task: What is asked.
        judge: Whose sheet it is.
        out: The CSV file.
        wanted: Which questions, and in which order; by default in that of the task.
        blind: Leave out scores and hints, and the order that would give them away.

    Returns:
        The number of questions, and a sentence about the journal if its last line was cut off.
    """
    if wanted.order is None:
        wanted = replace(wanted, order="own" if blind else task.order)
    history = task.journal.read()
    asked = task.questions()
    given, _ = of_these_texts(history.judgements, asked)
    chosen = selected(asked, given, judge, wanted)
    if chosen:  # an empty sheet would only be in the way of the next one
        write_sheet(out, chosen, judge, said=latest(given), blind=blind)
    return len(chosen), history.torn


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    added: tuple[Judgement, ...]
    changed: tuple[tuple[Judgement, Judgement], ...]
    """Those of them that replace another verdict: before and after."""
    known: int
    """How many the journal had already."""
    torn: str | None
    """A sentence about the journal's last line, if it was cut off."""


def import_sheets(
    paths: Sequence[Path],
    questions: Sequence[Question],
    verdicts: VerdictSet,
    journal: Journal,
    *,
    judge: str | None = None,
    time: str | None = None,
    origin: str = "table",
    columns: Sequence[str] = (),
    check: Callable[[Judgement, Question], Judgement] | None = None,
) -> Imported:
    """Add the answers of sheets to the journal: all of them, or, if anything is wrong, none.

    Args:
        paths: The sheets, journals, or exports of other tools.
        questions: What was asked.
        verdicts: The verdicts that may be given.
        journal: Where judgements are kept.
        judge: The judge, if a sheet does not name one.
        time: The time that is recorded with the judgements.
        origin: What the questions were made from, for messages.
        columns: Texts that must be in a sheet because the digest does not cover them.
        check: Checks a judgement, and returns it in the form in which it is kept.
    """
    by_item = {question.item: question for question in questions}
    lines: dict[tuple[str, str], tuple[Line, Judgement]] = {}
    for path in paths:
        if is_foreign(path):
            read = read_foreign(path, by_item, verdicts, judge=judge, time=time, origin=origin)
        else:
            read = read_sheet(
                path, by_item, verdicts, judge=judge, time=time, origin=origin, columns=columns
            )
        for line in read:
            one = line.judgement
            try:
                one = check(one, by_item[one.item]) if check is not None else one
            except BuildError as error:
                raise BuildError(f"{line}: {error}") from None
            first, other = lines.setdefault((one.item, one.judge), (line, one))
            if other != one:
                raise BuildError(
                    f"{line}: judge '{one.judge}' judges item '{one.item}' differently in "
                    f"{first}; expected one verdict"
                )
    history = journal.read()
    said = {(one.item, one.judge): one for one in history.judgements}
    added = journal.merge(one for key, (line, one) in lines.items() if _tells(line, said.get(key)))
    changed = [
        (before, one)
        for one in added
        if (before := said.get((one.item, one.judge))) is not None and before.verdict
    ]
    return Imported(tuple(added), tuple(changed), len(lines) - len(added), history.torn)


def _tells(line: Line, before: Judgement | None) -> bool:
    """Whether a row says anything new: an empty cell does not withdraw a verdict, '?' does."""
    judged = before is not None and bool(before.verdict)
    one = line.judgement
    return bool(one.verdict) or (not judged if line.blank else judged or bool(one.comment))
