"""Single English words: their parts of speech, and the lists of ``data/*.toml``.

Parts of speech come from the dictionary of lemminflect, which has everything that a word can be but
not what it usually is; the lists settle that where it matters. ``words.toml`` is about phrases of
graphs, ``sentences.toml`` about whole sentences. A hyphen ties two words together: ``ice-cream``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = [
    "damaged", "forms_of", "is_adjective", "is_adverb", "is_known", "is_verb", "lemmas", "listed",
    "only_adjective", "pairs", "parts", "phrases", "sentence_words", "table",
]  # fmt: skip


@cache
def listed(name: str, file: str = "words") -> frozenset[str]:
    """Return a list of words; the file describes what it holds."""
    words = _lists(file)[name].split()
    return frozenset(words) | {word.replace("-", " ") for word in words}


def sentence_words(name: str) -> frozenset[str]:
    """Return a list of words of ``sentences.toml``."""
    return listed(name, "sentences")


@cache
def phrases(name: str) -> tuple[str, ...]:
    """Return a list of phrases of ``sentences.toml``, in their order."""
    return tuple(_lists("sentences")[name])


@cache
def table(name: str) -> dict[str, str]:
    """Return a table of ``sentences.toml`` from words to words."""
    return dict(_lists("sentences")[name])


@cache
def pairs(name: str) -> dict[str, str]:
    """Return a table of ``sentences.toml`` from words to words that holds both ways."""
    found: dict[str, str] = {}
    for one, two in table(name).items():
        found.setdefault(one, two)
        found.setdefault(two, one)
    return found


@cache
def damaged(name: str) -> dict[str, str]:
    """Return words that lemmatising has damaged, ``words`` or ``nouns``, with what they were."""
    return dict(_lists("words")["damaged"][name])


def forms_of(verb: str) -> dict[str, str]:
    """Return the forms of a verb that differ from those of lemminflect."""
    forms: dict[str, str] = _lists("words")["forms"].get(verb, {})
    return forms


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
    """Whether the dictionary has the word in any form; numbers count as known."""
    if word.replace(",", "").replace(".", "").isdigit() or lemmas(word):
        return True
    bare = word.removesuffix("'s").removesuffix("'")
    pieces = bare.split("-")
    return bare in listed("proper") | listed("capital") or (
        (bare != word or len(pieces) > 1)
        and all(piece and (len(piece) == 1 or piece.isdigit() or lemmas(piece)) for piece in pieces)
    )


@cache
def _lists(file: str) -> dict[str, Any]:
    text = files("boxpen.english").joinpath(f"data/{file}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
