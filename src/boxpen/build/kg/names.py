"""Names for the people of a test, balanced over the pronouns she, he and they."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from boxpen.build.kg.grammar import PRONOUNS
from boxpen.build.kg.people import Person
from boxpen.errors import BuildError

__all__ = ["GENDERS", "Draw", "Names", "load_names"]

GENDERS = ("she", "he", "they")


@dataclass(frozen=True, slots=True)
class Names:
    """Equally many names for each pronoun."""

    she: tuple[str, ...]
    he: tuple[str, ...]
    they: tuple[str, ...]


def load_names(path: Path | None = None) -> Names:
    """Read a list of names; without a path, the one that comes with boxpen.

    Raises:
        BuildError: If the file is not there, is not TOML, or its lists are not balanced.
    """
    try:
        if path is None:
            text = files("boxpen.build.kg").joinpath("data/names.toml").read_text(encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BuildError(f"the names of {path} cannot be read: {error}") from None
    lists: dict[str, tuple[str, ...]] = {}
    for gender in GENDERS:
        names = data.get(gender)
        if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
            raise BuildError(f"{path} has no list of names '{gender}'")
        lists[gender] = tuple(names)
    sizes = {gender: len(lists[gender]) for gender in GENDERS}
    if len(set(sizes.values())) > 1 or not sizes["she"]:
        counted = ", ".join(f"{count} for {gender}" for gender, count in sizes.items())
        raise BuildError(f"{path} has {counted}; the lists must be equally long and not empty")
    everybody = [name for gender in GENDERS for name in lists[gender]]
    for name in everybody:
        if everybody.count(name) > 1:
            raise BuildError(f"{path} has the name '{name}' twice")
    return Names(**lists)


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
