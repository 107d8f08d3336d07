"""What a build dropped: every triple, with the step that took it and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boxpen.build.kg.config import KgConfig
from boxpen.build.kg.triples import (
    canonical_relation,
    scan_table,
    schema,
)
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["dropped_triples", "spoken"]

_DROPPED = ("dropped.parquet", "dropped-rank.parquet", "dropped-sample.parquet", "rejected.parquet")


def dropped_triples(
    config: KgConfig, *, step: str | None = None, relation: str | None = None, limit: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Return triples that the build dropped, with step and reason, and how many there are.

    Args:
        config: Of the build.
        step: Only what this step dropped.
        relation: Only triples of this relation.
        limit: How many to return; all if 0.

    Raises:
        BuildError: If no stage that drops anything has been done, or there is no such step.
    """
    import polars as pl

    if step == "language":
        return _in_other_languages(config, relation, limit)
    names = _DROPPED if config.review is not None else _DROPPED[:-1]  # of a review that is over
    files = [p for p in (config.folder / name for name in names) if p.is_file()]
    if not files:
        raise BuildError(f"nothing was dropped in {config.folder} yet; run the filter first")
    columns = [*schema(), "step", "reason"]
    found = pl.concat([scan_table(file, "step", "reason").select(columns) for file in files])
    if step is not None:
        known = found.select(pl.col("step").unique()).collect()["step"].sort().to_list()
        if step not in known:
            listed = ", ".join(known)
            raise BuildError(f"no triple was dropped by the step '{step}', but by {listed}")
        found = found.filter(pl.col("step") == step)
    if relation is not None:
        found = found.filter(pl.col("relation") == canonical_relation(relation))
    total = int(found.select(pl.len()).collect().item())
    return (found.head(limit) if limit else found).collect().to_dicts(), total


def _in_other_languages(
    config: KgConfig, relation: str | None, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Read the graphs again for what was skipped: most of a big one, and so written nowhere."""
    import polars as pl

    from boxpen.build.kg.read import read_graph

    rows: list[dict[str, Any]] = []
    total = 0
    for graph in config.graphs:
        for chunk in read_graph(graph, keep=spoken(config)):
            skipped = chunk.skipped()
            if relation is not None:
                skipped = skipped.filter(pl.col("relation") == canonical_relation(relation))
            total += int(skipped.select(pl.len()).collect().item())
            wanted = limit - len(rows) if limit else total
            if wanted > 0:
                rows += skipped.head(wanted).collect().to_dicts()
    said = "the language is {language}"
    return [{**row, "step": "language", "reason": said.format(**row)} for row in rows], total


def spoken(config: KgConfig) -> list[pl.Expr]:
    """Return what a row must be to be read at all."""
    import polars as pl

    if config.filter.language is None:
        return []
    return [pl.col("language").is_null() | (pl.col("language") == config.filter.language)]
