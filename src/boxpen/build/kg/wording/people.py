"""PersonX, PersonY and PersonZ of an event, and the names and pronouns that stand for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.english.grammar import PREPOSITIONS, Pronouns
from boxpen.english.lexicon import is_adverb

__all__ = ["LETTERS", "Person", "fill_people"]

LETTERS = "XYZ"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a name."""

    name: str
    pronouns: Pronouns


def fill_people(text: str, people: Sequence[Person], *, known: str = "") -> str:
    """Put names and pronouns for PersonX, PersonY and PersonZ.

    Everybody has their name where they are first spoken of. PersonX is a pronoun from then on
    ('Rose loses her keys'), the others keep their names, so that nobody is taken for another.

    Args:
        text: 'PersonX loses PersonX's keys'.
        people: Who stands for X, Y and Z.
        known: Letters of those who have been named before the text begins.
    """
    seen = set(known)
    filled: list[str] = []
    tokens = text.split(" ")
    for place, token in enumerate(tokens):
        match = _PERSON.fullmatch(token)
        if match is None:
            filled.append(_SELF.sub(people[0].pronouns.themself, token))
            continue
        letter, possessive, rest = match.groups()
        person = people[LETTERS.index(letter)]
        again = letter in seen and letter == "X"
        seen.add(letter)
        if again and possessive:
            said = person.pronouns.their
        elif again and _is_object(tokens, place):
            said = person.pronouns.them
        else:
            said = person.name + ("'s" if possessive else "")
        filled.append(said + rest)
    return " ".join(filled)


_PERSON = re.compile(r"Person([XYZ])('s)?([.,;!?]*)")
_SELF = re.compile(r"^PersonX-self\b")


def _is_object(tokens: Sequence[str], place: int) -> bool:
    """Whether a person stands at the end of a clause or before a preposition, not as a subject."""
    if place + 1 == len(tokens):
        return True
    follows = tokens[place + 1]
    return follows in PREPOSITIONS | {"to", "and", "a", "the"} or is_adverb(follows)
