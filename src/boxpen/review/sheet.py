"""Sheets: questions and answers in a CSV file that any spreadsheet program opens.

Columns: ``item``; what is judged, one column each; hints; ``verdict``, ``edit`` and ``comment``,
which the judge fills in; ``judge``, whose sheet it is; ``digest``, which texts it shows; ``order``,
in which order it shows the options of a question, if there are any. Rows may be sorted and columns
moved.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from boxpen.catalog.tabular import delimiter_of, table_rows
from boxpen.errors import BuildError, SuiteError
from boxpen.files import replaced
from boxpen.names import check_judge, wanted_of_a_judge
from boxpen.printable import excerpt, neutral, restored
from boxpen.review.judgement import Judgement, Question, VerdictSet, plain

__all__ = ["Line", "check_sheet", "read_sheet", "write_sheet"]

_WITHDRAWN = "?"
"""In the column of verdicts: withdraws an earlier verdict."""

# What a spreadsheet program reads as a formula, even after spaces and our own marks.
_COLUMNS = {"item", "verdict", "edit", "comment", "judge", "digest"}  # of every sheet
_LONGEST = 1 << 16  # bytes of a sheet's first line
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Line:
    """A judgement, and where it was read."""

    path: Path
    number: int
    judgement: Judgement
    blank: bool = False
    """No verdict, only a comment."""

    def __str__(self) -> str:
        return f"{self.path}, line {self.number}"


def check_sheet(judge: str, out: Path, *, overwrite: bool) -> None:
    """Refuse a sheet without a judge, or one that would replace a file that is not a sheet."""
    check_judge(judge, "--judge")
    if out.suffix != ".csv":
        raise BuildError(f"--out is {out}, expected a file that ends in .csv")
    if out.exists() and not overwrite:
        raise BuildError(f"{out} exists; import it, and give another name or --overwrite")
    # Anything else that is in the way is reported when the sheet is written.
    if out.is_file() and not _is_sheet(out):
        raise BuildError(
            f"{out} is not a sheet: its first line does not name the columns of one; expected a "
            "sheet, or a file that does not exist yet"
        )


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
        said: What ``latest`` returns, to fill in this judge's earlier verdicts.
        blind: Leave out the hints.
    """
    check_judge(judge, "the judge")
    options = range(1, max((len(q.options) for q in questions), default=0) + 1)
    shown = [*dict.fromkeys(name for q in questions for name in q.shown), *map(str, options)]
    hints = [] if blind else list(dict.fromkeys(name for q in questions for name in q.hints))
    logged = ["order"] if any(q.options for q in questions) else []
    header = ["item", *shown, *hints, "verdict", "edit", "comment", "judge", "digest", *logged]
    with replaced(path, BuildError) as stream:
        writer = csv.writer(codecs.getwriter("utf-8-sig")(stream))
        writer.writerow(header)
        for question in questions:
            one = (said or {}).get(question.item, {}).get(judge)
            known = one is not None and question.was_seen(one)
            texts = question.texts
            cells = [
                question.item,
                *(texts.get(name, "") for name in shown),
                *(question.hints.get(name, "") for name in hints),
                *((_written(one, question), one.edit, one.comment) if one and known else [""] * 3),
                judge,
                question.digest,
                *(question.order for _ in logged),
            ]
            for place, (name, cell) in enumerate(zip(header, cells, strict=True)):
                if "\0" in cell:
                    raise BuildError(
                        f"item '{question.item}' has a NUL character in its {name}, which a sheet "
                        "cannot hold"
                    )
                # Hints are not read back, so numbers may stay numbers, to sort by.
                if not (name in hints and _NUMBER.fullmatch(cell)):
                    cells[place] = neutral(cell)
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
    """Read what a judge wrote into a sheet, whose cells may be separated in any usual way.

    A row without a verdict is skipped unless it has a comment; the verdict '?' withdraws an
    earlier one.

    Args:
        path: The sheet.
        questions: All questions, by item.
        verdicts: The verdicts that may be given.
        judge: The judge, if the sheet does not name one.
        time: The time that is recorded with the judgements.
        origin: What the questions were made from, for messages.
        columns: Texts that must be in the sheet because the digest does not cover them.
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
                    f"line {whose[0]}: a sheet belongs to one judge"
                )
            verdict, edit, comment = _answer(cells, question, verdicts, where)
            blank = not cells["verdict"].strip()
            if blank and not comment:
                continue
            digest, order = question.digest, question.order if verdict else ""
            one = Judgement(question.item, who, verdict, edit, comment, digest, time, order)
            line = Line(path, number, one, blank)
            before = found.setdefault((question.item, who), line)
            if before.judgement != one:
                raise BuildError(
                    f"{where} judges item '{question.item}' again, and not as line "
                    f"{before.number} does; expected one verdict"
                )
    except SuiteError as error:  # from the table reader
        raise BuildError(str(error)) from None
    return list(found.values())


def _rows(
    path: Path, judge: str | None, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    rows = table_rows(path)
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
        cells = dict(zip(header, map(restored, row), strict=True))
        if any(map(str.strip, row)):
            yield number, {"judge": judge or "", "edit": "", "comment": "", **cells}


def _is_sheet(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            start = stream.readline(_LONGEST).decode("utf-8-sig", "replace")
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from None
    lines = start.splitlines()[:1]
    try:
        delimiter = delimiter_of("".join(lines), path)
        found = next(csv.reader(lines, delimiter=delimiter), [])
    except (csv.Error, SuiteError):
        return False
    return _COLUMNS.issubset(name.strip() for name in found)


def _question(
    cells: Mapping[str, str],
    questions: Mapping[str, Question],
    verdicts: VerdictSet,
    where: str,
    origin: str,
) -> Question:
    """Return the question of a row after checking that its texts have not changed."""
    item = cells["item"].strip()
    question = questions.get(item)
    if question is None:
        raise BuildError(
            f"{where} has the item {excerpt(item)}, which is not in the {origin}; expected the "
            f"sheet of this {origin}"
        )
    if question.options:
        order = cells.get("order", "")
        arranged = question.arranged(order)
        if arranged is None:
            raise BuildError(
                f"{where} has the order {excerpt(order)}, expected the numbers 1 to "
                f"{len(question.options)} as they were exported"
            )
        question = arranged
    texts = question.texts
    there = {name: cells[name] for name in texts if name in cells}
    digest = cells.get("digest", "").strip()
    if not digest and not there:
        raise BuildError(f"{where} shows nothing of item '{item}', expected its texts or a digest")
    if digest and digest != question.digest and digest == question.digest_of(there):
        raise BuildError(
            f"{where} shows item '{item}' as it was in another {origin}, expected the sheet of "
            "this one; export it again"
        )
    way_out = "use the column 'edit' for changes" if verdicts.edited else "export the sheet again"
    for name, cell in there.items():
        if plain(cell) != plain(texts[name]):
            raise BuildError(
                f"{where}: the {name} of item '{item}' is {excerpt(cell)}, expected "
                f"{excerpt(texts[name])}; {way_out}"
            )
    if digest and digest != question.digest:
        raise BuildError(
            f"{where}: the digest of item '{item}' is {excerpt(digest)}, expected "
            f"'{question.digest}'; export the sheet again"
        )
    return question


def _judge(cells: Mapping[str, str], judge: str | None, where: str) -> str:
    """Return the judge of a row: from its cell, or else from the caller."""
    who = cells["judge"] if cells["judge"].strip() else (judge or "")
    if not who:
        raise BuildError(f"{where} has no judge, expected a name")
    wanted = wanted_of_a_judge(who)
    if wanted is None and judge not in (None, who):
        wanted = f"'{judge}'"
    if wanted is not None:
        raise BuildError(f"{where} has the judge {excerpt(who)}, expected {wanted}")
    return who


def _written(judgement: Judgement, question: Question) -> str:
    """Return what the judge would write into this sheet for an earlier verdict."""
    for number, option in enumerate(question.options, 1):
        if option.verdict == judgement.verdict:
            return str(number)
    return judgement.verdict


def _answer(
    cells: Mapping[str, str], question: Question, verdicts: VerdictSet, where: str
) -> tuple[str, str, str]:
    """Return verdict, edit and comment of a row; the verdict is empty if there is none."""
    text, edit, comment = (cells[name].strip() for name in ("verdict", "edit", "comment"))
    verdict: str | None = ""
    wanted = str(verdicts)
    if question.options:
        wanted = verdicts.of_options(question.options)
        if text not in ("", _WITHDRAWN):
            verdict = verdicts.read_option(text, question.options)
    elif text not in ("", _WITHDRAWN):
        verdict = verdicts.read(text)
    if verdict is None:
        raise BuildError(f"{where} has the verdict {excerpt(text)}, expected {wanted}, or nothing")
    if verdict in verdicts.edited and not edit:
        raise BuildError(f"{where} has the verdict '{verdict}' and no edit, expected the new text")
    if edit and verdict not in verdicts.edited:
        wanted = " or ".join(f"'{name}'" for name in sorted(verdicts.edited)) or "an empty edit"
        raise BuildError(
            f"{where} has the edit {excerpt(edit)} and the verdict {excerpt(verdict)}, expected "
            f"{wanted}"
        )
    return verdict, edit, comment
