"""The steps of the filter that compare rows with one another.

They have the shape of the others (a frame and the configuration in, a column of reasons out), but
the frame is all that is left. Rows are compared by 64-bit hashes of their normal forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from boxpen.build.kg.filter.config import FilterConfig

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ASYMMETRIC", "affirmed", "contradiction", "duplicate", "near_duplicate", "pair_keys"]

ASYMMETRIC = ("isa", "instanceof", "partof", "hasa", "madeof", "createdby")
"""Relations that cannot hold both ways."""

_NOT = "not"
_ROW = "_row"


def duplicate(table: pl.DataFrame, config: FilterConfig) -> pl.Series:  # noqa: ARG001
    """Of rows with the same relation, head and tail the heaviest stays."""
    import polars as pl

    key = table.select(key=pl.concat_str("relation", "head", "tail", separator="\t").hash())["key"]
    return _all_but_first(table, key, pl.format("the same triple stands in line {}", "line"))


def near_duplicate(table: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Of rows that say the same in other words the heaviest stays."""
    import polars as pl

    if config.keep_near_duplicates:
        return pl.Series("reason", [None] * table.height, dtype=pl.String)
    same = pl.format("'{}' and '{}' say the same", "head", "tail")
    return _all_but_first(table, pair_keys(table), same)


def contradiction(
    table: pl.DataFrame, config: FilterConfig, denied: pl.Series | None = None
) -> pl.Series:
    """Of rows that deny each other none stays.

    Args:
        table: What is left.
        config: The configuration.
        denied: Keys of pairs that a row of a negative relation denies which was not asked for
            and so is not in the table.
    """
    import polars as pl

    if config.keep_contradictions:
        return pl.Series("reason", [None] * table.height, dtype=pl.String)
    negative = pl.col("relation").str.starts_with(_NOT)
    keys = table.select(
        "relation", negative=negative, key=affirmed(table), back=affirmed(table, turned=True)
    )
    outside = pl.Series([], dtype=pl.UInt64) if denied is None else denied
    said = keys.filter(~pl.col("negative"))["key"].unique()
    unsaid = pl.concat([keys.filter("negative")["key"], outside]).unique()
    opposed = (
        pl.when("negative")
        .then(pl.col("key").is_in(said.implode()))
        .otherwise(pl.col("key").is_in(unsaid.implode()))
    )
    both_ways = pl.col("relation").is_in(ASYMMETRIC) & pl.col("back").is_in(said.implode())
    return keys.select(
        reason=pl.when(opposed)
        .then(pl.lit("another triple denies it"))
        .when(both_ways)
        .then(pl.format("{} is claimed both ways", "relation"))
    )["reason"]


def pair_keys(table: pl.DataFrame) -> pl.Series:
    """Return a hash of each row's relation and normal head and tail."""
    return _keys(table, table["relation"], "head", "tail")


def affirmed(table: pl.DataFrame, *, turned: bool = False) -> pl.Series:
    """Return the key of what each row says or denies: equal for desires and notdesires.

    Args:
        table: Triples.
        turned: Whether head and tail change places.
    """
    base = table["relation"].str.strip_prefix(_NOT)
    return _keys(table, base, *(("tail", "head") if turned else ("head", "tail")))


def _keys(table: pl.DataFrame, relation: pl.Series, first: str, second: str) -> pl.Series:
    import polars as pl

    from boxpen.english.normal import unordered_column

    return table.select(
        key=pl.concat_str(
            relation,
            unordered_column(table[first]),
            unordered_column(table[second]),
            separator="\t",
        ).hash()
    )["key"]


def _all_but_first(table: pl.DataFrame, key: pl.Series, why: pl.Expr) -> pl.Series:
    """Give a reason to all rows of a key but the heaviest one, then the shortest, then by name.

    Which one stays does not depend on the order of the rows.

    Args:
        table: All that is left.
        key: What equal rows have in common.
        why: The reason, made of the row that stays.
    """
    import polars as pl

    by = ["weight", "_length", "head", "tail", "origin", "line"]
    several = key.is_duplicated()  # few: to sort all rows would take their memory once more
    ranked = (
        table.select(
            pl.int_range(pl.len()).alias(_ROW),
            pl.col("weight").fill_nan(None),
            *("head", "tail", "origin", "line"),
            key.alias("_key"),
            _length=pl.col("head").str.len_chars() + pl.col("tail").str.len_chars(),
        )
        .filter(several)
        .rechunk()
        .sort(by, descending=[True, *[False] * 5], nulls_last=True, maintain_order=True)
    )
    later = pl.int_range(pl.len()).over("_key") > 0
    best = why.first().over("_key").fill_null("another row says the same")
    worse = ranked.select(_ROW, reason=best).filter(ranked.select(later).to_series())
    reasons = pl.Series("reason", [None], dtype=pl.String).new_from_index(0, table.height)
    return reasons.scatter(worse[_ROW], worse["reason"])
