"""WordNet: which words mean the same, or the opposite, and which thing is a kind of which.

The dictionary (Princeton WordNet 3.x, a licence of its own that lets anyone use and pass it on) is
read by NLTK; ``boxpen.english.wordnet_files`` finds it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from boxpen.english.wordnet_files import FILES, find_wordnet, need_nltk
from boxpen.errors import BuildError

__all__ = ["Kinship", "Sense", "WordNet", "open_wordnet"]

Kinship = Literal["synonym", "hypernym", "hyponym", "similar"]
"""What the second of two words is to the first; ``similar`` is for adjectives."""

_PARTS = tuple(FILES)

# After these the words of a noun phrase only say more about the noun before them.
_NOUN_ENDS = frozenset(
    {"of", "in", "on", "at", "with", "without", "for", "to", "from", "by", "about", "into", "onto"}
    | {"over", "under", "between", "that", "which", "who", "whose", "where", "when", "while"}
    | {"and", "or", "but"}
)
# 'a kind of tree' is a tree.
_CLASSIFIERS = frozenset(
    {"kind", "type", "sort", "form", "piece", "bit", "variety", "species", "group", "pair"}
)


def open_wordnet(*, download: bool = True) -> WordNet:
    """Open the dictionary, wherever it is found; see ``find_wordnet``."""
    return _opened(find_wordnet(download=download))


class Sense(NamedTuple):
    """A meaning: its place in the dictionary."""

    part: str
    offset: int


class WordNet:
    """The questions that builders ask of the dictionary.

    A word is looked up in whatever inflection it comes, in all its senses. A phrase that the
    dictionary does not have is looked up by its head noun: a 'big red dog' is a 'dog', so 'dog'
    and all that a dog is are hypernyms of it; it has no synonyms and no hyponyms. Answers are
    lower-case words and phrases with spaces, never the word itself. A part of speech is ``n``,
    ``v``, ``a`` or ``r``; without one, all are looked up.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader  # nltk's WordNetCorpusReader
        self._kept: dict[tuple[Any, ...], Any] = {}

    def knows(self, word: str, part: str | None = None) -> bool:
        """Return whether the dictionary has the word, or the phrase as a whole."""
        return bool(self._senses(word, part))

    def lemma(self, word: str, part: str | None = None) -> str:
        """Return the form under which the dictionary has a word; the word itself if it has not."""
        word = _spaced(word)
        if (key := ("lemma", word, part)) not in self._kept:
            forms = (self._lemma(word, each) for each in ((part,) if part else _PARTS))
            self._kept[key] = next((form for form in forms if form), word)
        found: str = self._kept[key]
        return found

    def head_noun(self, phrase: str) -> str | None:
        """Return the noun that a phrase is about, or None if the dictionary has none.

        'a big red dog' is about 'dog', 'the top of the hill' about 'top', 'a kind of tree' about
        'tree'.
        """
        words = re.findall(r"[\w'-]+", phrase.lower())
        end = next((i for i, w in enumerate(words) if i and w in _NOUN_ENDS), len(words))
        for word in reversed(words[:end]):
            if self._senses(word, "n"):
                noun = self.lemma(word, "n")
                if noun in _CLASSIFIERS and words[end : end + 1] == ["of"]:
                    return self.head_noun(" ".join(words[end + 1 :])) or noun
                return noun
        return None

    def synonyms(self, word: str, part: str | None = None) -> frozenset[str]:
        """Return the words that share a sense with this one."""
        return self._names("synonyms", word, part, None)

    def hypernyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        """Return what a thing is a kind of, up to ``depth`` steps, or to the top."""
        if self._senses(word, part) or " " not in _spaced(word) or part not in (None, "n"):
            return self._names("hypernyms", word, part, depth)
        head = self.head_noun(word)
        if head is None or depth == 0:
            return frozenset()
        above = self._names("hypernyms", head, "n", None if depth is None else depth - 1)
        return above | self.synonyms(head, "n") | {head}

    def hyponyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        """Return the kinds that there are of a thing, down to ``depth`` steps, or to the end."""
        return self._names("hyponyms", word, part, depth)

    def siblings(self, word: str, depth: int = 1, part: str | None = None) -> frozenset[str]:
        """Return the words that are, like this one, a kind of the same, ``depth`` steps above."""
        return self._names("siblings", word, part, depth)

    def similar(self, word: str) -> frozenset[str]:
        """Return the adjectives that the dictionary puts near this one."""
        return self._names("similar", word, "a", None)

    def related(self, first: str, second: str, part: str | None = None) -> Kinship | None:
        """Return what the second word is to the first, or None.

        A word is a synonym of itself in any inflection. Phrases that the dictionary does not have
        are compared by their head nouns also: 'big dog' and 'small poodle' are related.
        """
        for each in (part,) if part else _PARTS:
            if found := self._related(first, second, each):
                return found
        heads = self._head_or_self(first, part), self._head_or_self(second, part)
        return None if heads == (first, second) else self.related(*heads, part="n")

    def antonyms(self, word: str, part: str, count: int | None = None) -> list[str]:
        """Return the direct opposites of a base form, in its ``count`` commonest senses or in all.

        They are in the order and spelling of the dictionary: 'wet' has 'dry'. What is only
        near to an opposite ('moist' to 'arid') is none.
        """
        return [
            self._entry(opposite.sense).words[opposite.word]
            for sense in self.senses(word, part, count)
            for opposite in self._entry(sense).opposites
            if self._entry(sense).words[opposite.of] == word
        ]

    def senses(self, word: str, part: str, count: int | None = None) -> list[Sense]:
        """Return the senses of a base form that is spelt so, commonest first.

        'china' has none of the country's.
        """
        return [one for one in self._senses(word, part) if word in self._entry(one).words][:count]

    def name(self, sense: Sense) -> str:
        """Return the word that the dictionary names first of a sense, spelt as there."""
        return self._entry(sense).words[0]

    def field(self, sense: Sense) -> str:
        """Return the field of a sense: 'noun.food', 'verb.motion'."""
        return str(self._reader._lexnames[self._entry(sense).field])

    def definition(self, sense: Sense) -> str:
        """Return what a sense means, in words, without examples."""
        return self._entry(sense).definition

    def closeness(self, first: str, second: str, part: str) -> float:
        """Return how near the commonest senses of two words are, from 0 to 1.

        The measure is that of Wu and Palmer (1994), the depth of what both are a kind of over their
        mean depth, along the first hypernym of every sense. Verbs have many tops: those of a field
        count as kinds of it.
        """
        one, two = self._path(first, part), self._path(second, part)
        common = sum(a == b for a, b in zip(one, two, strict=False))
        return 2 * common / (len(one) + len(two)) if one and two else 0.0

    def _path(self, word: str, part: str) -> tuple[Sense | str, ...]:
        """Return the way from the top down to the commonest sense of a word."""
        if (key := ("path", word, part)) not in self._kept:
            way: list[Sense | str] = []
            here = self._senses(word, part)[:1]
            while here and here[0] not in way:
                way.append(here[0])
                here = list(self.above(here[0]))[:1]
            top = (
                [self.field(way[-1])] if way and part == "v" and isinstance(way[-1], Sense) else []
            )
            self._kept[key] = (*top, *reversed(way))
        found: tuple[Sense | str, ...] = self._kept[key]
        return found

    def above(self, sense: Sense) -> tuple[Sense, ...]:
        """Return what a sense is a kind of, one step up."""
        return self._entry(sense).up

    def below(self, sense: Sense) -> tuple[Sense, ...]:
        """Return the kinds and instances of a sense, one step down."""
        return self._entry(sense).down

    def is_kind(self, noun: str, of: str) -> bool:
        """Return whether the commonest sense of a noun is below the commonest one of another."""
        first = self._senses(noun, "n")[:1]
        return not set(self._senses(of, "n")[:1]).isdisjoint((*first, *self._closure(first, "up")))

    def is_person(self, noun: str) -> bool:
        """Return whether the commonest sense of a noun, or of a phrase's head, is a person."""
        first = (self._senses(noun, "n") or self._senses(self.head_noun(noun) or "", "n"))[:1]
        # 'human' is filed under animals, below the hominids; a chauffeur is an agent that operates.
        people = {s for name in ("person", "hominid") for s in self._senses(name, "n")[:1]}
        above = (*first, *self._closure(first, "up"))
        return not people.isdisjoint(above) or "noun.person" in map(self.field, first)

    def _related(self, first: str, second: str, part: str) -> Kinship | None:
        one, two = self.lemma(first, part), self.lemma(second, part)
        if one == two or two in self.synonyms(one, part):
            return "synonym"
        if two in self.hypernyms(one, part=part):
            return "hypernym"
        if one in self.hypernyms(two, part=part):
            return "hyponym"
        return "similar" if part == "a" and two in self.similar(one) else None

    def _head_or_self(self, word: str, part: str | None) -> str:
        if " " in _spaced(word) and part in (None, "n") and not self._senses(word, part):
            return self.head_noun(word) or word
        return word

    def _has(self, form: str, part: str) -> bool:
        known = self._reader._lemma_pos_offset_map  # lemma -> part of speech -> offsets
        return form in known and part in known[form]

    def _lemma(self, word: str, part: str) -> str | None:
        joined = word.replace(" ", "_")
        if self._has(joined, part):
            return word
        form = self._reader.morphy(joined, part) or _uninflected(joined, part)
        return str(form).replace("_", " ") if form and self._has(form, part) else None

    def _senses(self, word: str, part: str | None) -> list[Sense]:
        if (key := ("senses", word, part)) not in self._kept:
            senses = []
            for each in (part,) if part else _PARTS:
                joined = self.lemma(word, each).replace(" ", "_")
                offsets = self._reader._lemma_pos_offset_map.get(joined, {}).get(each, ())
                senses += [Sense(each, offset) for offset in offsets]
            self._kept[key] = senses
        found: list[Sense] = self._kept[key]
        return found

    def _names(
        self, relation: str, word: str, part: str | None, depth: int | None
    ) -> frozenset[str]:
        if (key := (relation, word, part, depth)) not in self._kept:
            senses = self._senses(word, part)
            if relation == "similar":
                # A cluster of adjectives: its head, and all that lean on it.
                senses = self._closure(senses, "similar", 2)
            elif relation == "siblings":
                above = self._closure(senses, "up", depth)
                senses = [s for s in self._closure(above, "down", depth) if s not in senses]
            elif relation != "synonyms":
                senses = self._closure(senses, "up" if relation == "hypernyms" else "down", depth)
            names = {name.lower() for sense in senses for name in self._entry(sense).words}
            self._kept[key] = frozenset(names - {_spaced(word), self.lemma(word, part)})
        found: frozenset[str] = self._kept[key]
        return found

    def _closure(self, senses: list[Sense], way: str, depth: int | None = None) -> list[Sense]:
        """Return the senses above, below or near some, without them, nearest first."""
        seen = dict.fromkeys(senses)
        edge, steps = list(seen), 0
        while edge and steps != depth:
            reached = (near for sense in edge for near in getattr(self._entry(sense), way))
            edge = [near for near in dict.fromkeys(reached) if near not in seen]
            seen.update(dict.fromkeys(edge))
            steps += 1
        return list(seen)[len(set(senses)) :]

    def _entry(self, sense: Sense) -> _Entry:
        if (key := ("entries", sense.part)) not in self._kept:
            # All of a part of speech at once: NLTK's way, one by one, is ten times slower.
            with self._reader.open(f"data.{FILES[sense.part]}") as stream:
                self._kept[key] = dict(_entries(stream.read(), sense.part))
        found: _Entry = self._kept[key][sense.offset]
        return found


