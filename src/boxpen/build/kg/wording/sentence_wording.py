"""Triples as training sentences, worded as in the graph pipeline.

Tests are made of few relations, so that ``wordings`` has a sentence of its own for
those only, and says of any other that two things go together. A language model would learn that
phrase and little else. Here more relations are said: those that can be put through one that has
its sentence ('can be eaten' for what receives an action), and those that link two actions. What
has no sentence of its own is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from boxpen.build.kg.triples import ATOMIC
from boxpen.build.kg.wording.wordings import Wording, wordings
from boxpen.english.conjugation import agree, gerund
from boxpen.english.grammar import capitalised, number
from boxpen.english.lexicon import is_adjective, is_verb, listed
from boxpen.english.nouns import UnwordableError
from boxpen.english.phrase import noun_phrases, verb_phrases

__all__ = ["RELATIONS", "sentences_of"]

_PLAIN = (
    *("atlocation", "capableof", "createdby", "desires", "hasa", "isa", "madeof", "partof"),
    "usedfor",
)


def sentences_of(relation: str, head: str, tail: str, ways: int = 1) -> list[str]:
    """Return up to ``ways`` sentences that state a triple, the plainest first, or none."""
    out: dict[str, None] = {}
    for sentence in _said(relation, head, tail):
        out.setdefault(sentence)
        if len(out) == ways:
            break
    return list(out)


def _said(relation: str, head: str, tail: str) -> Iterator[str]:
    if relation in _PLAIN or relation in ATOMIC:
        yield from (way.sentence for way in wordings(relation, head, tail))
    elif relation in _THROUGH:
        other, change = _THROUGH[relation]
        put = f"be {tail}" if relation in _STATES else tail
        if relation == "hasproperty" and not is_adjective(tail.split()[-1]):
            return  # 'right hand' is no property
        yield from (change(way) for way in wordings(other, head, put))
    elif relation in _LINKED:
        pattern, plain = _LINKED[relation]
        for first, second in _actions(head, tail, plain=plain):
            if relation == "hassubevent" and first.startswith("be "):
                first = f"are {first.removeprefix('be ')}"  # 'when you are shot'
            yield capitalised(pattern.format(head=first, tail=second))


def _property(way: Wording) -> str:
    between = agree("be", many=number(way.head) == "plural")
    return way.sentence.replace(f"{way.stem} be ", f"{_bare(way, 'can')} {between} ", 1)


def _unable(way: Wording) -> str:
    return way.sentence.replace(way.stem, f"{_bare(way, 'can')} cannot", 1)


def _unwilling(way: Wording) -> str:
    many = number(way.head) == "plural"
    verb = agree("want", many=many)
    between = f"{agree('do', many=many)} not want"
    return way.sentence.replace(way.stem, f"{_bare(way, verb)} {between}", 1)


def _bare(way: Wording, verb: str) -> str:
    """Return the head as it opens the sentence."""
    return way.stem.removesuffix(f" {verb}")


_STATES = ("hasproperty", "receivesaction")
_THROUGH: dict[str, tuple[str, Callable[[Wording], str]]] = {
    # relation -> the one whose sentence it takes, and what is changed in it
    "hasproperty": ("capableof", _property),
    "receivesaction": ("capableof", lambda way: way.sentence),
    "notcapableof": ("capableof", _unable),
    "notdesires": ("desires", _unwilling),
}
_LINKED = {
    # relation -> its sentence, and whether both sides are plain verbs in it, or things as well
    "hasprerequisite": ("To {head}, you need to {tail}.", True),
    "hassubevent": ("When you {head}, you may {tail}.", True),
    "motivatedbygoal": ("You would {head} in order to {tail}.", True),
    "causes": ("{head} can lead to {tail}.", False),
}

RELATIONS = (*_PLAIN, *_THROUGH, *_LINKED, *ATOMIC)
"""Relations that have a sentence of their own."""


def _actions(head: str, tail: str, *, plain: bool) -> Iterator[tuple[str, str]]:
    """Yield the ways of two actions, or of things where these may stand as well."""
    firsts, seconds = (_ways(side, plain=plain) for side in (head, tail))
    yield from zip(firsts, seconds, strict=False)


def _ways(phrase: str, *, plain: bool) -> list[str]:
    words = phrase.removeprefix("to ").split()
    found = []
    if words and (is_verb(words[0]) or words[0] in listed("verbs")):  # not 'motor', 'cash', 'skill'
        try:
            found = verb_phrases(phrase)
        except UnwordableError:
            return []
    if plain:
        return found
    if found:
        return [gerund(way) for way in found]
    try:
        return noun_phrases(phrase)
    except UnwordableError:
        return []
