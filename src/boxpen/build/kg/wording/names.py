"""Names for the people of a test, balanced over the pronouns she, he and they."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from importlib.resources import files

from boxpen.build.kg.wording.people import Person
from boxpen.english.grammar import PRONOUNS

__all__ = ["GENDERS", "Draw", "Names", "load_names"]

GENDERS = ("she", "he", "they")


@dataclass(frozen=True, slots=True)
class Names:
    """Equally many names for each pronoun."""

    she: tuple[str, ...]
    he: tuple[str, ...]
    they: tuple[str, ...]


def load_names() -> Names:
    """Return the names that come with boxpen."""
    text = files("boxpen.build.kg").joinpath("data/names.toml").read_text("utf-8")
    return Names(**{gender: tuple(names) for gender, names in tomllib.loads(text).items()})


class Draw:
    """Draws people so that at any time the pronouns have been used equally often, but for one.

    The same seed and the same number of draws give the same people.
    """

    def __init__(self, names: Names, seed: int) -> None:
        """Start a draw from ``names``."""
        self._names = names
        self._random = random.Random(f"names {seed}")
        self._genders: list[str] = []
        self._decks: dict[str, list[str]] = {gender: [] for gender in GENDERS}
        self._turn = 0

    def people(self) -> tuple[Person, Person, Person]:
        """Return PersonX, PersonY and PersonZ: three names with three different pronouns."""
        if not self._genders:
            self._genders = self._random.sample(GENDERS, len(GENDERS))
            self._turn += 1
        place = GENDERS.index(self._genders.pop())
        # whole rounds step alike, so that PersonY is as balanced as PersonX
        step = 1 if self._turn % 2 else 2
        chosen = [GENDERS[(place + step * turn) % 3] for turn in range(3)]
        return self._person(chosen[0]), self._person(chosen[1]), self._person(chosen[2])

    def _person(self, gender: str) -> Person:
        deck = self._decks[gender]
        if not deck:
            everybody: tuple[str, ...] = getattr(self._names, gender)
            deck.extend(self._random.sample(everybody, len(everybody)))
        return Person(deck.pop(), PRONOUNS[gender])
