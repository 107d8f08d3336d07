"""The filter: triples that no test can be made of go, each with the step and the reason.

The steps are taken in this order, and a triple goes at the first that has a reason.

Row by row (``RowFilter``, chunk after chunk):
    relation, language, weight: what was asked for.
    none, blank: nothing is said, or something is left open.
    self-loop: head and tail are the same thing.
    length, symbols: too long or too short; digits, addresses, markup, foreign letters.
    talk, fragment: 'you', 'this'; nodes that break off.
    blocklist, profanity, spelling: words that are not wanted, not fit, not English.
Over all that is left (``filter_pairs``):
    duplicate, near-duplicate: the heaviest stays.
    contradiction: desires and notdesires, or isa both ways: both go.

Rows that deny others (``notdesires``) count for the last step although their relation was not
asked for, if they are in the language asked for and heavy enough to be believed: only the hashes
of their pairs are kept, the rows themselves go at the step ``relation``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.build.kg.filter import pairs as pairs
from boxpen.build.kg.filter import rows as rows
from boxpen.build.kg.filter import words as words
from boxpen.build.kg.filter.config import FilterConfig, check_relations
from boxpen.build.kg.filter.report import FilterReport
from boxpen.build.kg.triples import scan_table
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.sink import ParquetSink

__all__ = [
    "STEPS",
    "FilterConfig",
    "FilterReport",
    "Filtered",
    "RowFilter",
    "filter_pairs",
    "filter_triples",
]

_ROW_STEPS: dict[str, rows.Step] = {
    "relation": rows.relation,
    "language": rows.language,
    "weight": rows.weight,
    "none": rows.none,
    "blank": rows.blank,
    "self-loop": rows.self_loop,
    "length": rows.length,
    "symbols": words.symbols,
    "talk": words.talk,
    "fragment": words.fragment,
    "blocklist": words.blocklist,
    "profanity": words.profanity,
    "spelling": words.spelling,
}
_PAIR_STEPS = ("duplicate", "near-duplicate", "contradiction")

STEPS = (*_ROW_STEPS, *_PAIR_STEPS)
"""All steps, in their order."""

CHUNK = 200_000
"""Rows that are read at a time."""


@dataclass(frozen=True)
class Filtered:
    """What a filter made of a graph.

    Attributes:
        kept: The triples that stay, in the order in which they came.
        dropped: Those that went, with ``step`` and ``reason``; None where a sink took them.
        report: How many went where.
    """

    kept: pl.DataFrame
    dropped: pl.DataFrame | None
    report: FilterReport


def filter_triples(
    triples: pl.DataFrame | Path | Iterable[pl.DataFrame],
    config: FilterConfig,
    *,
    sink: ParquetSink | None = None,
) -> Filtered:
    """Keep the triples of which tests can be made.

    Args:
        triples: A table, a Parquet file of one, or its chunks one after the other.
        config: What triples must be like.
        sink: Takes what goes (a file of ``filter_report.dropped_schema``); without one
            it is held in memory.

    Raises:
        BuildError: If a relation is unknown, or if nothing is left, with what each step took.
    """
    import polars as pl

    if isinstance(triples, Path):  # a slip is told before millions of rows are read
        relations = scan_table(triples).select(pl.col("relation").unique()).collect()["relation"]
        check_relations(config.relations, relations)
    row_filter = RowFilter(config)
    counts = _Counts()
    memory: list[pl.DataFrame] = []
    kept: list[pl.DataFrame] = []

    def drop(frame: pl.DataFrame) -> None:
        counts.add(frame)
        if sink is None:
            memory.append(frame)
        else:
            sink.add(frame)

    for chunk in _chunks(triples):
        counts.came(chunk)
        stays, goes = row_filter.apply(chunk)
        kept.append(stays)
        drop(goes)
    absent = check_relations(config.relations, counts.relations)
    table = pl.concat(kept).rechunk()
    kept.clear()  # or it would be there twice
    table, goes = filter_pairs(table, config, denied=row_filter.denied)
    drop(goes)
    report = counts.report(table, absent)
    if not table.height:
        last = next((step for step in reversed(STEPS) if report.totals[step]), None)
        if last is None:
            raise BuildError("the graph has no triples")
        raise BuildError(f"no triple is left, the last went at step '{last}': {report}")
    return Filtered(table, pl.concat(memory) if sink is None else None, report)


class RowFilter:
    """The steps that look at one row at a time, over chunk after chunk.

    Args:
        config: What triples must be like.
    """

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self._denied: list[pl.Series] = []

    @property
    def denied(self) -> pl.Series:
        """Keys of the pairs that rows seen so far deny, of relations not asked for."""
        import polars as pl

        empty = pl.Series([], dtype=pl.UInt64)
        return pl.concat([empty, *self._denied]).unique()

    def apply(self, chunk: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows that stay and those that go, with ``step`` and ``reason``."""
        from boxpen.english.normal import normal_column

        self._remember_denials(chunk)
        columns = chunk.columns
        gone: list[pl.DataFrame] = []
        for name, step in _ROW_STEPS.items():
            if name == "self-loop":  # most rows have gone by now, and need no normal form
                chunk = chunk.with_columns(
                    normal_column(chunk["head"]).alias(rows.NORMAL_HEAD),
                    normal_column(chunk["tail"]).alias(rows.NORMAL_TAIL),
                )
            chunk, goes = _parted(chunk, name, step(chunk, self.config))
            gone.append(goes.select(*columns, "step", "reason"))
        return chunk.select(columns), _stacked(gone)

    def _remember_denials(self, chunk: pl.DataFrame) -> None:
        """Keep the hashes of what rows deny that the first step takes away."""
        import polars as pl

        asked = self.config.relations
        if self.config.keep_contradictions or not asked:
            return
        opposite = [f"not{name}" for name in asked if f"not{name}" not in asked]
        deniers = chunk.filter(pl.col("relation").is_in(opposite)).rechunk()
        for step in (rows.language, rows.weight):  # what is not believed denies nothing
            deniers = deniers.filter(step(deniers, self.config).is_null()).rechunk()
        if deniers.height:
            self._denied.append(pairs.affirmed(deniers))


