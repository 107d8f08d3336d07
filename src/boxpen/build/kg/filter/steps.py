"""The steps of the filter that look at one row at a time.

A step takes the configuration and returns an expression over the triple table: null for rows that
stay, and the reason, in one clause, for rows that go. It returns None if it does not apply. From
``self_loop`` on there are two more columns: the normal forms of head and tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from boxpen.build.kg.filter.config import FilterConfig
from boxpen.english.normal import normal
from boxpen.english.vocabulary import misspelt_word, profane_words

__all__ = ["NORMAL", "ROW_STEPS", "Step", "language", "weight"]

Step = Callable[[FilterConfig], "pl.Expr | None"]

NORMAL = {"head": "_head", "tail": "_tail"}
"""The columns of the normal forms."""

NOTHING = (
    *("none", "n/a", "na", "n.a", "nothing", "null", "nil", "nan", "unknown", "not applicable"),
    *("no one", "noone", "nobody", "nowhere", "no effect", "nothing happens", "no answer"),
)
_LETTER = r"[\p{L}\p{N}_]"  # or a blank, which is another step's
_PLACEHOLDER = r"(?i)\bperson ?[xyz]\b"
_PEOPLE = ("personx", "persony", "personz")

_URL = r"(?i)https?:|www\.|\.(?:com|org|net|edu|gov)\b"
_DIGIT = r"\p{Nd}"
_FOREIGN = r"[\p{L}--\p{Latin}]"
_MARK = r"[^\p{L}\p{M}\p{Nd}\s.,;:!?'’\"&()/-]"

_SPEAKING = "i|me|my|myself|we|us|our|ours|ourselves|you|your|yours|yourself|yourselves"
_NAMELESS = (
    "mine|this|that|these|those|it|its|itself|he|him|his|himself|she|her|hers|herself|they|them|"
    "their|theirs|themselves|there|here|who|whom|whose|what|which|one|ones|something|anything|"
    "everything|thing|things|someone|anyone|everyone|somebody|anybody|everybody"
)
_TALK = rf"(?i)(?:^|[^\w'])({_SPEAKING})(?:$|[^\w])"
_ALONE = rf"(?i)^\W*(?:a |an |the |all )?({_NAMELESS})\W*$"
_LEADING = r"(?i)^\W*(this|these|that|those|it|there|here|he|she|they) "

_BROKEN_END = r"(?i)(?:^|\s)(and|or|but|which|who|whose|because|if|when|than|the|an?|as)\W*$"
_BROKEN_START = r"(?i)^\W*(and|or|but|of|which|than|because)\s"


def relation(config: FilterConfig) -> pl.Expr | None:
    """Drop other relations."""
    if not config.relations:
        return None
    other = ~pl.col("relation").is_in(config.relations)
    return pl.when(other).then(pl.format("the relation is {}", "relation"))


def language(config: FilterConfig) -> pl.Expr | None:
    """Drop other languages; rows of unknown language stay."""
    if config.language is None:
        return None
    other = pl.col("language").is_not_null() & (pl.col("language") != config.language)
    return pl.when(other).then(pl.format("the language is {}", "language"))


def weight(config: FilterConfig) -> pl.Expr | None:
    """Drop rows that weigh too little."""
    if config.min_weight is None:
        return None
    light = pl.col("weight") < config.min_weight
    why = pl.format("the weight is {}, less than {}", "weight", pl.lit(config.min_weight))
    if config.keep_unweighted:
        return pl.when(light.fill_null(False)).then(why)
    missing = pl.col("weight").is_null() | pl.col("weight").is_nan()
    return pl.when(missing).then(pl.lit("there is no weight")).when(light).then(why)


def none(_: FilterConfig) -> pl.Expr:
    """Drop rows whose head or tail says nothing."""
    no_head, no_tail = (~pl.col(name).str.contains(_LETTER) for name in ("head", "tail"))
    bare = pl.col("tail").str.to_lowercase().str.strip_chars(" \t.,;:!?-'\"()")
    return (
        pl.when(no_head)
        .then(pl.lit("the head has no word"))
        .when(no_tail)
        .then(pl.lit("the tail has no word"))
        .when(bare.is_in(NOTHING))
        .then(pl.format("the tail is '{}'", "tail"))
    )


def blank(config: FilterConfig) -> pl.Expr:
    """Drop rows with a blank, and PersonX, Y or Z outside events."""
    gap = pl.any_horizontal(pl.col("head", "tail").str.contains("___", literal=True))
    person = pl.any_horizontal(pl.col("head", "tail").str.contains(_PLACEHOLDER))
    # Only relations of events are spelled with a capital letter: xAttr, HinderedBy.
    thing = ~pl.col("relation").str.contains("[A-Z]")
    return (
        pl.when(gap & (not config.keep_blanks))
        .then(pl.lit("something is left open: ___"))
        .when(thing & person)
        .then(pl.format("{} does not relate events, but a PersonX is named", "relation"))
    )


def self_loop(config: FilterConfig) -> pl.Expr:
    """Drop rows that relate a thing to itself: 'dog' and 'dogs', or 'apple tree' and 'tree'."""
    people = pl.lit([*_PEOPLE], pl.List(pl.String))
    left, right = (
        pl.col(name).str.split(" ").list.set_difference(people) for name in NORMAL.values()
    )
    same = pl.col(NORMAL["head"]) == pl.col(NORMAL["tail"])
    reason = pl.when(same).then(pl.lit("head and tail are the same"))
    if config.keep_contained or not config.english:
        return reason
    inside = (left.list.set_difference(right).list.len() == 0) | (
        right.list.set_difference(left).list.len() == 0
    )
    within = inside & (left.list.len() > 0) & (right.list.len() > 0)
    return reason.when(within).then(pl.lit("one of head and tail says no more than the other"))


def length(config: FilterConfig) -> pl.Expr:
    """Drop rows whose head or tail is too short or too long."""

    def reasons() -> Iterator[pl.Expr]:
        limits = {"head": config.max_head_words, "tail": config.max_tail_words}
        for name, most in limits.items():
            words = pl.col(name).str.count_matches(r"\S+")
            characters = pl.col(name).str.len_chars()
            few = pl.format(f"the {name} has {{}} words, fewer than {config.min_words}", words)
            yield pl.when(words < config.min_words).then(few)
            if most is not None:
                many = pl.format(f"the {name} has {{}} words, more than {most}", words)
                yield pl.when(words > most).then(many)
            if (limit := config.max_characters) is not None:
                long = pl.format(f"the {name} has {{}} characters, more than {limit}", characters)
                yield pl.when(characters > limit).then(long)

    return pl.coalesce(list(reasons()))


def symbols(config: FilterConfig) -> pl.Expr:
    """Drop rows with digits, addresses, markup or, in English, letters that are not Latin."""
    reasons = []
    for name in ("head", "tail"):
        text = pl.col(name).str.replace_all("___", "", literal=True)
        for pattern, what in (
            (_URL, "an address"),
            (_DIGIT, "a digit"),
            (_MARK, "a symbol"),
            *([(_FOREIGN, "a letter that is not Latin")] if config.english else []),
        ):
            why = pl.format(f"the {name} has {what}: '{{}}'", text.str.extract(f"({pattern})"))
            reasons.append(pl.when(text.str.contains(pattern)).then(why))
    return pl.coalesce(reasons)


def talk(config: FilterConfig) -> pl.Expr | None:
    """Drop rows that speak to the reader, or of nothing that has a name."""
    if not config.english or config.keep_talk:
        return None
    return _found(
        {
            "the {} speaks to somebody: '{}'": (_TALK, ("head", "tail")),
            "the {} names nothing: '{}'": (_ALONE, ("head", "tail")),
            "the {} points at something: '{}'": (_LEADING, ("head",)),
        }
    )


def fragment(config: FilterConfig) -> pl.Expr | None:
    """Drop rows with a head or tail that breaks off, or begins in the middle."""
    if not config.english or config.keep_fragments:
        return None
    return _found(
        {
            "the {} ends with '{}'": (_BROKEN_END, ("head", "tail")),
            "the {} begins with '{}'": (_BROKEN_START, ("head", "tail")),
        }
    )


def blocklist(config: FilterConfig) -> pl.Expr | None:
    """Drop rows with a word or phrase of the user's list."""
    return _listed(config.blocklist, "is on the blocklist")


