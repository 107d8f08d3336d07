"""The tables of a run: verdicts, records, translations and tokens, as Polars frames and Parquet."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import RunError, nearest
from boxpen.metrics.summary import Translation
from boxpen.runs.info import RunInfo
from boxpen.scoring.ask import Answer
from boxpen.scoring.labels import NAMES
from boxpen.scoring.reading import Reading
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "COLUMNS",
    "RunContent",
    "parquet",
    "read_answers",
    "read_candidates",
    "read_readings",
    "read_translations",
    "read_verdicts",
    "run_frame",
]

# Kinds of columns; with a question mark, the column may hold nulls.
COLUMNS = {
    "verdicts": {
        "id": "str", "block": "str?", "gold": "int", "scores": "scores", "winner": "int",
        "tied": "int", "credit": "float", "margin": "float", "truncated": "bool",
        "crossing": "bool", "also": "strs", "tags": "str",
    },
    "records": {
        "item": "str", "candidate": "int", "role": "str", "prefix": "str", "text": "str",
        "source": "str?", "token_ids": "ints", "logprobs": "floats", "unscored": "int",
        "unknown": "int", "truncated": "bool", "crossing": "bool", "dtype": "str",
    },
    "translations": {
        "id": "str", "source": "str", "reference": "str", "translation": "str",
        "language": "str?", "tags": "str", "context": "str?", "reference_context": "str?",
    },
    "answers": {
        "item": "str", "order": "int", "prompt": "str", "text": "str", "outcome": "str",
        "chosen": "int?", "place": "int?",
    },
    "readings": {
        "id": "str", "block": "str?", "gold": "int", "candidates": "strs", "scores": "scores",
        "chosen": "int?", "by": "str",
    },
    "tokens": {
        "item": "str", "candidate": "int", "role": "str", "position": "int", "token_id": "int",
        "token": "str", "logprob": "single",
    },
}  # fmt: skip
_CHUNK = 1 << 14  # rows that are Python objects at a time
_LATER = frozenset(
    ("context", "reference_context", "also", "dtype")
)  # which earlier versions did not write


@dataclass(frozen=True)
class RunContent:
    """What a run directory holds.

    Attributes:
        info: How the run was made: suite, model, recipe, policy, signature, what was left out and
            why, lint findings, versions, time.
        verdicts: One per judged item.
        candidates: The scored candidates of every item, by its id; of an entailment item its one
            pair of premise and hypothesis.
        translations: The sources as a translation model translated them.
        tokens: The texts of the candidates' tokens, if the model provides them.
        answers: The answers of a model that was asked, in every order; its candidates have no
            scored tokens.
        readings: What the reading judge made of free translations, if they were judged.
    """

    info: RunInfo
    verdicts: tuple[Verdict, ...]
    candidates: Mapping[str, Sequence[Scored]]
    translations: tuple[Translation, ...] = ()
    tokens: Mapping[int, str] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    readings: tuple[Reading, ...] = ()


def run_frame(run: RunContent, table: str) -> pl.DataFrame:
    """Return a table of a run: verdicts, records, translations, answers, readings or tokens.

    Raises:
        RunError: If there is no such table.
    """
    if table not in COLUMNS:
        raise RunError(f"table '{table}' is unknown, {nearest(table, list(COLUMNS))}")
    rows: Iterable[Mapping[str, Any]]
    if table == "verdicts":
        rows = ({**asdict(v), "tags": json.dumps(dict(v.tags))} for v in run.verdicts)
    elif table == "translations":
        rows = ({**asdict(t), "tags": json.dumps(dict(t.tags))} for t in run.translations)
    elif table == "answers":
        rows = map(asdict, run.answers)
    elif table == "readings":
        rows = map(asdict, run.readings)
    elif table == "records":
        rows = (_record_row(*found) for found in _records(run))
    else:
        texts = dict(enumerate(NAMES)) if run.info.model.labels else run.tokens
        rows = (
            dict(
                zip(
                    COLUMNS[table],
                    (item, index, role, at, token, texts.get(token), lp),
                    strict=True,
                )
            )
            for item, index, role, _, record in _records(run)
            for at, (token, lp) in enumerate(
                zip(record.token_ids.tolist(), record.logprobs.tolist(), strict=True)
            )
        )
    return _frame(rows, COLUMNS[table])


def _records(run: RunContent) -> Iterator[tuple[str, int, str, Scored, Record]]:
    """Yield every record: item, number of the candidate, role, candidate, record."""
    for item, members in run.candidates.items():
        for index, scored in enumerate(members):
            yield item, index, "candidate", scored, scored.record
            if scored.unconditional is not None:
                yield item, index, "unconditional", scored, scored.unconditional


def _record_row(
    item: str, index: int, role: str, scored: Scored, record: Record
) -> dict[str, object]:
    return {
        "item": item,
        "candidate": index,
        "role": role,
        "prefix": scored.prefix,
        "text": scored.text,
        "source": scored.source,
        "token_ids": record.token_ids.tolist(),
        "logprobs": record.logprobs.tolist(),
        "unscored": record.unscored,
        "unknown": record.unknown,
        "truncated": record.truncated,
        "crossing": record.crossing,
        "dtype": scored.dtype,
    }


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a frame as the content of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


Table = Path | Iterable[Mapping[str, Any]]
"""A Parquet file, or rows as ``run_frame`` has them."""


def read_verdicts(table: Table) -> tuple[Verdict, ...]:
    """Read the table of verdicts."""
    known: dict[str, dict[str, str]] = {}
    return tuple(
        Verdict(
            **row
            | {"scores": tuple(row["scores"]), "also": tuple(row.get("also", ()))}
            | {"tags": _tags(row, known)}
        )
        for row in _rows(table, "verdicts")
    )


def read_translations(table: Table) -> tuple[Translation, ...]:
    """Read the table of translations."""
    known: dict[str, dict[str, str]] = {}
    return tuple(
        Translation(**{**row, "tags": _tags(row, known)}) for row in _rows(table, "translations")
    )


def read_answers(table: Table) -> tuple[Answer, ...]:
    """Read the table of answers; only runs of asked questions have it."""
    if isinstance(table, Path) and not table.is_file():
        return ()
    return tuple(Answer(**row) for row in _rows(table, "answers"))


def read_readings(table: Table) -> tuple[Reading, ...]:
    """Read the table of readings; only runs of judged translations have it."""
    if isinstance(table, Path) and not table.is_file():
        return ()
    return tuple(
        Reading(**{**row, "candidates": tuple(row["candidates"]), "scores": tuple(row["scores"])})
        for row in _rows(table, "readings")
    )


def read_candidates(table: Table) -> dict[str, list[Scored]]:
    """Read the table of records; join them to items by id and place, never by line order."""
    found: dict[str, dict[int, dict[str, Scored]]] = {}
    same: dict[str, str] = {}  # a context is that of many items, and would be in memory as often
    for row in _rows(table, "records"):
        record = Record(
            token_ids=np.array(row["token_ids"], dtype=np.int32),
            logprobs=np.array(row["logprobs"], dtype=np.float32),
            unscored=row["unscored"],
            unknown=row["unknown"],
            truncated=row["truncated"],
            crossing=row["crossing"],
        )
        if len(record.token_ids) != len(record.logprobs):
            raise ValueError(f"a record of item '{row['item']}' is damaged")
        prefix, dtype = row["prefix"], row.get("dtype", "")
        prefix, dtype = same.setdefault(prefix, prefix), same.setdefault(dtype, dtype)
        scored = Scored(row["text"], record, None, prefix, row["source"], dtype)
        roles = found.setdefault(row["item"], {}).setdefault(row["candidate"], {})
        if row["role"] in roles:
            raise ValueError(f"candidate {row['candidate']} of '{row['item']}' has two records")
        roles[row["role"]] = scored
    return {item: _candidates_of(item, found.pop(item)) for item in list(found)}


def _candidates_of(item: str, found: Mapping[int, Mapping[str, Scored]]) -> list[Scored]:
    if lacking := set(range(len(found))) - found.keys():
        raise ValueError(f"item '{item}' has no candidate {min(lacking)}")
    out = []
    for index in range(len(found)):
        roles = found[index]
        scored, free = roles["candidate"], roles.get("unconditional")
        out.append(scored if free is None else replace(scored, unconditional=free.record))
    return out


def _rows(table: Table, name_of_table: str) -> Iterator[dict[str, Any]]:
    import polars as pl

    columns = COLUMNS[name_of_table]
    if not isinstance(table, Path):
        frame = _frame(table, columns)
    elif not table.is_file():  # Polars has several messages for this
        raise FileNotFoundError("there is no such file")
    else:
        # Not by its path: Polars takes only those that are UTF-8.
        frame = pl.read_parquet(io.BytesIO(table.read_bytes()))
    for name, kind in columns.items():
        if name in frame.columns:
            _check_column(frame[name], kind.removesuffix("?"), nullable=kind.endswith("?"))
        elif name not in _LATER:
            raise KeyError(name)
    return frame.iter_rows(named=True)  # a few hundred at a time


def _check_column(column: pl.Series, kind: str, *, nullable: bool) -> None:
    """Raise if a column is of another type, or holds a null or a number that is not finite."""
    import polars as pl

    expected = _types()[kind]
    if column.dtype != expected and not (nullable and column.dtype == pl.Null):
        raise TypeError(f"column '{column.name}' is of {column.dtype}, expected {expected}")
    if not nullable and column.null_count():
        raise ValueError(
            f"column '{column.name}' is null in row {(column.is_null().arg_max() or 0) + 1}"
        )
    values = column.explode(empty_as_null=False) if isinstance(expected, pl.List) else column
    if values is not column and values.null_count():
        raise ValueError(f"column '{column.name}' has a list with a null")
    if values.dtype.is_float() and not values.is_finite().all():
        raise ValueError(f"column '{column.name}' has a number that is not finite")


def _tags(row: Mapping[str, Any], known: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the tags of a row; equal ones are one object."""
    if row["tags"] in known:
        return known[row["tags"]]
    tags = json.loads(row["tags"])
    if not isinstance(tags, dict) or not all(isinstance(value, str) for value in tags.values()):
        raise TypeError(f"item '{row['id']}' has tags that are not texts")
    known[row["tags"]] = tags
    return tags


def _types() -> dict[str, Any]:
    import polars as pl

    return {
        "str": pl.String(),
        "int": pl.Int64(),
        "float": pl.Float64(),
        "single": pl.Float32(),
        "bool": pl.Boolean(),
        "ints": pl.List(pl.Int32()),
        "floats": pl.List(pl.Float32()),
        "scores": pl.List(pl.Float64()),
        "strs": pl.List(pl.String()),
    }


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    types = _types()
    schema = {name: types[kind.removesuffix("?")] for name, kind in columns.items()}
    every = iter(rows)
    parts = [pl.DataFrame(schema=schema)]
    while few := list(itertools.islice(every, _CHUNK)):
        parts.append(pl.DataFrame(few, schema=schema))
    return pl.concat(parts)