class _Opposite(NamedTuple):
    """That a word of an entry is the opposite of a word of another; words by their places."""

    of: int
    sense: Sense
    word: int


class _Entry(NamedTuple):
    """What the dictionary has of a sense."""

    words: tuple[str, ...]
    field: int
    definition: str
    opposites: tuple[_Opposite, ...]
    up: tuple[Sense, ...]
    down: tuple[Sense, ...]
    similar: tuple[Sense, ...]


def _entries(text: str, part: str) -> Iterator[tuple[int, _Entry]]:
    """Read a data file: its format is described in the manual page wndb(5WN)."""
    for line in text.splitlines():
        if line.startswith(" "):  # the licence
            continue
        facts, _, gloss = line.partition(" | ")
        cells = facts.split()
        count = int(cells[3], 16)
        pointers = cells[5 + 2 * count :]
        ways: dict[str, list[Sense]] = {"@": [], "~": [], "&": []}
        opposites: list[_Opposite] = []
        for at in range(0, 4 * int(cells[4 + 2 * count]), 4):
            symbol, offset, of, places = pointers[at : at + 4]
            if of not in (part, "s"):
                continue
            sense = Sense(part, int(offset))
            # '@i' and '~i' are to an instance what '@' and '~' are to a kind.
            if symbol[0] in ways:
                ways[symbol[0]].append(sense)
            elif symbol == "!":
                # Of words, not of senses: the places of both, in hexadecimal, from 1.
                opposites.append(_Opposite(int(places[:2], 16) - 1, sense, int(places[2:], 16) - 1))
        words = (re.sub(r"\(\w+\)$", "", word) for word in cells[4 : 4 + 2 * count : 2])
        yield (
            int(cells[0]),
            _Entry(
                tuple(word.replace("_", " ") for word in words),
                int(cells[1]),
                gloss.partition('; "')[0].strip(),
                tuple(opposites),
                *(tuple(way) for way in ways.values()),
            ),
        )


