"""English noun phrases: articles, plurals, number and pronouns, as small pure functions.

A *noun phrase* is read as ``(determiner) modifiers noun (preposition ...)``; its number is that of
the noun: 'descendants of dinosaurs'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from boxpen.english.lexicon import lemmas, listed, parts
from boxpen.refcounted import refcounted

__all__ = [
    "PRONOUNS", "Pronouns", "article", "capitalised", "head_noun", "indefinite", "is_person",
    "number", "plural", "pluralised", "pronouns_of", "sex", "singular", "uncounted",
]  # fmt: skip

Number = Literal["singular", "plural", "mass"]

PREPOSITIONS = listed("prepositions")
PARTICLES = listed("particles")
CONJUNCTIONS = frozenset({"and", "or", "but"})
SINGULAR_DETERMINERS = listed("singular_determiners")
PLURAL_DETERMINERS = listed("plural_determiners")
POSSESSIVES = listed("possessives")
OPEN_DETERMINERS = listed("open_determiners")
DETERMINERS = SINGULAR_DETERMINERS | PLURAL_DETERMINERS | POSSESSIVES | OPEN_DETERMINERS
PRONOUN_WORDS = listed("pronoun_words")
_INVARIANT = listed("invariant")
_PLURALS = {
    "person": "people",
    "monarch": "monarchs",
    "thief": "thieves",
    "human being": "human beings",
    "leaf": "leaves",
    "money": "money",
    "waterfowl": "waterfowl",
}


@dataclass(frozen=True, slots=True)
class Pronouns:
    """The pronouns of somebody or something, and whether verbs are plural with them."""

    they: str
    them: str
    their: str
    theirs: str
    themself: str
    many: bool


PRONOUNS = {
    "she": Pronouns("she", "her", "her", "hers", "herself", many=False),
    "he": Pronouns("he", "him", "his", "his", "himself", many=False),
    "they": Pronouns("they", "them", "their", "theirs", "themselves", many=True),
    "you": Pronouns("you", "you", "your", "yours", "yourself", many=True),
    "it": Pronouns("it", "it", "its", "its", "itself", many=False),
    "these": Pronouns("they", "them", "their", "theirs", "themselves", many=True),
}
"""By their subject form; ``these`` are several people or things."""


def article(phrase: str) -> str:
    """Return 'a' or 'an', by the sound that the phrase begins with."""
    if _VOWEL_SOUND.match(phrase):  # where inflect is wrong
        return "an"
    chosen: str = _engine().a(phrase)
    return chosen.split(" ", 1)[0]


def indefinite(phrase: str) -> str:
    """Put 'a' or 'an' before a phrase."""
    return f"{article(phrase)} {phrase}"


@cache
def plural(noun: str) -> str:
    """Return the plural of one noun, which may have modifiers before it."""
    first, _, last = noun.rpartition(" ")
    space = first + " " if first else ""
    if noun in _PLURALS or last in _PLURALS:
        return _PLURALS.get(noun) or space + _PLURALS[last]
    if last in listed("plural_only"):
        return noun
    made: str = _engine().plural_noun(last)
    return space + (made or last)


@cache
def singular(noun: str) -> str:
    """Return the singular of one noun, which may have modifiers before it."""
    first, _, last = noun.rpartition(" ")
    space = first + " " if first else ""
    if last in {"people", "thieves"}:
        return space + {"people": "person", "thieves": "thief"}[last]
    if last in listed("plural_only") or last in listed("singular_s") or not _is_plural(last):
        return noun
    short = last[:-1]  # 'movie', 'hippie'; but 'nanny'
    if last.endswith("ies") and last[:-3] + "y" not in listed("people"):
        known = "NOUN" in parts(short) or short in listed("people")
        made = short if known else _engine().singular_noun(last)
        return space + (made or last)
    made = _engine().singular_noun(last)
    return space + (made or last)


def head_noun(phrase: str) -> tuple[str, str, str]:
    """Split a noun phrase into the words before its noun, the noun, and the words after it."""
    tokens = phrase.split(" ")
    end = next(
        (
            place
            for place, token in enumerate(tokens)
            if place and (token in PREPOSITIONS or token in CONJUNCTIONS or token in _RELATIVES)
        ),
        len(tokens),
    )
    return " ".join(tokens[: end - 1]), tokens[end - 1], " ".join(tokens[end:])


def number(phrase: str) -> Number:
    """Return the number of a noun phrase as it is written: 'a dog', 'dogs', 'water'."""
    tokens = phrase.lower().split(" ")
    noun = head_noun(phrase.lower())[1]
    if tokens[0] in SINGULAR_DETERMINERS:
        # 'a lot of rooms' and 'a couple of friends' are many
        many = re.match(r"a (lot|number|couple|variety|pair) of (.+)", phrase.lower())
        return number(many[2]) if many and many[1] in {"lot", "number", "couple"} else "singular"
    if tokens[0] in PLURAL_DETERMINERS or (tokens[0].isdigit() and tokens[0] != "1"):
        return "plural"
    if " and " in f" {phrase} " and tokens[0] not in POSSESSIVES:
        return "plural"
    if _is_plural(noun) or (noun in _INVARIANT and tokens[0] not in POSSESSIVES | {"the"}):
        return "plural"
    if tokens[0] in POSSESSIVES or tokens[0] == "the":
        return "singular"
    return "mass"


def pluralised(phrase: str) -> str | None:
    """Return a noun phrase in the plural without its 'a', or None where it has none."""
    kind = number(phrase)
    if kind == "plural":
        return phrase
    match = re.match(r"(a|an) (.+)", phrase)
    if kind == "mass" or not match:
        return None
    before, noun, behind = head_noun(match[2])
    return " ".join(piece for piece in (before, plural(noun), behind) if piece)


def is_person(phrase: str) -> bool:
    """Whether a noun phrase names people: 'an old sailor', 'children'."""
    before, noun, _ = head_noun(phrase.lower())
    whole = singular(noun)
    one = whole.rpartition("-")[2]  # a bird-watcher watches
    if f"{before.split(' ')[-1]} {one}" in listed("not_people"):
        return False
    people = listed("people") | listed("male") | listed("female")
    if one in people or whole in people or f"{before.split(' ')[-1]} {one}" in listed("people"):
        return True
    if one.endswith(("man", "woman", "person")) and one not in {"human", "talisman", "shaman"}:
        return bool(parts(one))
    ends = one.endswith(("ologist", "ographer", "ician", "naut", "smith")) or (
        one.endswith("ist") and len(one) > 6  # not a twist or a wrist
    )
    return ends and "NOUN" in parts(one)


def pronouns_of(phrase: str) -> Pronouns:
    """Return the pronouns that go with a noun phrase: 'a king' is he, 'a nurse' they."""
    if number(phrase) == "plural":
        return PRONOUNS["these"]
    if not is_person(phrase):
        return PRONOUNS["it"]
    return PRONOUNS[sex(phrase) or "they"]


def sex(phrase: str) -> str | None:
    """Return 'she' or 'he' for people of one sex, else None."""
    one = singular(head_noun(phrase.lower())[1])
    if one in listed("female") or one.endswith("woman"):
        return "she"
    if one in listed("male") or (one.endswith("man") and is_person(phrase) and one != "human"):
        return "he"
    return None


@cache
def uncounted(noun: str) -> bool:
    """Whether the dictionary gives a noun no plural of its own, as for 'puberty'."""
    import lemminflect

    if noun.endswith(("itis", "osis", "phrenia", "ism", "ness", "plicity")):
        return True
    found: tuple[str, ...] = lemminflect.getInflection(noun, "NNS", inflect_oov=False)
    return found == (noun,) and plural(noun) != noun and not is_person(noun)


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]


_VOWEL_SOUND = re.compile(r"((8\d*|11|18)(th)?|usher|SUV|LED|LCD|SMS|NGO|ATM|MP|XML)\b")
_RELATIVES = listed("relatives")


@cache
def _is_plural(noun: str) -> bool:
    if noun in listed("plural_only"):
        return True
    if noun in listed("singular_s") or noun in listed("mass") or noun in listed("proper"):
        return False
    if noun.endswith("s") and not noun.endswith("ss"):
        # the dictionary has some plurals, such as 'movies', as words of their own
        one = noun[:-1]
        if one in listed("capital") | listed("people") or (
            "NOUN" in parts(one) and plural(one) == noun
        ):
            return True
    roots = lemmas(noun).get("NOUN", ())
    if noun.endswith("people"):
        return True
    return bool(roots) and noun not in roots


@cache
def _engine() -> Any:
    with _unchecked():
        import inflect
    return inflect.engine()


@refcounted
@contextmanager
def _unchecked() -> Iterator[None]:
    """Leave checks of types out of inflect, as ``python -O`` does: they take seconds.

    A module is imported once, so inflect stays unchecked for the whole program. What others have
    checked meanwhile is checked as ever.
    """
    try:
        import typeguard
    except ImportError:
        yield
        return
    checks: Any = typeguard
    before = checks.typechecked

    def typechecked(target: Any = None, **options: Any) -> Any:
        theirs = getattr(target, "__module__", "") or ""
        return target if theirs.split(".")[0] == "inflect" else before(target, **options)

    checks.typechecked = typechecked
    try:
        yield
    finally:
        checks.typechecked = before
