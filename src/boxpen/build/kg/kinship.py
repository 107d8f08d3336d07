"""Which heads and tails of a graph are related, by the graph itself and by WordNet.

Everything is compared by normal forms (see ``boxpen.english.normal``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from boxpen.build.kg.triples import ATOMIC
from boxpen.english.normal import normal_column

if TYPE_CHECKING:
    from boxpen.english.wordnet import WordNet

__all__ = ["ANYONE", "EDGE", "Facts", "Kin", "Limits", "Phrase", "overlap", "phrase_of"]

EDGE = ("head", "relation", "tail")
"""The columns that facts are made of."""

ANYONE = frozenset(
    {"person", "human", "someone", "somebody", "anyone", "everyone", "everybody", "anybody"}
    | {"you", "we", "i", "they", "he", "she", "man", "woman", "child", "boy", "girl"}
    | {"male", "female"}
)
"""What graphs call people; in normal form."""

_UP = frozenset(("isa", "instanceof", "inheritsfrom", "definedas", "mannerof"))
_SAME = frozenset(("synonym", "similarto", "formof", "definedas"))
_NEAR = _UP | _SAME | {"relatedto", "derivedfrom"}

# Words without content, and verbs that leave the content to their object.
_EMPTY = frozenset(
    {"to", "of", "in", "on", "at", "with", "for", "from", "by", "about", "into", "up", "out", "off"}
    | {"and", "or", "as", "it", "he", "she", "they", "them", "him", "you", "i", "me", "we", "us"}
    | {"not", "no", "very", "more", "so", "too", "can", "will", "someone", "something", "one"}
    | {"personx", "persony", "personz", "person", "other", "back", "over", "down", "away", "___"}
)
_LIGHT = frozenset(
    {"be", "have", "get", "make", "do", "take", "go", "give", "become", "feel", "want", "need"}
    | {"try", "start", "keep", "use", "put", "come", "let", "help", "decide"}
)
_SIBLING = 0.9  # closeness of two nouns of one kind, at the usual depth of WordNet
_ENDS_NOUN = frozenset({"of", "in", "on", "at", "with", "for", "from", "by", "about", "to", "that"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How careful the choice of wrong tails is.

    Attributes:
        general: A tail is general if it holds for more than this share of a relation's heads …
        general_events: … or for this share if they are events, and what they lead to (each is
            unlike the others, so that what holds for many holds for any) …
        general_heads: … and for at least this many heads …
        general_event_heads: … or this many events.
        alike: Two tails are nearly the same if this share of their content words is common.
        company: How many times more often than by chance two tails share a head before one
            speaks for the other; infinity switches it off.
        siblings: A head has what its siblings have, by a common hypernym this many steps up.
        hub: A head with more tails than this in a relation says nothing about their company.
        boundless: A head with more tails than this in a relation gets no wrong ones.
        siblings_made: The same for what a head is made of: what one tool or garment is made of,
            another may be.
        cousins: A head has what heads of nearly its kind have, if they are nearer than this by
            ``WordNet.closeness``.
        distant: The same for what heads can do, have and are made by, which things of like kinds
            share more often.
        nearness: What being of the same kind as the right tail, and holding of heads like this one,
            is worth against equal use and equal length.
        wear: Maximum use of a tail, relative to equal use of all.
        open_ended: Whether open tails serve too, and open triples get wrong tails: only for those
            who judge them one by one.
        rare: A word is rare if at most this share of the events has it, in what happens or in
            what it leads to …
        rare_events: … or at most this many.
    """

    general: float = 0.02
    general_events: float = 0.0003
    general_heads: int = 20
    general_event_heads: int = 5
    alike: float = 0.5
    company: float = 1.0
    siblings: int = 1
    siblings_made: int = 2
    cousins: float = 0.8
    distant: float = 0.6
    hub: int = 50
    boundless: int = 100
    nearness: float = 1.5
    wear: float = 2.0
    open_ended: bool = False
    rare: float = 0.003
    rare_events: int = 5


