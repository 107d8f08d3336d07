"""What WordNet knows of opposites, of things of one kind, and of places; how common a word is.

Only the commonest meanings of a word count, and only words that most people know are returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from boxpen.english.grammar import DETERMINERS, number, plural, singular
from boxpen.english.lexicon import is_verb, lemmas, pairs, table
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import plain, read
from boxpen.english.wordnet import Sense, WordNet, open_wordnet
from boxpen.errors import BuildError

__all__ = ["Dictionary", "commonness", "in_number_of", "open_dictionary"]

_COMMON = 4000  # times in the word list of pyspellchecker: 'stove' 5,222, 'rhinoceros' 615
_TELLING = 400_000  # times, below which a word of a definition tells what a thing is about
_MOST = 4  # words of one kind that are answered
_THINGS = frozenset(f"noun.{name}" for name in ("animal", "artifact", "body", "food"))
# Senses of which nearly everything is a kind: the place among those of the word, and what it is a
# kind of itself, by which it is known to be the right one.
_BROAD = {
    "whole": (2, "object"), "object": (1, "physical entity"), "artifact": (1, "whole"),
    "entity": (1, None), "person": (1, "organism"), "instrumentality": (3, "artifact"),
    "physical entity": (1, "entity"), "matter": (3, "physical entity"),
    "living thing": (1, "whole"), "adult": (1, "person"), "device": (1, "instrumentality"),
    "causal agent": (1, "physical entity"), "organism": (1, "living thing"),
    "substance": (1, "matter"), "worker": (1, "person"), "unit": (3, "organization"),
}  # fmt: skip


class Dictionary:
    """The questions that dual tests ask of WordNet.

    Raises:
        BuildError: If it is another edition, with the senses in another order.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self._broad = {_sense(wordnet, word, at, above) for word, (at, above) in _BROAD.items()}

    def opposites(self, word: str, part: str) -> list[str]:
        """Return common opposites of a base form in its two commonest senses, commonest first."""
        return _usual(self._wordnet.antonyms(word, part, 2))

    def are_opposites(self, one: str, two: str) -> bool:
        """Tell whether two words in whatever form are opposites, by our own list or by WordNet."""
        if pairs("opposites").get(one) == two or pairs("opposites").get(two) == one:
            return True
        for part in "avrn":
            first, second = (self._wordnet.lemma(word, part) for word in (one, two))
            if pairs("opposites").get(first) == second or second in self.opposites(first, part):
                return True
        return False

    def are_of_one_field(self, one: str, two: str) -> bool:
        """Tell whether two nouns, or the heads of two phrases, name things of one sort.

        Both are people, or places, or food: in the commonest sense of one of them at least.
        """
        heads = [self._wordnet.head_noun(phrase) for phrase in (one, two)]
        first, second = (self._fields(head or "") for head in heads)
        return bool({*first[:1]} & {*second} or {*second[:1]} & {*first})

    def is_thing(self, noun: str) -> bool:
        """Tell whether a noun in its commonest sense names what is counted: a bell, not a wish."""
        counted = _THINGS - {"noun.food"} | {"noun.person", "noun.plant"}
        return any(field in counted for field in self._fields(noun)[:1])

    def of_one_kind(self, noun: str, unlike: str) -> list[str]:
        """Return common nouns of the same kind: of an animal, a thing, food, a part of the body.

        None of them is ``unlike``, nor near to it: neither a kind of it nor a synonym.
        """
        book = self._wordnet
        found: list[str] = []
        near = {above for sense in book.senses(unlike, "n", 1) for above in self._above(sense, 3)}
        for sense in book.senses(noun, "n", 1):
            if book.field(sense) not in _THINGS:
                continue
            for above in book.above(sense):
                if above in self._broad or above in near:
                    continue
                for other in book.below(above):
                    name = book.name(other)
                    # The sense of the sibling must be the commonest one of its word.
                    if other != sense and other in book.senses(name, "n", 1):
                        found.append(name)
        return [
            name
            for name in _usual(found)
            if name not in {noun, unlike}
            and "ADJ" not in lemmas(name)
            and name in lemmas(name).get("VERB", (name,))  # 'working' and 'felt' are no things
            and not is_verb(name)
            and number(name) != "plural"
            and name not in known("plural_only") | known("auxiliaries")
            and book.related(name, noun, "n") is None
            and (not unlike or book.related(name, unlike, "n") is None)
            and (name in known("mass")) == (noun in known("mass"))
        ][:_MOST]

    def may_fit(self, noun: str, instead_of: str, words: Iterable[str]) -> bool:
        """Tell whether a noun may make sense among words where another makes none.

        So it may if these words, or what they mean, are in the definition of the one and not in
        that of the other: a 'bedroom' is for sleeping, as a 'bed' is, and a 'kitchen' is not. (This
        is the measure by which Lesk, 1986, tells senses apart.)
        """
        own = {noun} | self._defining(noun, "n", 1)
        own -= {instead_of} | self._defining(instead_of, "n", 1)
        about = {base for word in words for base in self._about(word)}
        return any(commonness(word) < _TELLING for word in own & about)

    def region(self, noun: str) -> str | None:
        """Return the part of a place that all such places have, if any: 'corner' of a room."""
        regions = table("regions").items()
        return next((part for kind, part in regions if self._wordnet.is_kind(noun, kind)), None)

    def _fields(self, noun: str) -> list[str]:
        """Return the fields of the two commonest senses; for many a thing the second is a person.

        A 'computer' is who computes, and a 'hand' who works.
        """
        book = self._wordnet
        senses = book.senses(noun, "n", 2) or book.senses(noun.capitalize(), "n", 2)
        found = [book.field(sense) for sense in senses]
        return [field for at, field in enumerate(found) if not at or field != "noun.person"]

    def _about(self, word: str) -> set[str]:
        """Return the base forms of a word, and the words by which its commonest senses are defined.

        Two senses of a verb count: 'eat' is to take in food, and to have a meal.
        """
        if word in _closed():
            return set()
        found = _bases(word)
        for name, part, count in (("NOUN", "n", 1), ("VERB", "v", 2)):
            for base in lemmas(word).get(name, ()):
                found |= self._defining(base, part, count)
        return found

    def _defining(self, word: str, part: str, count: int) -> set[str]:
        """Return the base forms of the words that define the commonest senses of a word."""
        book = self._wordnet
        texts = (book.definition(sense) for sense in book.senses(word, part, count))
        words = (low for text in texts for low in plain(read(text)) if low not in _closed())
        return {base for low in words for base in _bases(low)}

    def _above(self, sense: Sense, depth: int) -> list[Sense]:
        """Return what a sense is a kind of, some steps up, but nothing that all things are."""
        found = [above for above in self._wordnet.above(sense) if above not in self._broad]
        if depth > 1:
            found += [far for above in list(found) for far in self._above(above, depth - 1)]
        return found


