"""The steps of the filter that compare all remaining rows with one another.

Each returns a column of reasons: null for rows that stay. Rows are compared by 64-bit hashes of
their normal forms.
"""

from __future__ import annotations

import polars as pl

from boxpen.english.normal import unordered_column

__all__ = ["affirmed", "contradiction", "duplicate", "near_duplicate"]

ASYMMETRIC = ("isa", "instanceof", "partof", "hasa", "madeof", "createdby")
"""Relations that cannot hold both ways."""

_NOT = "not"
_ROW = "_row"


def duplicate(table: pl.DataFrame) -> pl.Series:
    """Keep the heaviest of rows with the same relation, head and tail."""
    key = table.select(key=pl.concat_str("relation", "head", "tail", separator="\t").hash())["key"]
    return _all_but_first(table, key, pl.format("line {} has the same triple", "line"))


def near_duplicate(table: pl.DataFrame) -> pl.Series:
    """Keep the heaviest of rows that say the same in other words."""
    same = pl.format("'{}' and '{}' say the same", "head", "tail")
    return _all_but_first(table, _keys(table, table["relation"], "head", "tail"), same)


def contradiction(table: pl.DataFrame, denied: pl.Series) -> pl.Series:
    """Keep none of rows that deny each other.

    Args:
        table: All remaining rows.
        denied: Keys of pairs that rows of relations not asked for deny.
    """
    negative = pl.col("relation").str.starts_with(_NOT)
    keys = table.select(
        "relation", negative=negative, key=affirmed(table), back=affirmed(table, reverse=True)
    )
    said = keys.filter(~pl.col("negative"))["key"].unique()
    unsaid = pl.concat([keys.filter("negative")["key"], denied]).unique()
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


def affirmed(table: pl.DataFrame, *, reverse: bool = False) -> pl.Series:
    """Return the key of what each row says or denies: equal for desires and notdesires.

    Args:
        table: Triples.
        reverse: Whether head and tail change places.
    """
    base = table["relation"].str.strip_prefix(_NOT)
    return _keys(table, base, *(("tail", "head") if reverse else ("head", "tail")))


def _keys(table: pl.DataFrame, relation: pl.Series, first: str, second: str) -> pl.Series:
    nodes = unordered_column(table[first]), unordered_column(table[second])
    return table.select(key=pl.concat_str(relation, *nodes, separator="\t").hash())["key"]


def _all_but_first(table: pl.DataFrame, key: pl.Series, why: pl.Expr) -> pl.Series:
    """Give a reason to all rows of a key but the heaviest, then the shortest, then by name.

    Which one stays does not depend on the order of the rows.

    Args:
        table: All remaining rows.
        key: What equal rows have in common.
        why: The reason, in terms of the row that stays.
    """
    by = ["weight", "_length", "head", "tail", "origin", "line"]
    several = key.is_duplicated()  # few: sorting all rows would need their memory once more
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
