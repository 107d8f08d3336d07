"""Which tails are never surely wrong, whatever the head: the question is open.

People can do, and want, nearly anything, and whatever a thing is made of, it is made of atoms. What
one feels, does or becomes may follow from any event; only what names something that few events
speak of is out of place elsewhere. An open tail serves as a wrong one for no triple, and its own
triple gets no wrong tails: otherwise an answer could be recognised by its sort.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from boxpen.build.kg.kinship import ANYONE
from boxpen.build.kg.triples import ATOMIC

if TYPE_CHECKING:
    from boxpen.build.kg.kinship import Kin, Phrase

__all__ = ["ANYWHERE", "is_open"]

_DEGREES = frozenset(
    {"very", "extremely", "really", "large", "big", "small", "high", "low", "good", "bad", "great"}
    | {"useful", "different", "strong", "long", "short", "lot", "many", "value", "advantage"}
    | {"hole", "lesson", "frame", "frequency", "map", "water"}
)
"""Words of degree: how large is a large head?"""

# What holds of nearly everything: whatever a thing is made of, it is made of atoms, and whatever it
# has, it has a shape.
ANYWHERE = {
    "capableof": frozenset(
        {"cause", "help", "happen", "appear", "problem", "mistake", "cost", "change", "affect"}
        | {"be", "become", "have", "make", "feel", "look", "move", "fall", "hang", "anger"}
        | {"break", "destroy", "harm", "hit", "hold", "carry", "result", "produce", "use"}
    ),
    "createdby": ANYONE,
    "madeof": frozenset(
        {"atom", "molecule", "particle", "matter", "material", "carbon", "polymer", "element"}
        | {"energy", "cell", "chemical", "compound", "substance", "stuff"}
    ),
    "hasa": _DEGREES
    | {"shape", "smell", "size", "color", "colour", "name", "age", "end", "energy"}
    | {"lifespan", "span", "weight", "surface", "part", "use", "field", "air", "food"},
    "xWant": frozenset({"television", "gym", "cab", "computer", "contract", "art"}),
    "xIntent": frozenset({"enjoy", "checkup", "competition"}),
    "xEffect": frozenset({"cab", "answer", "bed"}),
}
_HERS = frozenset({"her", "his"})  # which are said of few heads

_PEOPLE = frozenset({"persony", "personz", "family"})
_ALWAYS = frozenset({"desires", "xAttr"})  # a mood or a trait may go with any event
_THINGS = frozenset(
    {"noun.artifact", "noun.animal", "noun.plant", "noun.food", "noun.object", "noun.substance"}
    | {"noun.communication", "noun.possession", "noun.event"}
)
_AIMS = frozenset({"noun.act", "noun.relation", "noun.group"})
# People alone and together, and forces: what could they not do?
_FORCES = frozenset({"noun.group", "noun.phenomenon", "noun.event", "noun.act", "noun.state"})


def is_open(kin: Kin, relation: str, phrase: Phrase, text: str, heads: Collection[str]) -> bool:
    """Return whether a tail is open.

    Args:
        relation: Of the tail.
        phrase: What the tail is about.
        text: The tail as it is worded.
        heads: Those that it is said of in the table, in normal form.
    """
    words = {*phrase.key.split(), phrase.about, *text.lower().split()}
    if relation in _ALWAYS or words & (ANYWHERE.get(relation, frozenset()) | _HERS):
        return True
    if relation == "capableof":
        return any(kin.is_person(head) or kin.field(head) in _FORCES for head in heads)
    return relation in ATOMIC and not _specific(kin, relation, phrase, text)


def _specific(kin: Kin, relation: str, phrase: Phrase, text: str) -> bool:
    """Return whether a tail is about a thing, and names what few events speak of."""
    words = phrase.key.split()
    if any(word in _PEOPLE or kin.is_person(word) for word in words[1:]):
        return False
    things = _THINGS | (_AIMS if relation == "xIntent" else frozenset())
    about = kin.wordnet is None or kin.field(text.rpartition(" ")[2]) in things
    return about and any(map(kin.rare, phrase.words))