@lru_cache(maxsize=2)
def _opened(path: Path) -> WordNet:
    """Read the dictionary's index: a second or two, so once."""
    need_nltk()
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out the map for other languages: it needs a second WordNet, NLTK's own."""

        def open(self, file: str) -> Any:
            """Open a file; not every copy has the lists of irregular forms: see _uninflected."""
            lacking = file.endswith(".exc") and path.is_dir() and not (path / file).exists()
            return io.StringIO() if lacking else super().open(file)

    root = str(path.resolve())
    if root not in nltk.data.path:
        nltk.data.path.append(root)  # NLTK reads no folder that is not registered there
    try:
        return WordNet(Reader(f"{root}/wordnet/" if path.suffix == ".zip" else root, object()))
    except (OSError, ValueError, KeyError, AssertionError, StopIteration, WordNetError) as error:
        reason = str(error).strip() or type(error).__name__
        raise BuildError(f"{path} is not WordNet as NLTK reads it ({reason})") from None


def _uninflected(form: str, part: str) -> str | None:
    """Return the base of an irregular form ('geese', 'caught'): not every copy has the lists."""
    try:
        from lemminflect import getLemma
    except ImportError:
        return None
    tag = {"n": "NOUN", "v": "VERB", "a": "ADJ", "r": "ADV"}[part]
    *before, last = form.split("_")
    found: tuple[str, ...] = getLemma(last, tag, lemmatize_oov=False)
    return "_".join((*before, found[0])) if found else None


def _spaced(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").split())