def profanity(config: FilterConfig) -> pl.Expr | None:
    """Drop rows with profane, sexual or abusive words."""
    take = config.english and not config.keep_profane
    return _listed(profane_words(), "is not fit for a test") if take else None


def spelling(config: FilterConfig) -> pl.Expr | None:
    """Drop rows with a word that is in no dictionary."""
    if not config.english or config.keep_misspelt:
        return None

    def misspelt(column: pl.Series) -> pl.Series:
        distinct = column.unique()
        wrong = pl.Series([misspelt_word(text) for text in distinct], dtype=pl.String)
        return column.replace_strict(distinct, wrong, return_dtype=pl.String)

    return pl.coalesce(
        pl.format(
            f"no dictionary has '{{}}', in the {name}",
            pl.col(name).map_batches(misspelt, return_dtype=pl.String),
        )
        for name in ("head", "tail")
    )


ROW_STEPS: dict[str, Step] = {
    "relation": relation,
    "language": language,
    "weight": weight,
    "none": none,
    "blank": blank,
    "self-loop": self_loop,
    "length": length,
    "symbols": symbols,
    "talk": talk,
    "fragment": fragment,
    "blocklist": blocklist,
    "profanity": profanity,
    "spelling": spelling,
}
"""The steps, in their order."""


def _found(patterns: Mapping[str, tuple[str, tuple[str, ...]]]) -> pl.Expr:
    """Return the reason of the first pattern that is found."""
    return pl.coalesce(
        pl.format(why, pl.lit(name), pl.col(name).str.extract(pattern))
        for why, (pattern, names) in patterns.items()
        for name in names
    )


def _listed(entries: tuple[str, ...], what: str) -> pl.Expr | None:
    """Name a listed word or phrase that is found, in any inflection."""
    needles = [f" {form} " for form in dict.fromkeys(normal(e) for e in entries) if form]
    if not needles:
        return None
    first = (
        pl.format(" {} ", column).str.extract_many(needles).list.first().str.strip_chars()
        for column in NORMAL.values()
    )
    return pl.coalesce(pl.format(f"'{{}}' {what}", found) for found in first)
