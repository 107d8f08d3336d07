"""Training data as items: tables of premises and hypotheses, of goals and solutions, and suites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from boxpen.errors import SuiteError, nearest
from boxpen.items import LABELS, Choice, Entail, Item
from boxpen.lm.classifier.rows import ENDINGS, Row, column_of, read_rows, text_of
from boxpen.printable import excerpt
from boxpen.text.lines import read_lines

__all__ = ["Examples", "read_choice", "read_nli"]

T = TypeVar("T", Choice, Entail)

# The names that published files use, the first one being ours.
_NLI = {
    "premise": ("premise", "sentence1"),
    "hypothesis": ("hypothesis", "sentence2"),
    "label": ("label", "gold_label"),
    "id": ("id", "pairID"),
    "block": ("block", "promptID"),
}
_CHOICE = {
    "goal": ("goal", "context", "question"),
    "label": ("label", "gold"),
    "id": ("id",),
    "block": ("block",),
    "candidates": (),
}
_CANDIDATE = re.compile(r"(sol|solution|candidate|option|choice|ending)_?(\d{1,2})", re.IGNORECASE)
_NO_GOLD = "-"  # what MultiNLI and SNLI write where the judges found no majority


@dataclass(frozen=True, slots=True)
class Examples(Generic[T]):
    """Training items.

    Attributes:
        items: The items, in the order of the file.
        read: How many rows or items the source has.
        skipped: How many of them have no gold label.
    """

    items: tuple[T, ...]
    read: int
    skipped: int = 0


def read_nli(
    source: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    label_order: Sequence[str] | None = None,
) -> Examples[Entail]:
    """Read premises, hypotheses and labels.

    Args:
        source: A ``.csv``, ``.tsv`` or ``.jsonl`` file with the columns premise, hypothesis and
            label (or sentence1, sentence2 and gold_label); or a suite: its file or name.
        columns: Other names of the columns ``premise``, ``hypothesis``, ``label``, ``id``,
            ``block``.
        label_order: What labels 0, 1 and 2 mean, where labels are numbers.

    Raises:
        SuiteError: If the source cannot be read, a column is missing, or a label is unknown.
    """
    names = _names(_NLI, columns, source)
    order = _order(label_order)
    rows = _rows(source, columns)
    if rows is None:
        return _suite(source, Entail, "premises and hypotheses")
    path = Path(source)
    found = {
        what: column_of(rows, names[what], path, what)
        for what in ("premise", "hypothesis", "label")
    } | _optional(rows, names, columns, path)
    items: list[Entail] = []
    skipped = 0
    for row in rows:
        label = _label(row, found["label"], order)
        if label is None:
            skipped += 1
            continue
        premise, hypothesis = text_of(row, found["premise"]), text_of(row, found["hypothesis"])
        items.append(
            Entail(premise=premise, hypothesis=hypothesis, label=label, **_identity(row, found))
        )
    return Examples(_checked(items, path), len(rows), skipped)


def read_choice(
    source: str | Path,
    *,
    labels: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    label_start: int = 0,
) -> Examples[Choice]:
    """Read goals, candidate solutions and the number of the right one.

    Args:
        source: A ``.csv``, ``.tsv`` or ``.jsonl`` file with the columns goal, sol1, sol2 and
            perhaps label; or a suite: its file or name.
        labels: A file with one label per line. By default ``NAME-labels.lst`` beside ``NAME.jsonl``
            where the file itself has no labels.
        columns: Other names of the columns ``goal``, ``label``, ``id``, ``block``; and
            ``candidates``, several names divided by commas.
        label_start: The number of the first candidate.

    Raises:
        SuiteError: If the source cannot be read, a column is missing, or a label is out of range.
    """
    names = _names(_CHOICE, columns, source)
    rows = _rows(source, columns)
    if rows is None:
        return _suite(source, Choice, "questions with candidates")
    path = Path(source)
    goal = column_of(rows, names["goal"], path, "goal")
    candidates = _candidates(rows, columns, path)
    golds = _golds(rows, names["label"], labels, path)
    found = _optional(rows, names, columns, path)
    items: list[Choice] = []
    for row, (where, gold) in zip(rows, golds, strict=True):
        texts = tuple(text_of(row, c) for c in candidates)
        if not re.fullmatch(r"\s*[0-9]{1,3}\s*", gold):
            raise SuiteError(
                f"{where} has label {excerpt(gold)}, expected the number of a candidate"
            )
        number = int(gold) - label_start
        if not 0 <= number < len(texts):
            raise SuiteError(
                f"{where} has label {excerpt(gold)}, expected {label_start} to "
                f"{label_start + len(texts) - 1}"
            )
        items.append(
            Choice(
                context=text_of(row, goal), candidates=texts, gold=number, **_identity(row, found)
            )
        )
    return Examples(_checked(items, path), len(rows))


def _names(
    known: Mapping[str, Sequence[str]], columns: Mapping[str, str] | None, source: str | Path
) -> dict[str, Sequence[str]]:
    out = dict(known)
    for what, name in (columns or {}).items():
        if what not in known:
            raise SuiteError(f"{source}: column '{what}' is unknown, {nearest(what, list(known))}")
        out[what] = (name,)
    return out


def _rows(source: str | Path, columns: Mapping[str, str] | None) -> list[Row] | None:
    """Return the rows of a table, or None for a suite."""
    path = Path(source)
    if path.suffix.lower() not in ENDINGS:
        return None
    rows = read_rows(path)
    own = {"kind", "candidates"} & set(rows[0].cells)
    return None if own and not columns else rows


def _suite(source: str | Path, kind: type[T], what: str) -> Examples[T]:
    from boxpen.catalog import load_suite

    suite = load_suite(source)
    items = tuple(item for item in suite if isinstance(item, kind))
    if len(items) < len(suite):
        other = next(item for item in suite if not isinstance(item, kind))
        raise SuiteError(
            f"suite '{source}' has the {other.kind} item '{other.id}', expected {what} only"
        )
    return Examples(items, len(items))


def _order(label_order: Sequence[str] | None) -> tuple[str, ...]:
    if label_order is None:
        return ()
    order = tuple(name.strip().lower() for name in label_order)
    if sorted(order) != sorted(LABELS):
        raise SuiteError(
            f"the order of labels is {', '.join(order)}, expected {', '.join(LABELS)} in some order"
        )
    return order


def _label(row: Row, column: str, order: tuple[str, ...]) -> str | None:
    """Return the name of a label, or None where the judges could not agree."""
    cell = row.cells.get(column)
    label = str(cell).strip().lower() if isinstance(cell, str | int) else ""
    if label in LABELS:
        return label
    if label == _NO_GOLD or (order and label == "-1"):
        return None
    if re.fullmatch("[0-9]", label) and not order:
        raise SuiteError(
            f"{row.where} has label {label}, a number; say what it means with "
            f"--label-order {','.join(LABELS)} (in the order of the file)"
        )
    if order and label in ("0", "1", "2"):
        return order[int(label)]
    expected = f"{', '.join(LABELS)}" + (", or 0 to 2" if order else "")
    raise SuiteError(f"{row.where} has label {excerpt(str(cell))}, expected {expected}")


def _candidates(rows: list[Row], columns: Mapping[str, str] | None, path: Path) -> list[str]:
    named = (columns or {}).get("candidates")
    if named is not None:
        wanted = [name.strip() for name in named.split(",")]
        return [column_of(rows, (name,), path, "candidates") for name in wanted]
    stems: dict[str, dict[int, str]] = {}
    for name in rows[0].cells:
        if match := _CANDIDATE.fullmatch(name):
            stems.setdefault(match[1].lower(), {})[int(match[2])] = name
    for numbered in stems.values():
        if len(numbered) > 1:
            return [numbered[index] for index in sorted(numbered)]
    raise SuiteError(
        f"{path} has no columns 'sol1' and 'sol2' (found: {', '.join(rows[0].cells)}); say which "
        "they are with --column candidates=NAME,NAME"
    )


def _golds(
    rows: list[Row], names: Sequence[str], labels: str | Path | None, path: Path
) -> list[tuple[str, str]]:
    """Return the label of every row as it is written, with its place."""
    column = next((name for name in names if name in rows[0].cells), None)
    beside = path.with_name(f"{path.stem}-labels.lst")
    if labels is None and column is None and beside.is_file():
        labels = beside
    if labels is None:
        column = column or column_of(rows, names, path, "label")
        return [(row.where, str(row.cells.get(column))) for row in rows]
    file = Path(labels)
    lines = [line for line in read_lines(file) if line.strip()]
    if len(lines) != len(rows):
        raise SuiteError(
            f"{file} has {len(lines)} label(s), expected {len(rows)}, one for each row of {path}"
        )
    return [(f"{file}, line {number}", line) for number, line in enumerate(lines, start=1)]


def _optional(
    rows: list[Row],
    names: Mapping[str, Sequence[str]],
    columns: Mapping[str, str] | None,
    path: Path,
) -> dict[str, str]:
    out: dict[str, str] = {}
    for what in ("id", "block"):
        if what in (columns or {}):
            out[what] = column_of(rows, names[what], path, what)
        else:
            present = [name for name in names[what] if name in rows[0].cells]
            if present:
                out[what] = present[0]
    return out


def _identity(row: Row, found: Mapping[str, str]) -> dict[str, Any]:
    cell = row.cells.get(found["id"]) if "id" in found else None
    block = row.cells.get(found["block"]) if "block" in found else None
    return {
        "id": str(row.number) if cell in (None, "") else str(cell),
        "block": None if block in (None, "") else str(block),
    }


def _checked(items: Iterable[T], path: Path) -> tuple[T, ...]:
    seen: set[str] = set()
    out = tuple(items)
    for item in out:
        if item.id in seen:
            raise SuiteError(f"{path} has the id '{item.id}' twice, expected each once")
        seen.add(item.id)
    if not out:
        raise SuiteError(f"{path} has no rows with a label, expected at least one")
    return out


def texts_of(item: Item) -> tuple[str, ...]:
    """Return every text of an item."""
    if isinstance(item, Entail):
        return item.premise, item.hypothesis
    if isinstance(item, Choice):
        return tuple(t for t in (item.context, item.source, *item.candidates) if t)
    return tuple(t for t in (item.context, item.source, item.reference) if t)