def filter_pairs(
    table: pl.DataFrame, config: FilterConfig, *, denied: pl.Series | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that stay and those that go when rows are compared with one another.

    Args:
        table: All rows that the other steps left.
        config: What triples must be like.
        denied: ``RowFilter.denied``.
    """
    steps: tuple[rows.Step, ...] = (
        pairs.duplicate,
        pairs.near_duplicate,
        partial(pairs.contradiction, denied=denied),
    )
    gone: list[pl.DataFrame] = []
    for name, step in zip(_PAIR_STEPS, steps, strict=True):
        table, goes = _parted(table, name, step(table, config))
        gone.append(goes)
    return table, _stacked(gone)


@dataclass
class _Counts:
    """What came and went so far."""

    rows: int = 0
    relations: set[str] = field(default_factory=set)
    went: dict[str, Counter[str]] = field(default_factory=lambda: {s: Counter() for s in STEPS})

    def came(self, chunk: pl.DataFrame) -> None:
        self.rows += chunk.height
        self.relations.update(chunk["relation"].unique().drop_nulls())

    def add(self, dropped: pl.DataFrame) -> None:
        for step, relation, count in dropped.group_by("step", "relation").len().iter_rows():
            self.went[step][relation] += count

    def report(self, kept: pl.DataFrame, absent: tuple[str, ...]) -> FilterReport:
        left = dict(sorted(kept.group_by("relation").len().iter_rows()))
        steps: Mapping[str, Mapping[str, int]] = {
            step: dict(sorted(by.items())) for step, by in self.went.items()
        }
        return FilterReport(self.rows, kept.height, steps, left, absent)


def _parted(
    frame: pl.DataFrame, step: str, reasons: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame]:
    import polars as pl

    goes = reasons.is_not_null()
    dropped = frame.with_columns(pl.lit(step).alias("step"), reasons.alias("reason")).filter(goes)
    # In one piece: Polars' format panics on frames of which a piece is empty.
    return frame.filter(~goes).rechunk(), dropped


def _stacked(frames: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.concat(frames)


def _chunks(triples: pl.DataFrame | Path | Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    import polars as pl

    if isinstance(triples, pl.DataFrame):
        yield from triples.iter_slices(CHUNK) if triples.height else (triples,)
    elif isinstance(triples, Path):
        yield from _read_chunks(triples)
    else:
        empty = True
        for chunk in triples:
            empty = False
            yield chunk
        if empty:
            raise BuildError("the graph has no triples")


def _read_chunks(path: Path) -> Iterator[pl.DataFrame]:
    """Read a Parquet file some rows at a time."""
    import polars as pl

    lazy = scan_table(path)
    height = lazy.select(pl.len()).collect().item()
    for start in range(0, max(height, 1), CHUNK):
        yield lazy.slice(start, CHUNK).collect()
