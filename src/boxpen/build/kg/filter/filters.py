"""The filter: drops triples that make no test, each with the step and the reason.

The steps run in this order, and a triple goes at the first that has a reason.

Row by row (``RowFilter``, chunk after chunk):
    relation, language, weight: what was asked for.
    none, blank: nothing is said, or something is left open.
    self-loop: head and tail are the same thing.
    length, symbols: too long or too short; digits, addresses, markup, foreign letters.
    talk, fragment: 'you', 'this'; nodes that break off.
    blocklist, profanity, spelling: words that are unwanted, unfit or not English.
Over all remaining rows (``filter_pairs``):
    duplicate, near-duplicate: the heaviest stays.
    contradiction: desires and notdesires, or isa both ways: both go.

Rows that deny others (``notdesires``) count for the last step even if their relation was not asked
for, provided that language and weight are right: only the hashes of their pairs are kept, the rows
themselves go at the step ``relation``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from boxpen.build.kg.filter.config import FilterConfig, check_relations
from boxpen.build.kg.filter.pairs import affirmed, contradiction, duplicate, near_duplicate
from boxpen.build.kg.filter.steps import NORMAL, ROW_STEPS, language, weight
from boxpen.build.kg.triples import scan_table, schema
from boxpen.english.normal import normal_column
from boxpen.errors import BuildError

__all__ = [
    "STEPS", "FilterConfig", "FilterReport", "Filtered", "RowFilter", "dropped_schema",
    "filter_pairs", "filter_triples",
]  # fmt: skip

STEPS = (*ROW_STEPS, "duplicate", "near-duplicate", "contradiction")
"""All steps, in their order."""

CHUNK = 200_000
"""Rows to read at a time."""


@dataclass
class FilterReport:
    """How many triples came in, stayed, and went at each step.

    Attributes:
        rows: How many came in.
        steps: How many went, by step in the order of the steps, and by relation.
        kept_by_relation: How many stayed.
        absent: Relations that were asked for and that the graph does not have.
    """

    rows: int = 0
    steps: dict[str, Counter[str]] = field(default_factory=lambda: {s: Counter() for s in STEPS})
    kept_by_relation: dict[str, int] = field(default_factory=dict)
    absent: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """How many stayed."""
        return sum(self.kept_by_relation.values())

    @property
    def totals(self) -> dict[str, int]:
        """How many went, by step."""
        return {step: by.total() for step, by in self.steps.items()}

    def add(self, dropped: pl.DataFrame) -> None:
        """Count rows that went."""
        for step, relation, count in dropped.group_by("step", "relation").len().iter_rows():
            self.steps[step][relation] += count

    def as_dict(self) -> dict[str, object]:
        """Return this report as plain values, for JSON."""
        by_relation = {step: dict(sorted(by.items())) for step, by in self.steps.items() if by}
        return {
            "rows": self.rows,
            "kept": self.kept,
            "dropped": self.totals,
            "dropped_by_relation": by_relation,
            "kept_by_relation": self.kept_by_relation,
            "absent": list(self.absent),
        }

    def __str__(self) -> str:
        taken = ", ".join(f"{step} {count:,}" for step, count in self.totals.items() if count)
        return f"{self.rows:,} triples, {self.kept:,} kept; dropped: {taken or 'none'}"


class Filtered(NamedTuple):
    """The triples that stay, in their order, and how many went where."""

    kept: pl.DataFrame
    report: FilterReport


def filter_triples(
    triples: Path | Iterable[pl.DataFrame],
    config: FilterConfig,
    drop: Callable[[pl.DataFrame], None] = lambda _: None,
) -> Filtered:
    """Keep the triples of which tests can be made.

    Args:
        triples: A Parquet file of the triple table, or its chunks one after the other.
        config: What triples must be like.
        drop: Called with the rows that go, which have the columns of ``dropped_schema``.

    Raises:
        BuildError: If a relation is unknown, or if nothing is left, with what each step took.
    """
    if isinstance(triples, Path):  # reports a typo before millions of rows are read
        relations = scan_table(triples).select(pl.col("relation").unique()).collect()["relation"]
        check_relations(config.relations, relations)
        triples = _read_chunks(triples)
    row_filter = RowFilter(config)
    report = FilterReport()
    kept = [pl.DataFrame(schema=schema())]
    found: set[str] = set()
    for chunk in triples:
        report.rows += chunk.height
        found.update(chunk["relation"].unique().drop_nulls())
        stays, goes = row_filter.apply(chunk)
        kept.append(stays)
        report.add(goes)
        drop(goes)
    if not report.rows:
        raise BuildError("the graph has no triples")
    report.absent = check_relations(config.relations, found)
    table = pl.concat(kept).rechunk()
    kept.clear()  # or it would be there twice
    table, goes = filter_pairs(table, config, denied=row_filter.denied)
    report.add(goes)
    drop(goes)
    report.kept_by_relation = dict(sorted(table.group_by("relation").len().iter_rows()))
    if not table.height:
        last = next(step for step in reversed(STEPS) if report.totals[step])
        raise BuildError(f"no triple is left, the last went at step '{last}': {report}")
    return Filtered(table, report)


class RowFilter:
    """The steps that look at one row at a time, over chunk after chunk."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self._denied = [pl.Series([], dtype=pl.UInt64)]

    @property
    def denied(self) -> pl.Series:
        """Keys of the pairs that rows seen so far deny, of relations not asked for."""
        return pl.concat(self._denied).unique()

    def apply(self, chunk: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows that stay and those that go, with ``step`` and ``reason``."""
        self._remember_denials(chunk)
        columns = chunk.columns
        gone = [_divided(chunk[:0], "", pl.Series([], dtype=pl.String))[1]]
        for name, step in ROW_STEPS.items():
            if name == "self-loop":  # most rows have gone by now, and need no normal form
                forms = {form: normal_column(chunk[side]) for side, form in NORMAL.items()}
                chunk = chunk.with_columns(**forms)
            if (reason := step(self.config)) is not None:
                chunk, goes = _divided(chunk, name, chunk.select(reason=reason)["reason"])
                gone.append(goes.select(*columns, "step", "reason"))
        return chunk.select(columns), pl.concat(gone)

    def _remember_denials(self, chunk: pl.DataFrame) -> None:
        """Keep the hashes of what rows deny that the first step takes away."""
        asked = self.config.relations
        if self.config.keep_contradictions or not asked:
            return
        opposite = [f"not{name}" for name in asked if f"not{name}" not in asked]
        deniers = chunk.filter(pl.col("relation").is_in(opposite)).rechunk()
        for step in (language, weight):  # rows that would be dropped deny nothing
            if (reason := step(self.config)) is not None:
                deniers = deniers.filter(reason.is_null()).rechunk()
        if deniers.height:
            self._denied.append(affirmed(deniers))


def filter_pairs(
    table: pl.DataFrame, config: FilterConfig, *, denied: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that stay and those that go when rows are compared with one another.

    Args:
        table: All rows that the other steps left.
        config: What triples must be like.
        denied: ``RowFilter.denied``.
    """
    table, gone = _divided(table, "duplicate", duplicate(table))
    if not config.keep_near_duplicates:
        table, goes = _divided(table, "near-duplicate", near_duplicate(table))
        gone = pl.concat([gone, goes])
    if not config.keep_contradictions:
        table, goes = _divided(table, "contradiction", contradiction(table, denied))
        gone = pl.concat([gone, goes])
    return table, gone


def dropped_schema() -> dict[str, Any]:
    """Return the columns of a table of dropped triples with their Polars types."""
    return schema() | {"step": pl.String, "reason": pl.String}


def _divided(
    frame: pl.DataFrame, step: str, reasons: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame]:
    goes = reasons.is_not_null()
    dropped = frame.with_columns(pl.lit(step).alias("step"), reasons.alias("reason")).filter(goes)
    # In one piece: Polars' format panics on frames with an empty piece.
    return frame.filter(~goes).rechunk(), dropped


def _read_chunks(path: Path) -> Iterator[pl.DataFrame]:
    """Read a Parquet file, some rows at a time."""
    lazy = scan_table(path)
    height = lazy.select(pl.len()).collect().item()
    for start in range(0, max(height, 1), CHUNK):
        yield lazy.slice(start, CHUNK).collect()