class Kin:
    """Who is related to whom, by a graph and by WordNet."""

    def __init__(self, facts: Facts, wordnet: WordNet | None, limits: Limits) -> None:
        self.facts, self.wordnet, self.limits = facts, wordnet, limits
        self._kept: dict[tuple[str, ...], frozenset[str]] = {}
        self._people: dict[str, bool] = {}

    def kinds(self, head: str, relation: str = "") -> frozenset[str]:
        """Return what a thing is a kind of, its kinds, its synonyms and near siblings."""
        made = relation == "madeof"
        if (key := ("kinds", head, "made" if made else "")) not in self._kept:
            facts, words = self.facts, self.wordnet
            found = _closure(facts.above, head) | _closure(facts.below, head)
            found |= facts.same.get(head, set())
            if words is not None:
                found |= words.hypernyms(head, part="n") & facts.linked.keys()
                found |= words.hyponyms(head, part="n") & facts.linked.keys()
                steps = self.limits.siblings_made if made else self.limits.siblings
                found |= words.siblings(head, steps, "n") & facts.linked.keys()
                found |= words.synonyms(head, part="n")
            self._kept[key] = frozenset(found)
        return self._kept[key]

    def is_person(self, head: str) -> bool:
        """Return whether a head is a person, or anyone."""
        if head not in self._people:
            known = self.wordnet is not None and self.wordnet.is_person(head)
            self._people[head] = known or not ANYONE.isdisjoint(head.split())
        return self._people[head]

    def field(self, noun: str) -> str:
        """Return the field of the commonest sense of a noun or of a phrase's head, or nothing."""
        words = self.wordnet
        name = words and (noun if words.knows(noun, "n") else words.head_noun(noun))
        if words is None or not name:
            return ""
        (first,) = words.senses(words.lemma(name, "n"), "n", 1) or (None,)
        return words.field(first) if first else ""

    def rare(self, word: str) -> bool:
        """Return whether few events have a word."""
        limits, facts = self.limits, self.facts
        most = max(limits.rare_events, limits.rare * facts.all_events)
        return facts.events[word] <= most

    def synonyms(self, phrase: Phrase) -> frozenset[str]:
        """Return the normal forms and words that mean the same as a tail."""
        if (key := ("synonyms", phrase.key, phrase.about, phrase.part)) not in self._kept:
            found = set(self.facts.same.get(phrase.key, ()))
            if self.wordnet is not None:
                for word in (phrase.key, phrase.about):
                    found |= self.wordnet.synonyms(word, phrase.part)
                if phrase.part == "a":
                    found |= self.wordnet.similar(phrase.about)
            self._kept[key] = frozenset(found)
        return self._kept[key]

    def related(self, phrase: Phrase) -> frozenset[str]:
        """Return the normal forms and words that mean a kind of what a tail means."""
        found = self.synonyms(phrase) | self.facts.near.get(phrase.key, set())
        if self.wordnet is None:
            return found
        # A verb's far relatives are all verbs: everything done is done by 'moving' or 'making'.
        depth = 1 if phrase.part == "v" else None
        whole = self.wordnet.knows(phrase.key, phrase.part)
        word = phrase.key if whole else phrase.about
        found |= self.wordnet.hypernyms(word, depth, phrase.part)
        return found | self.wordnet.hyponyms(word, depth, phrase.part)

    def company(self, relation: str, tail: str) -> frozenset[str]:
        """Return the tails that stand with a tail more often than by chance."""
        if (key := ("company", relation, tail)) not in self._kept:
            tails, heads = self.facts.tails[relation], self.facts.heads[relation]
            own = [head for head in heads[tail] if len(tails[head]) <= self.limits.hub]
            together = Counter(other for head in own for other in tails[head])
            expected = self.limits.company * len(heads[tail]) / max(1, len(tails))
            self._kept[key] = frozenset(
                other for other, times in together.items() if times > expected * len(heads[other])
            )
        return self._kept[key]

    def near(self, one: Phrase, other: Phrase) -> float:
        """Return how far two tails speak of the same kind of thing, from 0 to 1.

        Noun phrases are compared by their nouns, verb phrases by their verbs and by what they end
        in. What has the very same hypernym is too near to
        be preferred: cotton and wool.
        """
        words = self.wordnet
        if words is None or one.part != other.part or one.part == "a":
            return 0.0
        found = words.closeness(one.about, other.about, one.part)
        if one.part == "v":
            mine, theirs = (phrase.key.rpartition(" ")[2] for phrase in (one, other))
            return (found + words.closeness(mine, theirs, "n")) / 2
        return found if found < _SIBLING else 0.5

    def near_heads(self, one: str, other: str) -> float:
        """Return how far two heads are the same kind of thing, from 0 to 1."""
        words = self.wordnet
        if words is None:
            return 0.0
        nouns = (name if words.knows(name, "n") else words.head_noun(name) for name in (one, other))
        first, second = nouns
        return words.closeness(first, second, "n") if first and second else 0.0

    def alike(self, one: Phrase, other: Phrase) -> bool:
        """Return whether two tails say nearly the same."""
        return (
            one.about == other.about
            or overlap(one.words, other.words) >= self.limits.alike
            or not self.synonyms(one).isdisjoint((other.key, other.about))
            or not self.synonyms(other).isdisjoint((one.key, one.about))
        )


