"""A sample of the triples of every relation, independent of the order of the rows."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

import polars as pl

from boxpen.english.normal import normal_column

__all__ = ["By", "Sampled", "sample_triples"]

By = Literal["plausibility", "random", "weight"]


class Sampled(NamedTuple):
    """The triples drawn, by relation, first drawn first; the others; and relations in short supply.

    ``dropped`` has ``step`` and ``reason``. ``short`` has the relations with fewer triples than
    wanted, and how many they have.
    """

    table: pl.DataFrame
    dropped: pl.DataFrame
    short: dict[str, int]


def sample_triples(
    table: pl.DataFrame,
    per_relation: int | None,
    seed: int,
    *,
    by: By = "plausibility",
    per_head: int | None = 3,
    relations: tuple[str, ...] = (),
) -> Sampled:
    """Draw triples of every relation, spread over heads.

    A row's lot depends on the seed and its id alone, so that neither the order of the rows nor
    rows of other relations change what is drawn.

    Args:
        table: Triples.
        per_relation: How many of every relation; all if None.
        seed: Decides the lots.
        by: Which come first: the most plausible, the heaviest (rows without a number last), or by
            lot; lots also decide between equals.
        per_head: Maximum triples of a relation with the same head, up to inflection; no limit if
            None.
        relations: Expected relations: those without any row are short too.
    """
    lots = pl.Series([_lot(seed, name) for name in table["id"]], dtype=pl.UInt64)
    numbers = [] if by == "random" else [by]
    drawn = (
        table.with_columns(lots.alias("_lot"), normal_column(table["head"]).alias("_head"))
        .with_columns(pl.col(name).fill_nan(None) for name in numbers)
        .sort(
            ["relation", *numbers, "_lot", "origin", "line"],
            descending=[False, *[True for _ in numbers], False, False, False],
            nulls_last=True,
            maintain_order=True,
        )
        .with_columns(_of_head=pl.int_range(pl.len()).over("relation", "_head"))
        .with_columns(
            step=pl.lit("sample"),
            reason=pl.when(pl.col("_of_head") >= (per_head or table.height)).then(
                pl.lit(f"{per_head} triples with this head are drawn already")
            ),
        )
    )
    free = pl.col("reason").is_null()
    drawn = drawn.with_columns(_place=free.cum_sum().over("relation")).with_columns(
        reason=pl.when(free & (pl.col("_place") > (per_relation or table.height)))
        .then(pl.lit(f"{per_relation} triples of this relation are drawn already"))
        .otherwise("reason")
    )
    drawn = drawn.drop("_lot", "_head", "_of_head", "_place")
    taken = drawn.filter(free).drop("step", "reason")
    counts = dict.fromkeys((*relations, *table["relation"].unique().sort()), 0)
    counts |= dict(taken.group_by("relation").len().sort("relation").iter_rows())
    short = {name: count for name, count in counts.items() if count < (per_relation or 0)}
    return Sampled(taken, drawn.filter(~free), short)


def _lot(seed: int, name: str) -> int:
    digest = hashlib.blake2b(f"{seed}\t{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
