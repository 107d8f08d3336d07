"""What stands in sheets comes into a journal: all of it, or nothing."""

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
    """What became of the sheets."""

    added: tuple[Judgement, ...]
    changed: tuple[tuple[Judgement, Judgement], ...]
    """Those of them that take the place of another verdict: before and after."""
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
    canonical: Callable[[Line], Judgement] = lambda line: line.judgement,
) -> Imported:
    """Add what stands in sheets to the journal: all of it, or, if anything is wrong, nothing.

    Args:
        paths: The sheets.
        questions: What was asked.
        verdicts: What may be said.
        journal: Where judgements are kept.
        judge: Who judged, where a sheet does not say.
        time: What the judgements get as their time.
        origin: What the questions were made from, for messages.
        columns: Those of what is shown that must be there, since the digest does not tell of them.
        canonical: Checks a judgement, and returns it in the form in which it is kept.

    Raises:
        BuildError: If a row is not as it must be, or one judge says two things of an item.
    """
    by_item = {question.item: question for question in questions}
    lines: dict[tuple[str, str], tuple[Line, Judgement]] = {}
    for path in paths:
        for line in read_sheet(
            path, by_item, verdicts, judge=judge, time=time, origin=origin, columns=columns
        ):
            one = canonical(line)
            first, other = lines.setdefault((one.item, one.judge), (line, one))
            if other != one:
                raise BuildError(
                    f"{line}: judge '{one.judge}' judges item '{one.item}' otherwise than in "
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
    """Whether a row says anything: an empty cell takes nothing back, a '?' only what was said."""
    judged = before is not None and bool(before.verdict)
    one = line.judgement
    return bool(one.verdict) or (not judged if line.blank else judged or bool(one.comment))
