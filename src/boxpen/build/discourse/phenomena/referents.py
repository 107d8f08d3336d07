"""Who or what the sentence before names: what a pronoun of the next one may mean."""

from __future__ import annotations

import re
from typing import NamedTuple

from boxpen.build.discourse.phenomena.wordlists import tokens, words

__all__ = ["Hint", "addressee", "addressees", "referent"]

_WE = re.compile(r"\b(?:we|us|our|ours|ourselves|both|together)\b")
_I = re.compile(r"\b(?:i|me|my|mine|myself)\b")
_PAIR = re.compile(r"\b(\w+) (?:and|&) (?:my |his |her |the |our )?(\w+)\b")
_PLACES = re.compile(r"[,.!?;:-]+")


class Hint(NamedTuple):
    """Words of the context that tell the class of a pronoun, and how much they add to its score."""

    weight: float
    words: str


def referent(cls: str, context: str) -> Hint | None:
    """Return what a context says of the class of a pronoun, as 她们; None if it says nothing."""
    return _HINTS[cls](context, context.lower())


def addressee(text: str) -> str | None:
    """Return the name or title of one person who is spoken to, set off by commas or edges."""
    for place in _PLACES.split(text):
        part = tokens(place)
        if not 1 <= len(part) <= 3 or {w.lower() for w in part[:-1]} - words("address", "lead"):
            continue
        if part[-1].lower() in words("people", "vocative") or _is_person(part[-1], text):
            return " ".join(part)
    return None


def addressees(text: str) -> str | None:
    """Return the word for several people who are spoken to, in a text in lower case."""
    for place in _PLACES.split(text):
        part = tokens(place)
        if not 1 <= len(part) <= 4 or part[0] in words("address", "about"):
            continue
        if part[-1] in words("people", "vocatives"):
            return part[-1]
    return None


def _one_spoken_to(context: str, before: str) -> Hint | None:
    if set(tokens(before)) & words("people", "vocatives") or _pair(context):
        return None
    name = addressee(context)
    if name:
        return Hint(0.5, f"'{name}'")
    single = _I.search(before)
    if single and not _WE.search(before):
        return Hint(0.25, f"'{single[0]}', who may be answered")
    return None


def _several_spoken_to(context: str, before: str) -> Hint | None:
    name = addressees(before)
    if name:
        return Hint(0.55, f"'{name}'")
    if addressee(context):
        return None  # one is spoken to, or one speaks of others
    pair = _pair(context)
    if pair:
        return Hint(0.4, f"'{pair}'")
    found = _WE.search(before)
    if found:
        return Hint(0.35, f"'{found[0]}', who may be answered")
    return None


def _women(context: str, before: str) -> Hint | None:
    many = tokens(before)
    plural = [w for w in many if w in words("people", "women")]
    single = [w for w in many if _is_woman(w, context)]
    mixed = any(
        w in words("people", "men") or w in words("people", "man") or _is_name(w, "he", context)
        for w in many
    )
    weight = 0.2 if mixed else 0.55
    if plural:
        return Hint(weight, f"'{plural[0]}'")
    pair = _pair(context)
    if pair and len(set(single)) > 1:
        return Hint(weight - 0.1, f"'{pair}'")
    return None


def _things(context: str, before: str) -> Hint | None:
    many = tokens(before)
    people = [w for w in many if w in words("people", "group") or w in words("people", "women")]
    loss = 0.25 if people else 0.0
    beasts = [w for w in many if w in words("things", "animals")]
    if beasts:
        return Hint(0.55 - loss, f"'{beasts[0]}'")
    for word, previous in zip(many, ["", *many], strict=False):
        if _is_plural_thing(word, context):
            sure = previous in words("things", "determiners") or word in words(
                "things", "irregular"
            )
            return Hint((0.5 if sure else 0.35) - loss, f"'{word}'")
    return None


def _people(context: str, before: str) -> Hint | None:
    many = tokens(before)
    groups = [w for w in many if w in words("people", "group")]
    if groups:
        return Hint(0.5, f"'{groups[0]}'")
    pair = _pair(context)
    if pair:
        women = all(_is_woman(word, context) for word in re.split(" and | & ", pair))
        return None if women else Hint(0.5, f"'{pair}'")
    doers = [w for w in many if re.search(r"..(?:[eo]rs|ists|men|ians|crew|team|family)$", w)]
    if doers:
        return Hint(0.3, f"'{doers[0]}'")
    return None


_HINTS = {
    "你": _one_spoken_to,
    "你们": _several_spoken_to,
    "他们": _people,
    "她们": _women,
    "它们": _things,
}


def _pair(context: str) -> str | None:
    """Return 'A and B' where both are people."""
    for match in _PAIR.finditer(context):
        if all(_is_human(word, context) for word in match.groups()):
            return match[0]
    return None


def _is_human(word: str, context: str) -> bool:
    low = word.lower()
    known = words("people", "woman") | words("people", "man") | words("people", "vocative")
    return low in known or low == "i" or _is_person(word, context)


def _is_woman(phrase: str, context: str) -> bool:
    word = phrase.split()[-1]
    return word.lower() in words("people", "woman") or _is_name(word, "she", context)


def _is_person(word: str, context: str) -> bool:
    return any(_is_name(word, gender, context) for gender in ("she", "he"))


def _is_name(word: str, gender: str, context: str) -> bool:
    # "will" and "rose" are names only where they are written so; a text without capitals tells not.
    low = word.lower()
    if low not in words("names", gender):
        return False
    return word != low or low.capitalize() in context or context == context.lower()


def _is_plural_thing(word: str, context: str) -> bool:
    if word in words("things", "irregular"):
        return True
    if not word.endswith("s") or len(word) < 4 or "'" in word or word.endswith(("ss", "us", "is")):
        return False
    known = words("things", "never") | words("people", "group") | words("people", "women")
    if word in known or re.search(r"(?:[^h]ers|ors|ists|ians)$", word):
        return False
    return word.capitalize() not in context.split(maxsplit=1)[-1]
