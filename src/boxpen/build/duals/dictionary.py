"""What WordNet knows of opposites, of things of one kind, and of parts; how common a word is.

Only the commonest meanings of a word are asked for, and only words that most people know are
answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from boxpen.build.kg.grammar import number, plural, singular
from boxpen.build.kg.lexicon import lemmas
from boxpen.build.kg.lexicon import listed as known
from boxpen.build.wordnet import WordNet, open_wordnet

__all__ = ["Dictionary", "commonness", "in_number_of", "open_dictionary"]

_COMMON = 4000  # times in the word list of pyspellchecker: 'stove' 5,222, 'rhinoceros' 615
_MOST = 4  # words of one kind that are answered
_THINGS = frozenset(f"noun.{name}" for name in ("animal", "artifact", "body", "food"))
_BROAD = frozenset(
    {
        "whole.n.02",
        "object.n.01",
        "artifact.n.01",
        "entity.n.01",
        "person.n.01",
        "instrumentality.n.03",
    }
    | {"physical_entity.n.01", "matter.n.03", "living_thing.n.01", "adult.n.01", "device.n.01"}
    | {"causal_agent.n.01", "organism.n.01", "substance.n.01", "worker.n.01", "unit.n.03"}
)


class Dictionary(WordNet):
    """WordNet, with the questions that only dual tests ask."""

    def __init__(self, opened: WordNet) -> None:
        super().__init__(opened._reader)

    def opposites(self, word: str, part: str) -> list[str]:
        """Return common opposites of a base form in its two commonest senses, commonest first."""
        found = (
            other.name()
            for sense in self._commonest(word, part, 2)
            for lemma in sense.lemmas()
            if lemma.name() == word
            for other in lemma.antonyms()
        )
        return _usual(found)

    def of_one_kind(self, noun: str, unlike: str) -> list[str]:
        """Return common nouns that are, like one, a kind of the same thing.

        Args:
            noun: In the singular; a thing, an animal, food, a part of the body.
            unlike: A noun that they must not be, nor be near to: no kind of it, no synonym.
        """
        found: list[str] = []
        near = {
            above for sense in self._commonest(unlike, "n", 1) for above in self._above(sense, 3)
        }
        for sense in self._commonest(noun, "n", 1):
            if sense.lexname() not in _THINGS:
                continue
            for above in sense.hypernyms():
                if above.name() in _BROAD or above in near:
                    continue
                for other in above.hyponyms():
                    name = other.lemmas()[0].name()
                    # The sense of the sibling must be the commonest one of its word.
                    if other != sense and other in self._commonest(name, "n", 1):
                        found.append(name)
        return [
            name
            for name in _usual(found)
            if name not in {noun, unlike}
            and "ADJ" not in lemmas(name)
            and name not in known("plural_only") | known("auxiliaries")
            and self.related(name, noun, "n") is None
            and (not unlike or self.related(name, unlike, "n") is None)
            and (name in known("mass")) == (noun in known("mass"))
        ][:_MOST]

    def parts(self, noun: str) -> list[str]:
        """Return what a thing has as its parts, commonest first."""
        found = (
            part.lemmas()[0].name()
            for sense in self._commonest(noun, "n", 1)
            if sense.lexname() == "noun.artifact"
            for part in sense.part_meronyms()
        )
        return [name for name in _usual(found) if name not in known("mass")][:_MOST]

    def are_opposites(self, one: str, two: str) -> bool:
        """Tell whether two words in whatever form are opposites."""
        for part in "avrn":
            first, second = self.lemma(one, part), self.lemma(two, part)
            if second in self.opposites(first, part):
                return True
        return False

    def _above(self, sense: Any, depth: int) -> list[Any]:
        """Return what a sense is a kind of, some steps up, but nothing that all things are."""
        found = [above for above in sense.hypernyms() if above.name() not in _BROAD]
        if depth > 1:
            found += [far for above in list(found) for far in self._above(above, depth - 1)]
        return found

    def _commonest(self, word: str, part: str, count: int) -> list[Any]:
        if (key := ("commonest", word, part, count)) not in self._kept:
            found = self._reader.synsets(word, part)
            own = [s for s in found if word in (lemma.name() for lemma in s.lemmas())]
            self._kept[key] = own[:count]
        senses: list[Any] = self._kept[key]
        return senses


@cache
def open_dictionary() -> Dictionary:
    """Open WordNet, once.

    Raises:
        BuildError: If it is nowhere, and cannot be fetched.
    """
    return Dictionary(open_wordnet())


def commonness(word: str) -> int:
    """Return how often a word stands in a list of English."""
    return int(_counts()[word])


def in_number_of(noun: str, like: str) -> str:
    """Return a noun in the number of another one."""
    return plural(noun) if number(like) == "plural" and singular(like) != like else noun


def _usual(names: Iterable[str]) -> list[str]:
    single = (name for name in dict.fromkeys(names) if name.isalpha() and name.islower())
    usual = [name for name in single if commonness(name) >= _COMMON and lemmas(name)]
    return sorted(usual, key=lambda name: (-commonness(name), name))


@cache
def _counts() -> Any:
    from spellchecker import SpellChecker

    return SpellChecker(language="en").word_frequency