class Facts:
    """What a graph says about some triples, by normal forms.

    Most edges of a big graph are irrelevant to them, and would fill the memory. Kept are the edges
    of the triples' relations, those of their heads and tails, those between kinds, and synonyms of
    other tails that the heads have.

    Args:
        graph: All triples, including those asked about.
        relations: The relations asked about.
        heads: The heads asked about.
        tails: The tails asked about, in all their wordings.
    """

    def __init__(
        self, graph: pl.DataFrame, *, relations: pl.Series, heads: pl.Series, tails: pl.Series
    ) -> None:
        def index() -> dict[str, set[str]]:
            return defaultdict(set)

        self.linked, self.near, self.same = index(), index(), index()  # either way
        self.above, self.below = index(), index()
        self.tails: dict[str, dict[str, set[str]]] = defaultdict(index)  # relation -> head ->
        self.heads: dict[str, dict[str, set[str]]] = defaultdict(index)  # relation -> tail ->
        self.met = index()  # content word of a tail -> those of the heads of such tails
        speak, asked = index(), set(relations)
        for relation, head, tail in _edges(graph, relations, heads, tails).iter_rows():
            if relation in asked:
                content = phrase_of(head, "clause").words
                for word in phrase_of(tail, "clause").words:
                    self.met[word] |= content
            if relation in ATOMIC:
                for word in (*head.split(), *tail.split()):
                    speak[word].add(head)
            self.linked[head].add(tail)
            self.linked[tail].add(head)
            self.tails[relation][head].add(tail)
            self.heads[relation][tail].add(head)
            if relation in _NEAR:
                self.near[head].add(tail)
                self.near[tail].add(head)
            if relation in _UP:
                self.above[head].add(tail)
                self.below[tail].add(head)
            if relation in _SAME:
                self.same[head].add(tail)
                self.same[tail].add(head)
        self.events = Counter({word: len(heads) for word, heads in speak.items()})
        self.all_events = len({head for of in ATOMIC for head in self.tails[of]})


class Phrase(NamedTuple):
    """What a head or a tail is compared by."""

    key: str  # the normal form
    words: frozenset[str]  # those that tell what it is about
    about: str  # the one word that it is about
    part: str  # of speech, of that word


@lru_cache(maxsize=1 << 18)
def phrase_of(key: str, form: str) -> Phrase:
    """Take a normal form apart: what it is about is the noun, adjective or verb that heads it."""
    words = key.split() or [""]
    full = [w for w in words if w not in _EMPTY] or words
    part = {"np": "n", "adj": "a"}.get(form, "v")
    if part == "n":
        end = next((i for i, w in enumerate(words) if i and w in _ENDS_NOUN), len(words))
        inside = [w for w in words[:end] if w not in _EMPTY] or full
        return Phrase(key, frozenset(full), inside[-1], part)
    heavy = [w for w in full if w not in _LIGHT] or full
    if part == "a":
        return Phrase(key, frozenset(heavy), heavy[-1], part)
    return Phrase(key, frozenset(heavy), heavy[0], "v" if heavy[0] == full[0] else "n")


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return which share of the words of two phrases both have."""
    return len(one & other) / max(1, len(one | other))


def _edges(
    graph: pl.DataFrame, relations: pl.Series, heads: pl.Series, tails: pl.Series
) -> pl.DataFrame:
    """Return relation, head and tail, in normal form, of the edges that ``Facts`` is made of."""
    edges = graph.select(
        "relation", normal_column(graph["head"]), normal_column(graph["tail"])
    ).unique()
    heads = normal_column(heads)
    nodes = pl.concat([heads, normal_column(tails)]).unique()
    own = pl.col("relation").is_in(relations.unique().implode())
    others = edges.filter(own & pl.col("head").is_in(heads.implode()))["tail"].unique()

    def touches(some: pl.Series) -> pl.Expr:
        return pl.col("head").is_in(some.implode()) | pl.col("tail").is_in(some.implode())

    kinds, synonyms = (pl.col("relation").is_in(names) for names in (_UP, _SAME))
    return edges.filter(own | kinds | touches(nodes) | (synonyms & touches(others)))


def _closure(steps: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    edge = {start}
    while edge:
        edge = {far for near in edge for far in steps.get(near, ())} - found - {start}
        found |= edge
    return found
