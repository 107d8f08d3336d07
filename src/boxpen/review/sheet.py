"""Sheets: questions and answers in a CSV file that any spreadsheet program opens.

Columns: ``item``; what is judged, one column each; hints; ``verdict``, ``edit`` and ``comment``,
which are the judge's; ``judge`` and ``digest``, which say whose sheet it is and which texts it
shows. Rows may be sorted and columns moved.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from boxpen.atomic import replaced
from boxpen.catalog.plaintext import excerpt, opened
from boxpen.catalog.tabular import table_rows
from boxpen.errors import BuildError, SuiteError
from boxpen.names import check_judge, wanted_of_a_judge
from boxpen.review.judgement import Judgement, Question, VerdictSet, plain

__all__ = ["Line", "read_sheet", "write_sheet"]

_WITHDRAWN = "?"
"""In the column of verdicts: no verdict any more."""

# What a spreadsheet program would take for a formula, behind spaces and our own marks too.
_FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]|'*[\t\r\n]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Line:
    """A judgement, and the place it was read from."""

    path: Path
    number: int
    judgement: Judgement
    blank: bool = False
    """No verdict, only a comment."""

    def __str__(self) -> str:
        return f"{self.path}, line {self.number}"


def write_sheet(
    path: Path,
    questions: Sequence[Question],
    judge: str,
    *,
    said: Mapping[str, Mapping[str, Judgement]] | None = None,
    blind: bool = False,
) -> None:
    """Write a sheet for one judge.

    Args:
        path: The CSV file, UTF-8 with a byte order mark.
        questions: What to ask, in this order.
        judge: Whose sheet it is.
        said: What ``latest`` returns, to fill in what the judge has said already.
        blind: Leave out the hints.

    Raises:
        BuildError: If it cannot be written, or a text holds what a table cannot.
    """
    check_judge(judge, "the judge")
    shown = list(dict.fromkeys(name for q in questions for name in q.shown))
    hints = [] if blind else list(dict.fromkeys(name for q in questions for name in q.hints))
    header = ["item", *shown, *hints, "verdict", "edit", "comment", "judge", "digest"]
    with replaced(path, BuildError) as stream:
        writer = csv.writer(codecs.getwriter("utf-8-sig")(stream))
        writer.writerow(header)
        for question in questions:
            one = (said or {}).get(question.item, {}).get(judge)
            if one is not None and not question.was_seen(one):
                one = None
            cells = [
                question.item,
                *(question.shown.get(name, "") for name in shown),
                *(question.hints.get(name, "") for name in hints),
                *((one.verdict, one.edit, one.comment) if one else ("", "", "")),
                judge,
                question.digest,
            ]
            for place, (name, cell) in enumerate(zip(header, cells, strict=True)):
                if "\0" in cell:
                    raise BuildError(
                        f"item '{question.item}' has a NUL character in its {name}, which a sheet "
                        "cannot hold"
                    )
                # Hints are not read again, so their numbers may be numbers, to sort by.
                if not (name in hints and _NUMBER.fullmatch(cell)):
                    cells[place] = _neutral(cell)
            writer.writerow(cells)


def read_sheet(
    path: Path,
    questions: Mapping[str, Question],
    verdicts: VerdictSet,
    *,
    judge: str | None = None,
    time: str | None = None,
    origin: str = "table",
    columns: Sequence[str] = (),
) -> list[Line]:
    """Read what a judge wrote into a sheet.

    A row without a verdict is not judged yet, and left out unless it has a comment; the verdict
    '?' takes an earlier one back.

    Args:
        path: The sheet; its cells may also be divided by semicolons or tabs.
        questions: What may be judged, by item.
        verdicts: What may be said.
        judge: Who judged, where the sheet does not say.
        time: What the judgements get as their time.
        origin: What the questions were made from, for messages.
        columns: Those of what is shown that must be there, since the digest does not tell of them.

    Raises:
        BuildError: If a row is not as it must be; the message names the line.
    """
    found: dict[tuple[str, str], Line] = {}
    whose: tuple[int, str] | None = None  # the first line, and its judge
    try:
        for number, cells in _rows(path, judge, columns):
            where = f"{path}, line {number}"
            question = _question(cells, questions, verdicts, where, origin)
            who = _judge(cells, judge, where)
            whose = whose or (number, who)
            if who != whose[1]:
                raise BuildError(
                    f"{where} has the judge {excerpt(who)}, expected {excerpt(whose[1])} as in "
                    f"line {whose[0]}: a sheet is of one judge"
                )
            verdict, edit, comment = _answer(cells, verdicts, where)
            blank = not cells["verdict"].strip()
            if blank and not comment:
                continue
            one = Judgement(question.item, who, verdict, edit, comment, question.digest, time)
            line = Line(path, number, one, blank)
            before = found.setdefault((question.item, who), line)
            if before.judgement != one:
                raise BuildError(
                    f"{where} judges item '{question.item}' again, and otherwise than line "
                    f"{before.number}; expected one verdict"
                )
    except SuiteError as error:  # from the reader of tables
        raise BuildError(str(error)) from None
    return list(found.values())


def _rows(
    path: Path, judge: str | None, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    with opened(path, newline="") as stream:
        first = stream.readline()
    # Spreadsheet programs divide cells by what is customary in the country.
    delimiter = max(",;\t", key=first.count)
    rows = table_rows(path, delimiter)
    number, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    for name in ("item", "verdict", *columns, *([] if judge is not None else ["judge"])):
        if header.count(name) != 1:
            way_out = "; name the judge instead" if name == "judge" else ""
            raise BuildError(
                f"{path}, line {number} has the columns {', '.join(header) or '(none)'}, expected "
                f"'{name}' once among them{way_out}"
            )
    for number, row in rows:
        if len(row) != len(header):
            raise BuildError(
                f"{path}, line {number} has {len(row)} cell(s), expected {len(header)}"
            )
        if any("\0" in cell for cell in row):
            raise BuildError(f"{path}, line {number} has a NUL character, expected text")
        cells = dict(zip(header, map(_restored, row), strict=True))
        if any(map(str.strip, row)):
            yield number, {"judge": judge or "", "edit": "", "comment": "", **cells}


def _neutral(cell: str) -> str:
    """Mark a cell that would be a formula as text."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _restored(cell: str) -> str:
    """Take off the mark that keeps a cell from being a formula."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def _question(
    cells: Mapping[str, str],
    questions: Mapping[str, Question],
    verdicts: VerdictSet,
    where: str,
    origin: str,
) -> Question:
    """Return what the row asks, if its texts are still what was asked."""
    item = cells["item"].strip()
    question = questions.get(item)
    if question is None:
        raise BuildError(
            f"{where} has the item {excerpt(item)}, which is not in the {origin}; expected the "
            f"sheet of this {origin}"
        )
    there = {name: cells[name] for name in question.shown if name in cells}
    digest = cells.get("digest", "").strip()
    if not digest and not there:
        raise BuildError(f"{where} shows nothing of item '{item}', expected its texts or a digest")
    if digest and digest != question.digest and digest == question.digest_of(there):
        raise BuildError(
            f"{where} shows item '{item}' as it was in another {origin}, expected the sheet of "
            "this one; export it anew"
        )
    way_out = "changes belong in the column 'edit'" if verdicts.edited else "export the sheet anew"
    for name, cell in there.items():
        if plain(cell) != plain(question.shown[name]):
            raise BuildError(
                f"{where}: the {name} of item '{item}' is {excerpt(cell)}, expected "
                f"{excerpt(question.shown[name])}; {way_out}"
            )
    if digest and digest != question.digest:
        raise BuildError(
            f"{where}: the digest of item '{item}' is {excerpt(digest)}, expected "
            f"'{question.digest}'; export the sheet anew"
        )
    return question


def _judge(cells: Mapping[str, str], judge: str | None, where: str) -> str:
    """Return whose row it is: the cell says so, or else the caller."""
    who = cells["judge"] if cells["judge"].strip() else (judge or "")
    if not who:
        raise BuildError(f"{where} has no judge, expected a name")
    wanted = wanted_of_a_judge(who)
    if wanted is not None:
        raise BuildError(f"{where} has the judge {excerpt(who)}, expected {wanted}")
    if judge is not None and who != judge:
        raise BuildError(f"{where} has the judge {excerpt(who)}, expected '{judge}'")
    return who


def _answer(cells: Mapping[str, str], verdicts: VerdictSet, where: str) -> tuple[str, str, str]:
    """Return verdict, edit and comment of a row; the verdict is empty if there is none."""
    text, edit, comment = (cells[name].strip() for name in ("verdict", "edit", "comment"))
    verdict = "" if text in ("", _WITHDRAWN) else verdicts.read(text)
    if verdict is None:
        raise BuildError(
            f"{where} has the verdict {excerpt(text)}, expected {verdicts}, or nothing"
        )
    if verdict in verdicts.edited and not edit:
        raise BuildError(f"{where} has the verdict '{verdict}' and no edit, expected the new text")
    if edit and verdict not in verdicts.edited:
        wanted = " or ".join(f"'{name}'" for name in sorted(verdicts.edited)) or "an empty edit"
        raise BuildError(
            f"{where} has the edit {excerpt(edit)} and the verdict {excerpt(verdict)}, expected "
            f"{wanted}"
        )
    return verdict, edit, comment
