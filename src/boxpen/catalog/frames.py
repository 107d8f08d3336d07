"""Original data sets in the frames of CATs (Zhou et al. 2020): whole sentences to choose from.

- ``wsc``: the Winograd schemas (``WSCollection.xml``), an answer in the place of the pronoun.
  ``wsc-paper`` writes it as the paper does: answers in lower case, 'Bill turn' for 'his turn',
  line breaks dropped, so that words run together.
- ``arct``: Argument Reasoning Comprehension (``test.tsv``), "reason, and since warrant 0, claim"
  against "reason, but since warrant 1, claim".
- ``swag``: SWAG as published (``val.csv``), the beginning and one of four endings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from boxpen.catalog.tabular import table_rows
from boxpen.errors import SuiteError, nearest
from boxpen.items import Card, Choice, Suite
from boxpen.printable import excerpt
from boxpen.text.lines import read_lines

__all__ = ["FRAMES", "read_frame"]

_ARTICLES = {"the", "a", "an", "his", "her", "my", "your", "our", "their", "this", "that", "no"}


def read_frame(path: Path, frame: str) -> Suite:
    """Read an original file as a suite of the paper's form.

    Raises:
        SuiteError: If there is no such frame, or the file is not of its form.
    """
    if frame not in FRAMES:
        raise SuiteError(f"there is no frame '{frame}', {nearest(frame, list(FRAMES))}")
    card = Card(language="en", notes=f"{path.name} in the frame '{frame}' of CATs")
    return Suite(path.stem, tuple(FRAMES[frame](path)), card).validate()


def _wsc(path: Path, *, paper: bool) -> Iterator[Choice]:
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}") from None
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # or an unknown encoding
        raise SuiteError(f"{path} is not the XML of Winograd schemas ({error})") from None
    schemas = root.findall("schema")
    if not schemas:
        raise SuiteError(f"{path} has no <schema>, expected WSCollection.xml")
    before: tuple[list[str], str, str] = ([], "", "")  # answers and texts of the schema before
    block = ""
    for number, schema in enumerate(schemas, start=1):
        answers = [" ".join((one.text or "").split()) for one in schema.findall("answers/answer")]
        start, end = (schema.findtext(f"text/{name}") or "" for name in ("txt1", "txt2"))
        letter = (schema.findtext("correctAnswer") or "").strip()[:1]
        if len(answers) < 2 or not letter or letter not in "ABCDE"[: len(answers)]:
            raise SuiteError(
                f"{path}, schema {number} has {len(answers)} answer(s) and the right one "
                f"'{letter}', expected two or more and a letter"
            )
        key = f"wsc-{number:03}"
        # Variants share their answers, and what is before or after the pronoun.
        texts = " ".join(start.split()), " ".join(end.split())
        if answers != before[0] or (texts[0] != before[1] and texts[1] != before[2]):
            block = key
        before = (answers, *texts)
        owner = (schema.findtext("text/pron") or "").strip() in {"his", "her"}
        join = _paper_wsc if paper else partial(_clean_wsc, owner=owner)
        yield Choice(
            id=key,
            candidates=tuple(join(start, answer, end) for answer in answers),
            gold="ABCDE".index(letter),
            block=block,
        )


def _paper_wsc(start: str, answer: str, end: str) -> str:
    return " ".join(part.replace("\n", "").strip() for part in (start, answer.lower(), end))


def _clean_wsc(start: str, answer: str, end: str, *, owner: bool) -> str:
    """Put an answer in the place of a pronoun; in all schemas 'his' and 'her' are possessives."""
    answer += "'s" if owner else ""
    start, end = " ".join(start.split()), " ".join(end.split())
    opens = not start or start[-1] in ".!?"
    first, _, rest = answer.partition(" ")
    first = first.capitalize() if opens else first.lower() if first.lower() in _ARTICLES else first
    gap = "" if end[:1] in tuple(".,;!?'") else " "
    return f"{start} {first} {rest}".strip() + gap + end


def _arct(path: Path) -> Iterator[Choice]:
    wanted = ("#id", "warrant0", "warrant1", "correctLabelW0orW1", "reason", "claim")
    for where, row in _rows(path, "\t", wanted):
        reason = row["reason"].strip().rstrip(".")
        yield Choice(
            id=row["#id"],
            candidates=(
                f"{reason}, and since {row['warrant0']}, {row['claim']}",
                f"{reason}, but since {row['warrant1']}, {row['claim']}",
            ),
            gold=_label(row["correctLabelW0orW1"], 2, where),
        )


def _swag(path: Path) -> Iterator[Choice]:
    endings = [f"ending{n}" for n in range(4)]
    for number, (where, row) in enumerate(_rows(path, ",", ("startphrase", *endings, "label")), 1):
        yield Choice(
            id=f"swag-{number:05}",
            candidates=tuple(f"{row['startphrase'].strip()} {row[name]}" for name in endings),
            gold=_label(row["label"], 4, where),
        )


def _rows(
    path: Path, delimiter: str, wanted: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table by column, each with its place; ARCT quotes nothing in its TSV."""
    records: Iterator[tuple[int, list[str]]] = (
        ((number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1))
        if delimiter == "\t"
        else table_rows(path, delimiter)
    )
    _, header = next(records, (0, []))
    for name in wanted:
        if name not in header:
            raise SuiteError(f"{path} has no column '{name}', expected {', '.join(wanted)}")
    for line, cells in records:
        if len(cells) != len(header):
            raise SuiteError(f"{path}, line {line} has {len(cells)} cell(s), not {len(header)}")
        yield f"{path}, line {line}", dict(zip(header, cells, strict=True))


def _label(cell: str, count: int, where: str) -> int:
    if cell not in map(str, range(count)):
        raise SuiteError(f"{where} has the label {excerpt(cell)}, expected 0 to {count - 1}")
    return int(cell)


FRAMES: dict[str, Callable[[Path], Iterator[Choice]]] = {
    "wsc": partial(_wsc, paper=False),
    "wsc-paper": partial(_wsc, paper=True),
    "arct": _arct,
    "swag": _swag,
}