@cache
def open_dictionary() -> Dictionary:
    """Open WordNet, once.

    Raises:
        BuildError: If it is nowhere, and cannot be fetched, or is another edition.
    """
    return Dictionary(open_wordnet())


def commonness(word: str) -> int:
    """Return how often a word occurs in a sample of English."""
    return int(_counts()[word])


def in_number_of(noun: str, like: str) -> str:
    """Return a noun in the number of another one."""
    return plural(noun) if number(like) == "plural" and singular(like) != like else noun


@cache
def _closed() -> frozenset[str]:
    return listed("closed") | listed("prepositions") | DETERMINERS


def _bases(word: str) -> set[str]:
    found = lemmas(word).items()
    return {base for part, bases in found if part in {"NOUN", "VERB", "ADJ"} for base in bases}


def _sense(wordnet: WordNet, word: str, at: int, above: str | None) -> Sense:
    """Return a sense of a noun by its place, if it is a kind of what it should be."""
    for sense in wordnet.senses(word, "n")[at - 1 : at]:
        kinds = [wordnet.name(kind) for kind in wordnet.above(sense)]
        if above in kinds or (above is None and not kinds):
            return sense
    what = "what all things are" if above is None else f"a kind of '{above}'"
    raise BuildError(
        f"sense {at} of the noun '{word}' in WordNet is not {what}, expected WordNet 3.0; set "
        "BOXPEN_WORDNET to a folder with its files"
    )


def _usual(names: Iterable[str]) -> list[str]:
    single = (name for name in dict.fromkeys(names) if name.isalpha() and name.islower())
    usual = [name for name in single if commonness(name) >= _COMMON and lemmas(name)]
    return sorted(usual, key=lambda name: (-commonness(name), name))


@cache
def _counts() -> Any:
    from spellchecker import SpellChecker

    return SpellChecker(language="en").word_frequency
