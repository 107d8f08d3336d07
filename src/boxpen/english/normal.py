"""What two nodes of a graph have in common when they say the same: their normal form.

``normal("To brush your teeth")`` and ``normal("brush the tooth")`` are both ``brush tooth``. It
decides which triples are near-duplicates, contradict each other, or relate a thing to itself, and
which wrong tails would be right ones in other words. It is not an English word, only a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["content_words", "lemma", "normal", "normal_column", "unordered", "unordered_column"]

DETERMINERS = frozenset(
    (
        *("a", "an", "the", "some", "any", "this", "that", "these", "those"),
        *("my", "your", "his", "her", "its", "our", "their", "one's", "'s"),
    )
)
"""Words that do not change what a node is about; 'no' and 'every' do."""

_PART = 200_000

_JOIN = re.compile(r",|;|\band\b|&")
_WORD = re.compile(r"[\w']*\w")
_NOT = re.compile(r"\b(ca|wo|sha|is|are|was|were|do|does|did|has|have|had|could|would|should)n't\b")
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}
_NO_INFLECTION = frozenset(  # words that only look like plurals or forms of verbs
    (
        *("as", "this", "us", "his", "its", "news", "bus", "gas", "glasses", "clothes"),
        *("ring", "king", "thing", "spring", "string", "evening", "morning", "ceiling", "during"),
        *("nothing", "something", "anything", "everything"),
    )
)
_IRREGULAR = {"does": "do", "has": "have", "is": "be", "was": "be", "people": "person"}


@lru_cache(maxsize=1 << 16)
def normal(text: str) -> str:
    """Return the content words of a text: lower case, no determiners, without inflection.

    Their order stays. A text of determiners only keeps them, so that only a text without
    any word has an empty normal form.
    """
    return " ".join(content_words(text))


def content_words(text: str) -> list[str]:
    """Return the words of ``normal`` one by one."""
    lowered = text.lower().replace("’", "'").replace("cannot", "can not")
    words = _WORD.findall(_NOT.sub(_expanded, lowered))
    kept = [w for w in words if w not in DETERMINERS]
    if len(kept) > 1 and kept[0] == "to":
        kept = kept[1:]
    return [lemma(w) for w in kept or words]


@lru_cache(maxsize=1 << 18)
def lemma(word: str) -> str:
    """Return the form that stands for a word and all its inflections, whatever its part of speech.

    Verbs win over nouns in '-ing' and '-ed' ('running' is 'run'), nouns elsewhere ('leaves' is
    'leaf'). Degrees of adjectives stay: 'bigger' is not 'big'.
    """
    word = word.removesuffix("'s") or word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _NO_INFLECTION or not word.isascii() or not word.isalpha():
        return word
    from lemminflect import getAllLemmas

    known: dict[str, tuple[str, ...]] = getAllLemmas(word)
    verbal = word.endswith(("ing", "ed"))
    for part in ("VERB", "NOUN") if verbal else ("NOUN", "VERB"):
        if part in known:
            # 'leaves': leave, leaf; 'needs': need, needs. The shorter is the barer one.
            return min(known[part], key=lambda form: (len(form), form))
    if not known and len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]  # a word that no dictionary has is most often a plural noun
    return word


def unordered(text: str) -> str:
    """Return the normal forms of a list's members in one order: 'b, a' and 'an a and b' are one."""
    return ", ".join(sorted({normal(part) for part in _JOIN.split(text.lower())} - {""}))


def normal_column(column: pl.Series) -> pl.Series:
    """Return the normal forms of a column of texts; equal texts are worked on once."""
    return _mapped(column, normal)


def unordered_column(column: pl.Series) -> pl.Series:
    """Return ``unordered`` of a column of texts."""
    return _mapped(column, unordered)


def _mapped(column: pl.Series, form: Callable[[str], str]) -> pl.Series:
    import polars as pl

    def mapped(part: pl.Series) -> pl.Series:
        distinct = part.drop_nulls().unique()
        forms = pl.Series([form(text) for text in distinct], dtype=pl.String)
        return part.replace_strict(distinct, forms, default=None, return_dtype=pl.String)

    # A part at a time: strings of Python take several times the memory of a column's.
    starts = range(0, max(len(column), 1), _PART)
    return pl.concat([mapped(column.slice(start, _PART)) for start in starts]).rechunk()


def _expanded(match: re.Match[str]) -> str:
    return f"{_WHOLE.get(match[1], match[1])} not"
