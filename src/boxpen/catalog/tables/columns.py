"""Map table columns to the fields of items: given by the user, or found by their headers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, NamedTuple

from boxpen.catalog.rows import Row
from boxpen.catalog.tables.cells import (
    CONNECTIVES,
    RELATIONS,
    cell_list,
    cell_of,
    cell_text,
    connected,
    filled,
    filled_gap,
    going_on,
    is_english,
)  # fmt: skip
from boxpen.catalog.tables.golds import Label, right_candidates
from boxpen.catalog.tables.headers import NUMBERED, import_command, lacking, listed, recognised
from boxpen.errors import SuiteError, nearest
from boxpen.items import Choice, Entail, Item, Translate
from boxpen.printable import excerpt, printable

__all__ = ["TAG", "Columns"]

TAG = "tag:"  # a column 'tag:NAME' holds the values of the tag NAME
_MANY = ("candidates", "wrong", "contrast", "context", "tags")
_NOT_COLUMNS = ("block_size", "gold_start", "language", "source_language")

_Shape = Literal["candidates", "contrast pair", "entailment", "translation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table, by their names in its header.

    ``errors.text`` names the key ``text`` of the object, or of each object, in ``errors``.

    One of four sets makes an item: ``candidates`` and ``gold``; ``correct`` (or ``reference``) and
    ``wrong``; ``premise``, ``hypothesis`` and ``label``; ``source`` and ``reference``.

    Attributes:
        id: The item's id; the number of the row, from 1, if not given.
        block: Rows with the same value form a block.
        block_size: Number of consecutive rows in a block, instead of ``block``.
        source: The sentence that is translated.
        context: The preceding text; several columns are joined by a space.
        candidates: Two or more columns, or one with lists. Empty cells at the end of a row mean
            fewer candidates. A list may name its candidates: ``{"text": [...], "label": [...]}``.
        gold: The number or the letter of the right candidate, or its name in such a list.
        gold_start: The number of the first candidate, 0 or 1. If not given: 0 where the columns
            count from 0, else as the labels of the whole file show.
        gap: A sentence with a gap, ``_``, that the candidates fill.
        relation: ``cause`` or ``effect``: 'because' or 'so', or their words in another language
            of XCOPA, follow the context. If no language is given, only English is recognised.
        correct: The right candidate; it becomes candidate 0. (A tie earns 1/k, so that being
            first gives no advantage.)
        wrong: The other candidate, or several: columns, or one with lists.
        premise: What entails or does not.
        hypothesis: What is entailed or not.
        label: ``entailment``, ``neutral`` or ``contradiction``, in letters of any case.
        reference: A right translation of the source.
        reference_context: The translation of the context.
        contrast: Wrong translations, minimally different from the reference, likewise.
        tags: Columns whose values become tags of that name.
        language: Not a column: the language of all candidates, as a code such as ``en``.
        source_language: Not a column: the language of all sources.
    """

    id: str | None = None
    block: str | None = None
    block_size: int | None = None
    source: str | None = None
    context: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    gold: str | None = None
    gold_start: int | None = None
    gap: str | None = None
    relation: str | None = None
    correct: str | None = None
    wrong: tuple[str, ...] = ()
    premise: str | None = None
    hypothesis: str | None = None
    label: str | None = None
    reference: str | None = None
    reference_context: str | None = None
    contrast: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    language: str | None = None
    source_language: str | None = None

    @classmethod
    def find(
        cls, header: Sequence[str], options: Mapping[str, Any], where: str, way: str = ""
    ) -> Columns:
        """Return the columns that the options name, the rest as the header shows them.

        Args:
            header: The names of the columns.
            options: The fields of ``Columns`` by name.
            where: The file, for messages.
            way: How to say which column is which, if ``where`` is not a file.

        Raises:
            SuiteError: If an option or a column is unknown, or no item can be made of them.
        """
        named = _checked(options, where)
        for option, columns in named.items():
            if option not in _NOT_COLUMNS:
                for column in [columns] if isinstance(columns, str) else columns:
                    _require(column, header, where)
        seen = {} if _shape(named) else recognised(header)
        columns = cls(**(seen | named))
        columns._complain_if_unusable(header, where, way)
        return columns

    def rows(
        self, places: Sequence[str], cells: Sequence[Mapping[str, Any]], file: str, way: str = ""
    ) -> list[Row]:
        """Make an item of every row of a file.

        Args:
            places: Where each row is, for messages.
            cells: The rows, by column: texts, numbers, lists, or None.
            file: The file.
            way: How to say what labels count from, if ``file`` is not a file.

        Raises:
            SuiteError: If a cell is not what its column holds; the message names the row.
        """
        read: list[_Read] = []
        for where, row in zip(places, cells, strict=True):
            try:
                read.append(self._read(row))
            except SuiteError as error:
                raise SuiteError(f"{where}: {error}") from None
        golds = [0] * len(read)
        if self.gold and _shape(self._fields()) == "candidates":
            labels = [
                Label(where, one.gold, len(one.candidates), one.names)
                for where, one in zip(places, read, strict=True)
            ]
            known = recognised(list(cells[0])) if cells else {}
            named = () if known.get("candidates") == self.candidates else self._named()
            start = self._start()
            if start is None:
                ask = import_command((), file, *named, "--gold-start", "1")
                way_out = way or f"{ask} (or --gold-start 0)"
            else:
                ask = import_command((), file, *named, "--gold-start", "0")
                way_out = "gold_start=0" if way else ask
            golds = right_candidates(labels, self.gold, start, way_out)
        if self.relation:
            read = self._connected(read, file, way)
        return [
            Row(where, self._item(one, gold, number))
            for number, (where, one, gold) in enumerate(
                zip(places, read, golds, strict=True), start=1
            )
        ]

    def _fields(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def _named(self) -> list[str]:
        """Return the options of the command line that name these columns."""
        out: list[str] = []
        for name in ("candidates", "gold", "gap", "context", "id", "block", "source", "tags"):
            value = getattr(self, name)
            if value:
                values = (value,) if isinstance(value, str) else value
                out += [f"--{name}", *values]
        return out

    def _start(self) -> int | None:
        """Return the number of the first candidate, if it is certain before labels are read."""
        if self.gold_start is not None:
            return self.gold_start
        numbers = [NUMBERED.fullmatch(name) for name in self.candidates]
        return 0 if any(match and int(match[2]) == 0 for match in numbers) else None

    def _connected(self, read: list[_Read], file: str, way: str) -> list[_Read]:
        """Put the word for because or so after the contexts; if it is unknown, tell the user."""
        if self.language is not None:
            language = self.language.casefold().replace("_", "-").split("-")[0]
        elif is_english([" ".join((one.one["context"] or "", *one.candidates)) for one in read]):
            language = "en"
        else:
            language = ""
        if language in CONNECTIVES:
            return [one.connected(language) for one in read]
        lost = "left out, so causes and effects are asked for alike"
        if language:
            _note(
                f"{file}: boxpen does not know the words for 'because' and 'so' in "
                f"'{printable(language)}'; they are {lost}"
            )
        else:
            named = 'language="en"' if way else import_command((), file, "--language", "en")
            _note(
                f"{file}: the language is not recognised, and the words for 'because' and 'so' "
                f"are {lost}; name the language with: {named}"
            )
        return read

    def _read(self, cells: Mapping[str, Any]) -> _Read:
        """Return the texts of one row, by what they are."""

        def text(column: str | None) -> str:
            return "" if column is None else cell_text(cell_of(cells, column), column)

        def texts(columns: tuple[str, ...]) -> tuple[str, ...]:
            if len(columns) == 1 and isinstance(cell := cell_of(cells, columns[0]), list):
                return cell_list(cell, columns[0])[0]
            return filled([text(c) for c in columns])

        names: tuple[str, ...] = ()
        if len(self.candidates) == 1:
            column = self.candidates[0]
            candidates, names = cell_list(cell_of(cells, column), column)
        else:
            candidates = texts(self.candidates)
        if self.gap:
            candidates = tuple(filled_gap(text(self.gap), c, self.gap) for c in candidates)
        tags = {t: text(t) for t in self.tags}
        tags |= {k.removeprefix(TAG): text(k) for k in cells if k.startswith(TAG)}
        if self.relation:
            tags[self.relation] = relation = text(self.relation)
            if relation not in RELATIONS:
                raise SuiteError(
                    f"column '{self.relation}' is {excerpt(relation)}, expected cause or effect"
                )
        before = [text(c) for c in self.context]
        one = {
            "source": text(self.source) or None,
            "context": " ".join(filter(None, before)) or None,
            "reference_context": text(self.reference_context) or None,
        }
        return _Read(
            candidates=candidates,
            names=names,
            gold=text(self.gold),
            relation=text(self.relation),
            id=text(self.id),
            block=text(self.block),
            tags={k: v for k, v in tags.items() if v},
            one=one,
            right=text(self.correct or self.reference),
            wrong=texts(self.wrong),
            contrast=texts(self.contrast),
            inference=(text(self.premise), text(self.hypothesis), text(self.label)),
        )

    def _item(self, read: _Read, gold: int, number: int) -> Item:
        """Make an item of what was read of one row.

        Args:
            read: The row.
            gold: The right candidate.
            number: The number of the row, from 1.
        """
        block = str((number - 1) // self.block_size + 1) if self.block_size else read.block or None
        common: dict[str, Any] = {
            "id": read.id if self.id else str(number), "block": block, "tags": read.tags
        }  # fmt: skip
        one = {k: v for k, v in read.one.items() if k != "reference_context"}
        shape = _shape(self._fields())
        if shape == "entailment":
            premise, hypothesis, label = read.inference
            label = label.strip().lower()
            return Entail(premise=premise, hypothesis=hypothesis, label=label, **common)
        if shape == "contrast pair":
            return Choice(candidates=(read.right, *read.wrong), gold=0, **common, **one)
        if shape == "candidates":
            return Choice(candidates=read.candidates, gold=gold, **common, **one)
        translated = read.one | {"source": read.one["source"] or ""}
        return Translate(reference=read.right, contrast=read.contrast, **common, **translated)

    def _complain_if_unusable(self, header: Sequence[str], where: str, way: str) -> None:
        shape = _shape(self._fields())
        if shape is None:
            raise SuiteError(
                f"{where} has the columns {listed(header)}, {lacking(header)}; say which columns "
                f"they are with: {way or import_command(header, where)}"
            )
        if self.reference_context and shape != "translation":
            raise SuiteError(f"{where}: reference_context only works with source and reference")
        if self.gap and shape != "candidates":
            raise SuiteError(f"{where}: gap only works with candidates and gold")
        if self.block and self.block_size:
            raise SuiteError(
                f"{where}: block and block_size exclude each other, expected one of them"
            )


class _Read(NamedTuple):
    """The texts of one row, by what they are."""

    candidates: tuple[str, ...]
    names: tuple[str, ...]
    gold: str
    relation: str
    id: str
    block: str
    tags: dict[str, str]
    one: dict[str, Any]
    right: str
    wrong: tuple[str, ...]
    contrast: tuple[str, ...]
    inference: tuple[str, str, str]

    def connected(self, language: str) -> _Read:
        """Return a row of COPA as the beginning of a sentence and its possible ends."""
        context = connected(self.one["context"] or "", self.relation, language)
        candidates = tuple(going_on(c, language) for c in self.candidates)
        return self._replace(candidates=candidates, one=self.one | {"context": context})


def _shape(named: Mapping[str, Any]) -> _Shape | None:
    def have(*names: str) -> bool:
        return all(named.get(name) for name in names)

    if have("premise", "hypothesis", "label"):
        return "entailment"
    if have("correct", "wrong") or have("reference", "wrong"):
        return "contrast pair"
    if have("candidates", "gold"):
        return "candidates"
    return "translation" if have("source", "reference") else None


def _checked(options: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = [f.name for f in fields(Columns)]
    out: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise SuiteError(f"{where}: option '{name}' is unknown, {nearest(name, known)}")
        if value is None or value == () or value == []:
            continue
        if name in ("block_size", "gold_start"):
            least = 2 if name == "block_size" else 0
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SuiteError(f"{where}: {name} is {value!r}, expected {least} or more")
        elif name in _MANY:
            if not isinstance(value, str | list | tuple):
                raise SuiteError(f"{where}: option '{name}' is {value!r}, expected names")
            value = (value,) if isinstance(value, str) else tuple(value)
        elif not isinstance(value, str):
            raise SuiteError(f"{where}: option '{name}' is {value!r}, expected a name")
        out[name] = value
    return out


@cache
def _note(text: str) -> None:
    """Tell the user once, however often the file is read."""
    print(printable(text), file=sys.stderr)


def _require(column: object, header: Sequence[str], where: str) -> None:
    if column not in header and str(column).partition(".")[0] not in header:
        known = [name for name in header if name]
        close = nearest(str(column), known) if known else "known: none."
        found = "" if close.startswith("known") else f" (found: {listed(header)})"
        raise SuiteError(f"{where} has no column '{column}', {close}{found}")
