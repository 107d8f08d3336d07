"""So many triples of every relation, drawn the same way whatever the order of the rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["By", "Sampled", "sample_triples"]

By = Literal["plausibility", "random", "weight"]

_DRAWN = ("_lot", "_head", "_of_head", "_place")


@dataclass(frozen=True)
class Sampled:
    """What was drawn.

    Attributes:
        table: The triples drawn, by relation, first drawn first.
        dropped: The others, with ``step`` and ``reason``.
        short: Relations with fewer triples than were wanted, and how many they have.
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
        by: Who comes first: the likeliest, the heaviest (rows without a number last), or whoever
            has the first lot; lots also decide between equals.
        per_head: Most triples of a relation with the same head, up to inflection; no limit if
            None.
        relations: Relations that should be there: those with no row at all are short too.

    Raises:
        BuildError: If the table lacks the column to go by, or a number is less than one.
    """
    import polars as pl

    from boxpen.english.normal import normal_column

    _check(table, per_relation, per_head, by)
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
    taken = drawn.filter(free).drop(*_DRAWN, "step", "reason")
    counts = dict.fromkeys((*relations, *table["relation"].unique().sort()), 0)
    counts |= dict(taken.group_by("relation").len().sort("relation").iter_rows())
    short = {name: count for name, count in counts.items() if count < (per_relation or 0)}
    return Sampled(taken, drawn.filter(~free).drop(_DRAWN), short)


def _lot(seed: int, name: str) -> int:
    digest = hashlib.blake2b(f"{seed}\t{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _check(table: pl.DataFrame, per_relation: int | None, per_head: int | None, by: str) -> None:
    if by not in get_args(By):
        raise BuildError(f"triples are drawn by '{by}', expected {', '.join(get_args(By))}")
    if by != "random" and by not in table.columns:
        raise BuildError(
            f"triples cannot be drawn by {by}: the table has no column '{by}', "
            f"it has {', '.join(table.columns)}"
        )
    for name, value in (("per_relation", per_relation), ("per_head", per_head)):
        if value is not None and value < 1:
            raise BuildError(f"{name} is {value}, expected 1 or more")
