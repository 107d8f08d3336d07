"""Lists of what a build dropped: tables with the columns ``step`` and ``reason``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from boxpen.build.tables import scan_columns
from boxpen.errors import BuildError, nearest
from boxpen.text.corpus import Pair

__all__ = ["find_dropped", "pairs_dropped_by"]

_BATCH = 50_000  # pairs per frame


def find_dropped(
    files: Sequence[Path],
    reread: Mapping[str, Callable[[], Iterable[pl.LazyFrame]]],
    step: str | None,
    where: Mapping[str, str],
    limit: int,
) -> tuple[list[dict[str, Any]], int]:
    """Return dropped rows, and how many there are; see ``Runner.dropped``.

    Args:
        files: The lists that stages have written.
        reread: Steps without a list, each with a function that reads what they dropped again.
        step: Only what this step dropped; everything in the lists if None.
        where: Only rows with these values in these columns, in upper or lower case.
        limit: How many rows to return; all if 0.
    """
    rows: list[dict[str, Any]] = []
    total = 0
    again = reread.get(step or "")
    for frame in again() if again else [_listed(files, list(reread), step)]:
        names = frame.collect_schema().names()
        for name, value in where.items():
            if name not in names:
                raise BuildError(f"dropped rows have no column '{name}', {nearest(name, names)}")
            text = pl.col(name).cast(pl.String).str.to_lowercase()
            frame = frame.filter(text == value.lower())
        total += int(frame.select(pl.len()).collect().item())
        wanted = limit - len(rows) if limit else total
        if wanted > 0:
            rows += frame.head(wanted).collect().to_dicts()
    return rows, total


def pairs_dropped_by(
    rule: str,
    pairs: Iterator[Pair],
    keep: Callable[[list[Pair]], Iterable[Pair]],
    counts: Callable[[], Mapping[str, int]],
) -> Iterator[pl.LazyFrame]:
    """Filter pairs again, and yield those that a rule drops.

    Args:
        rule: The rule.
        pairs: All pairs, in order.
        keep: Yields those that break no rule.
        counts: Returns how many each rule has dropped so far.
    """
    columns = ("step", "reason", "document", "line", "source", "target")
    while batch := list(islice(pairs, _BATCH)):
        rows = []
        for pair in batch:
            before = counts()[rule]
            if not list(keep([pair])) and counts()[rule] > before:
                told = (rule, f"broke the rule {rule}", pair.doc, pair.line)
                rows.append((*told, pair.source, pair.target))
        yield pl.LazyFrame(rows, schema=columns, orient="row")


def _listed(files: Sequence[Path], others: Sequence[str], step: str | None) -> pl.LazyFrame:
    """Return the rows of lists, or those of one step."""
    scans = [scan_columns(file, ["step", "reason"]) for file in files]
    found = pl.concat(scans, how="diagonal_relaxed")
    if step is None:
        return found
    known = found.select(pl.col("step").unique()).collect()["step"].sort().to_list()
    if step not in known:
        raise BuildError(
            f"the step '{step}' dropped nothing; steps that did: {', '.join([*known, *others])}"
        )
    return found.filter(pl.col("step") == step)
