"""What is known of single English words: their parts of speech, and the lists of ``words.toml``.

Parts of speech come from the dictionary of lemminflect, which lists all that a word can be but not
what it mostly is; the lists of ``data/words.toml`` say that where it matters. Two words that belong
together are tied with a hyphen there: ``ice-cream``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = [
    "damaged",
    "is_adjective",
    "is_adverb",
    "is_known",
    "is_verb",
    "lemmas",
    "listed",
    "only_adjective",
    "parts",
]


@cache
def listed(name: str) -> frozenset[str]:
    """Return a list of ``words.toml``; what is in it is said there."""
    words = _lists()[name].split()
    return frozenset(words) | {word.replace("-", " ") for word in words}


@cache
def damaged(name: str) -> dict[str, str]:
    """Return words that lemmatising has damaged, ``words`` or ``nouns``, with their cures."""
    return dict(_lists()["damaged"][name])


@cache
def parts(word: str) -> frozenset[str]:
    """Return what a base form can be: some of NOUN, VERB, ADJ and ADV; nothing if not listed."""
    return frozenset(
        part for part, found in lemmas(word).items() if word in found or part in {"ADJ", "ADV"}
    )


@cache
def lemmas(word: str) -> dict[str, tuple[str, ...]]:
    """Return the base forms of a word by part of speech: ``{'NOUN': ('leaf',), ...}``."""
    import lemminflect

    found: dict[str, tuple[str, ...]] = lemminflect.getAllLemmas(word)
    return {("NOUN" if part == "PROPN" else part): forms for part, forms in found.items()}


def is_verb(word: str) -> bool:
    """Whether a base form is a verb rather than a noun or an adjective: 'write', not 'walk'."""
    if word in listed("adjectives") or word in listed("prepositions"):
        return False
    mostly = word in listed("verbs") and word not in listed("also_nouns")
    return mostly or parts(word) == {"VERB"}


def is_adjective(word: str) -> bool:
    """Whether a word is an adjective rather than a noun."""
    if word in listed("adjectives"):
        return True
    found = parts(word)
    return "ADJ" in found and "NOUN" not in found


def only_adjective(word: str) -> bool:
    """Whether a word is an adjective and never a noun."""
    return is_adjective(word) and word not in listed("adjective_nouns")


@cache
def is_adverb(word: str) -> bool:
    """Whether a word is an adverb: 'quickly', 'never'."""
    return word in listed("adverbs") or (word.endswith("ly") and "ADV" in parts(word))


def is_known(word: str) -> bool:
    """Whether the word stands in the dictionary, in whatever form; numbers do."""
    if word.replace(",", "").replace(".", "").isdigit() or lemmas(word):
        return True
    bare = word.removesuffix("'s").removesuffix("'")
    pieces = bare.split("-")
    return bare in listed("proper") | listed("capital") or (
        (bare != word or len(pieces) > 1)
        and all(piece and (len(piece) == 1 or piece.isdigit() or lemmas(piece)) for piece in pieces)
    )


@cache
def _lists() -> dict[str, Any]:
    text = files("boxpen.english").joinpath("data/words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
