"""Map table columns to the fields of items: given by the user, or found by their headers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any, Literal

from boxpen.errors import SuiteError, nearest
from boxpen.items import Choice, Entail, Item, Translate
from boxpen.printable import excerpt

__all__ = ["TAG", "Columns", "filled", "recognises"]

TAG = "tag:"  # a column 'tag:NAME' holds the values of the tag NAME
_MANY = ("candidates", "wrong", "contrast", "tags")
_NOT_COLUMNS = ("block_size", "gold_start", "language", "source_language")
_NUMBERED = re.compile(r"(sentence|sent|candidate|option|choice|ending)_?(\d{1,3})", re.IGNORECASE)
_LABELS = ("label", "gold")
_GOOD = ("good", "sentence_good", "good_sentence")
_BAD = ("bad", "sentence_bad", "bad_sentence")
_BLIMP = ("uid", "linguistics_term", "field")
"""Columns of BLiMP that say what a pair tests; they become tags."""
_NO_SOURCE = ("language", "dataset", "url", "id")

_Shape = Literal["candidates", "contrast pair", "entailment", "translation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table, by their names in its header.

    One of four sets makes an item: ``candidates`` and ``gold``; ``correct`` (or ``reference``) and
    ``wrong``; ``premise``, ``hypothesis`` and ``label``; ``source`` and ``reference``.

    Attributes:
        id: The item's id; the number of the row, from 1, if not given.
        block: Rows with the same value form a block.
        block_size: Number of consecutive rows in a block, instead of ``block``.
        source: The sentence that is translated.
        context: The preceding text.
        candidates: Two or more columns. Empty cells at the end of a row mean fewer candidates.
        gold: The number of the right candidate.
        gold_start: The number of the first candidate: 0, or 1 in files that count from 1.
        correct: The right candidate; it becomes candidate 0. (A tie earns 1/k, so that being
            first gives no advantage.)
        wrong: The other candidate, or several.
        premise: What entails or does not.
        hypothesis: What is entailed or not.
        label: ``entailment``, ``neutral`` or ``contradiction``, in letters of any case.
        reference: A right translation of the source.
        reference_context: The translation of the context.
        contrast: Wrong translations, minimally different from the reference.
        tags: Columns whose values become tags of that name.
        language: Not a column: the language of all candidates, as a code such as ``en``.
        source_language: Not a column: the language of all sources.
    """

    id: str | None = None
    block: str | None = None
    block_size: int | None = None
    source: str | None = None
    context: str | None = None
    candidates: tuple[str, ...] = ()
    gold: str | None = None
    gold_start: int = 0
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
        seen = {} if _shape(named) else _recognised(header)
        columns = cls(**(seen | named))
        columns._complain_if_unusable(header, where, way)
        return columns

    @property
    def used(self) -> frozenset[str]:
        """The names of the columns that are read."""
        values = (getattr(self, f.name) for f in fields(self) if f.name not in _NOT_COLUMNS)
        return frozenset(n for v in values if v for n in ((v,) if isinstance(v, str) else v))

    def item(self, cells: Mapping[str, str], number: int) -> Item:
        """Make an item of one row.

        Args:
            cells: The row, by column.
            number: The number of the row, from 1.

        Raises:
            SuiteError: If the label is not a number; the message does not name the row.
        """
        common: dict[str, Any] = {
            "id": cells[self.id] if self.id else str(number),
            "block": self._block(cells, number),
            "tags": {t: cells[t] for t in self.tags if cells[t]}
            | {k.removeprefix(TAG): v for k, v in cells.items() if k.startswith(TAG) and v},
        }
        one: dict[str, Any] = {
            name: cells[column] or None
            for name in ("source", "context", "reference_context")
            if (column := getattr(self, name))
        }
        if self.premise and self.hypothesis and self.label:
            label = cells[self.label].strip().lower()
            return Entail(
                premise=cells[self.premise],
                hypothesis=cells[self.hypothesis],
                label=label,
                **common,
            )
        right = self.correct or (self.reference if self.wrong else None)
        if right:
            wrong = filled([cells[w] for w in self.wrong])
            return Choice(candidates=(cells[right], *wrong), gold=0, **common, **one)
        if self.candidates and self.gold:
            gold = self._number(cells[self.gold])
            candidates = filled([cells[c] for c in self.candidates])
            return Choice(candidates=candidates, gold=gold, **common, **one)
        assert self.reference, "settled by find"
        contrast = filled([cells[c] for c in self.contrast])
        one["source"] = one["source"] or ""
        return Translate(reference=cells[self.reference], contrast=contrast, **common, **one)

    def _block(self, cells: Mapping[str, str], number: int) -> str | None:
        if self.block_size:
            return str((number - 1) // self.block_size + 1)
        return cells[self.block] or None if self.block else None

    def _number(self, cell: str) -> int:
        if not re.fullmatch(r"\s*-?[0-9]{1,9}\s*", cell):
            raise SuiteError(
                f"column '{self.gold}' is {excerpt(cell)}, expected the number of a candidate, "
                f"{self.gold_start} for the first"
            )
        return int(cell) - self.gold_start

    def _complain_if_unusable(self, header: Sequence[str], where: str, way: str) -> None:
        shape = _shape({f.name: getattr(self, f.name) for f in fields(self)})
        if shape is None:
            way = way or (
                f"boxpen suite import {shlex.quote(where)} --out {_out(where)} "
                "--correct COLUMN --wrong COLUMN (or --candidates COLUMN COLUMN --gold COLUMN)"
            )
            raise SuiteError(
                f"{where} has the columns {_listed(header)}, {_lacking(header)}; say which columns "
                f"they are with: {way}"
            )
        if self.reference_context and shape != "translation":
            raise SuiteError(f"{where}: reference_context goes with source and reference only")
        if self.block and self.block_size:
            raise SuiteError(
                f"{where}: block and block_size exclude each other, expected one of them"
            )


def filled(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells up to the last one that is not empty."""
    end = len(cells)
    while end and not cells[end - 1]:
        end -= 1
    return tuple(cells[:end])


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
            value = (value,) if isinstance(value, str) else tuple(value)
        elif not isinstance(value, str):
            raise SuiteError(f"{where}: option '{name}' is {value!r}, expected a name")
        out[name] = value
    return out


def _require(column: object, header: Sequence[str], where: str) -> None:
    if column not in header:
        known = [name for name in header if name]
        close = nearest(str(column), known) if known else "known: none."
        found = "" if close.startswith("known") else f" (found: {_listed(header)})"
        raise SuiteError(f"{where} has no column '{column}', {close}{found}")


def _recognised(header: Sequence[str]) -> dict[str, Any]:
    lower = {name.casefold(): name for name in header if name}
    out: dict[str, Any] = {n: lower[n] for n in ("id", "block", "context", "source") if n in lower}
    if all(name in lower for name in ("premise", "hypothesis", "label")):
        return {
            n: lower[n] for n in ("id", "block", "premise", "hypothesis", "label") if n in lower
        }
    correct, wrong = _right_and_wrong(lower)
    if len(correct) == 1 and len(wrong) == 1:
        sources = [
            v for k, v in lower.items() if "source" in k and not any(n in k for n in _NO_SOURCE)
        ]
        if sources:
            out.setdefault("source", sources[0])
        if correct[0] == lower.get(_GOOD[1]):
            out |= {"tags": tuple(lower[n] for n in _BLIMP if n in lower)}
        return out | {"correct": correct[0], "wrong": wrong}
    label = next((lower[n] for n in _LABELS if n in lower), None)
    stems: dict[str, dict[int, str]] = {}
    for name in header:
        if match := _NUMBERED.fullmatch(name):
            stems.setdefault(match[1].casefold(), {})[int(match[2])] = name
    for numbered in stems.values():
        # Only files that count from 0: where columns count from 1, a label may do either.
        if label and len(numbered) > 1 and sorted(numbered) == list(range(len(numbered))):
            candidates = tuple(numbered[i] for i in sorted(numbered))
            return out | {"candidates": candidates, "gold": label}
    return out


def recognises(header: Sequence[str]) -> bool:
    """Whether the columns can be found by the header alone."""
    return _shape(_recognised(header)) is not None


def _right_and_wrong(lower: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    wrong = tuple(v for k, v in lower.items() if k.endswith(("wrong", "incorrect")))
    correct = [v for k, v in lower.items() if k.endswith("correct") and v not in wrong]
    if not correct and not wrong:
        # Whole names only: BLiMP also has a 'one_prefix_word_good'.
        correct = [v for k, v in lower.items() if k in _GOOD]
        wrong = tuple(v for k, v in lower.items() if k in _BAD)
    return correct, wrong


def _lacking(header: Sequence[str]) -> str:
    """Return which columns are missing, for a message."""
    lower = {name.casefold(): name for name in header if name}
    correct, wrong = _right_and_wrong(lower)
    if correct and not wrong:
        return f"but none for the wrong candidates that go with '{correct[0]}'"
    if wrong and not correct:
        return f"but none for the right candidates that go with '{wrong[0]}'"
    if {"premise", "hypothesis"} & set(lower):
        missing = [n for n in ("premise", "hypothesis", "label") if n not in lower]
        return f"but none named {_listed(missing)}"
    if any(map(_NUMBERED.fullmatch, header)) and not any(n in lower for n in _LABELS):
        return "but none named 'label' or 'gold' with the number of the right one"
    return (
        "expected 'correct' and 'wrong', 'good' and 'bad', 'sent0', 'sent1' and 'label', or "
        "'premise', 'hypothesis' and 'label'"
    )


def _out(where: str) -> str:
    path = PurePath(where)
    return shlex.quote(path.stem + ("-suite" if path.suffix == ".jsonl" else "") + ".jsonl")


def _listed(header: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in header)
