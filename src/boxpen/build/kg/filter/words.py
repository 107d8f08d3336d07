"""The steps of the filter that look at the words of a row. All but the first know English only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from boxpen.build.kg.filter.config import FilterConfig
from boxpen.build.kg.filter.rows import NORMAL_HEAD, NORMAL_TAIL

if TYPE_CHECKING:
    import polars as pl

__all__ = ["blocklist", "fragment", "profanity", "spelling", "symbols", "talk"]

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


def symbols(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with digits, addresses, markup or, in English, letters that are not Latin go."""
    import polars as pl

    reasons = []
    for name in ("head", "tail"):
        text = pl.col(name).str.replace_all("___", "", literal=True)
        for pattern, what in (
            (_URL, "an address"),
            (_DIGIT, "a digit"),
            (_MARK, "a sign that is no punctuation"),
            *([(_FOREIGN, "a letter that is not Latin")] if config.english else []),
        ):
            why = pl.format(f"the {name} has {what}: '{{}}'", text.str.extract(f"({pattern})"))
            reasons.append(pl.when(text.str.contains(pattern)).then(why))
    return chunk.select(reason=pl.coalesce(reasons))["reason"]


def talk(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows that speak to the reader go, and those that speak of nothing that has a name."""
    patterns = {
        "the {} speaks to somebody: '{}'": (_TALK, ("head", "tail")),
        "the {} names nothing: '{}'": (_ALONE, ("head", "tail")),
        "the {} points at something: '{}'": (_LEADING, ("head",)),
    }
    return _found(chunk, patterns, take=config.english and not config.keep_talk)


def fragment(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with a head or tail that breaks off, or begins in the middle, go."""
    patterns = {
        "the {} ends with '{}'": (_BROKEN_END, ("head", "tail")),
        "the {} begins with '{}'": (_BROKEN_START, ("head", "tail")),
    }
    return _found(chunk, patterns, take=config.english and not config.keep_fragments)


def blocklist(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with a word or phrase of the user's list go."""
    return _listed(chunk, config.blocklist, "is on the blocklist")


def profanity(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with profane, sexual or abusive words go."""
    from boxpen.english.vocabulary import profane_words

    take = config.english and not config.keep_profane
    return _listed(chunk, profane_words() if take else (), "is not fit for a test")


def spelling(chunk: pl.DataFrame, config: FilterConfig) -> pl.Series:
    """Rows with a word that no dictionary has go."""
    import polars as pl

    from boxpen.english.vocabulary import misspelt_word

    if not config.english or config.keep_misspelt:
        return pl.Series("reason", [None] * chunk.height, dtype=pl.String)
    reasons = []
    for name in ("head", "tail"):
        distinct = chunk[name].unique()
        wrong = pl.Series([misspelt_word(text) for text in distinct], dtype=pl.String)
        found = pl.col(name).replace_strict(distinct, wrong, return_dtype=pl.String)
        reasons.append(pl.format(f"no dictionary has '{{}}', in the {name}", found))
    return chunk.select(reason=pl.coalesce(reasons))["reason"]


def _found(
    chunk: pl.DataFrame, patterns: Mapping[str, tuple[str, tuple[str, ...]]], *, take: bool
) -> pl.Series:
    """Say where which pattern is found first, if the step is taken."""
    import polars as pl

    if not take:
        return pl.Series("reason", [None] * chunk.height, dtype=pl.String)
    reasons = [
        pl.format(why, pl.lit(name), pl.col(name).str.extract(pattern))
        for why, (pattern, names) in patterns.items()
        for name in names
    ]
    return chunk.select(reason=pl.coalesce(reasons))["reason"]


def _listed(chunk: pl.DataFrame, entries: tuple[str, ...], what: str) -> pl.Series:
    """Say where a word or phrase of a list is found, in any inflection."""
    import polars as pl

    from boxpen.english.normal import normal

    needles = [f" {form} " for form in dict.fromkeys(normal(e) for e in entries) if form]
    if not needles:
        return pl.Series("reason", [None] * chunk.height, dtype=pl.String)
    reasons = []
    for column in (NORMAL_HEAD, NORMAL_TAIL):
        padded = pl.format(" {} ", column)
        first = padded.str.extract_many(needles).list.first().str.strip_chars()
        reasons.append(pl.format(f"'{{}}' {what}", first))
    return chunk.select(reason=pl.coalesce(reasons))["reason"]
