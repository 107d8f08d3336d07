"""The steps of the filter that look at one row at a time.

A step takes a frame and the configuration and returns a column of reasons: null where the row
stays, and where it goes one clause that says why. Frames are chunks of the triple table with two
columns more from ``self_loop`` on: the normal forms of head and tail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from boxpen.build.kg.filter.config import FilterConfig

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "NORMAL_HEAD",
    "NORMAL_TAIL",
    "Step",
    "blank",
    "language",
    "length",
    "none",
    "relation",
    "self_loop",
    "weight",
]

Step = Callable[["pl.DataFrame", FilterConfig], "pl.Series"]

NORMAL_HEAD = "_head"
NORMAL_TAIL = "_tail"

NOTHING = (
    *("none", "n/a", "na", "n.a", "nothing", "null", "nil", "nan", "unknown", "not applicable"),
    *("no one", "noone", "nobody", "nowhere", "no effect", "nothing happens", "no answer"),
)
_LETTER = r"[\p{L}\p{N}_]"  # or a blank, which is another step's
_PLACEHOLDER = r"(?i)\bperson ?[xyz]\b"
_PEOPLE = ("personx", "persony", "personz")


def relation(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows of other relations go."""
    import polars as pl

    if not config.relations:
        return _nobody(chunk)
    return _reasons(
        chunk,
        ~pl.col("relation").is_in(config.relations),
        pl.format("the relation is {}", "relation"),
    )


def language(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows in other languages go; those of unknown language stay."""
    import polars as pl

    if config.language is None:
        return _nobody(chunk)
    other = pl.col("language").is_not_null() & (pl.col("language") != config.language)
    return _reasons(chunk, other, pl.format("the language is {}", "language"))


def weight(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows that weigh too little go."""
    import polars as pl

    if config.min_weight is None:
        return _nobody(chunk)
    light = pl.col("weight") < config.min_weight
    why = pl.format("the weight is {}, less than {}", "weight", pl.lit(config.min_weight))
    if config.keep_unweighted:
        return _reasons(chunk, light.fill_null(False), why)
    no_number = pl.col("weight").is_null() | pl.col("weight").is_nan()
    return _reasons(
        chunk,
        light | no_number,
        pl.when(no_number).then(pl.lit("there is no weight")).otherwise(why),
    )


def blank(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows that leave something open go, and people X, Y and Z where no event is told."""
    import polars as pl

    gap = pl.lit(False)
    if not config.keep_blanks:
        gap = pl.col("head").str.contains("___", literal=True) | pl.col("tail").str.contains(
            "___", literal=True
        )
    # Relations of events alone are spelled with a capital letter: xAttr, HinderedBy.
    thing = ~pl.col("relation").str.contains("[A-Z]")
    person = pl.col("head").str.contains(_PLACEHOLDER) | pl.col("tail").str.contains(_PLACEHOLDER)
    return _reasons(
        chunk,
        gap | (thing & person),
        pl.when(gap)
        .then(pl.lit("something is left open: ___"))
        .otherwise(pl.format("{} is no relation of events, but a PersonX is named", "relation")),
    )


def none(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:  # noqa: ARG001
    """Rows whose head or tail says nothing go."""
    import polars as pl

    def bare(name: str) -> pl.Expr:
        return pl.col(name).str.to_lowercase().str.strip_chars(" \t.,;:!?-'\"()")

    no_head, no_tail = (~pl.col(name).str.contains(_LETTER) for name in ("head", "tail"))
    nothing = bare("tail").is_in(NOTHING)
    return _reasons(
        chunk,
        no_head | no_tail | nothing,
        pl.when(no_head)
        .then(pl.lit("the head has no word"))
        .when(no_tail)
        .then(pl.lit("the tail has no word"))
        .otherwise(pl.format("the tail is '{}'", "tail")),
    )


def self_loop(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows that relate a thing to itself go: 'dog' and 'dogs', or 'apple tree' and 'tree'."""
    import polars as pl

    def words(name: str) -> pl.Expr:
        return (
            pl.col(name).str.split(" ").list.set_difference(pl.lit([*_PEOPLE], pl.List(pl.String)))
        )

    head, tail = NORMAL_HEAD, NORMAL_TAIL
    same = pl.col(head) == pl.col(tail)
    within = pl.lit(False)
    if not config.keep_contained and config.english:
        left, right = words(head), words(tail)
        inside = (left.list.set_difference(right).list.len() == 0) | (
            right.list.set_difference(left).list.len() == 0
        )
        within = inside & (left.list.len() > 0) & (right.list.len() > 0)
    return _reasons(
        chunk,
        same | within,
        pl.when(same)
        .then(pl.lit("head and tail are the same"))
        .otherwise(pl.lit("one of head and tail says no more than the other")),
    )


def length(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with too short or too long a head or tail go."""
    import polars as pl

    reasons = []
    for name, most in (("head", config.max_head_words), ("tail", config.max_tail_words)):
        words = pl.col(name).str.count_matches(r"\S+")
        characters = pl.col(name).str.len_chars()
        few = pl.format(f"the {name} has {{}} words, fewer than {config.min_words}", words)
        reasons.append(pl.when(words < config.min_words).then(few))
        if most is not None:
            many = pl.format(f"the {name} has {{}} words, more than {most}", words)
            reasons.append(pl.when(words > most).then(many))
        if config.max_characters is not None:
            limit = config.max_characters
            long = pl.format(f"the {name} has {{}} characters, more than {limit}", characters)
            reasons.append(pl.when(characters > limit).then(long))
    return chunk.select(reason=pl.coalesce(reasons))["reason"]


def _reasons(chunk: pl.DataFrame, goes: pl.Expr, why: pl.Expr) -> pl.Series:
    import polars as pl

    return chunk.select(reason=pl.when(goes).then(why))["reason"]


def _nobody(chunk: pl.DataFrame) -> pl.Series:
    """The column of reasons that lets all rows stay."""
    import polars as pl

    return pl.Series("reason", [None] * chunk.height, dtype=pl.String)
