"""Import of sheets into a journal: all of them, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from boxpen.errors import BuildError
from boxpen.review.journal import Journal
from boxpen.review.judgement import Judgement, Question, VerdictSet
from boxpen.review.sheet import Line, read_sheet

__all__ = ["Imported", "import_sheets"]


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
        paths: The sheets.
        questions: What was asked.
        verdicts: The verdicts that may be given.
        journal: Where judgements are kept.
        judge: The judge, if a sheet does not name one.
        time: The time that is recorded with the judgements.
        origin: What the questions were made from, for messages.
        columns: Texts that must be in a sheet because the digest does not cover them.
        check: Checks a judgement, and returns it in the form in which it is kept.

    Raises:
        BuildError: If a row is not valid, or two rows of one judge contradict each other.
    """
    by_item = {question.item: question for question in questions}
    lines: dict[tuple[str, str], tuple[Line, Judgement]] = {}
    for path in paths:
        for line in read_sheet(
            path, by_item, verdicts, judge=judge, time=time, origin=origin, columns=columns
        ):
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
    """Whether a row says anything: an empty cell withdraws nothing, a '?' an earlier verdict."""
    judged = before is not None and bool(before.verdict)
    one = line.judgement
    return bool(one.verdict) or (not judged if line.blank else judged or bool(one.comment))
