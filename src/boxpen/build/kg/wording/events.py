"""Events of ATOMIC and what is said of them, brought into one form for each relation.

Heads are sentences: 'PersonX pays the bill'. Tails were typed by many people ('to find work',
'finds work', 'PersonX is thanked', 'tired'); they become base-form verb phrases for ``xWant``,
``xNeed``, ``xIntent`` and ``xEffect`` ('find work', 'be thanked', 'become tired') and adjectives or
noun phrases for ``xAttr``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from boxpen.build.kg.wording.event_heads import OPEN_ENDED, TRANSITIVE, checked_event, cleaned
from boxpen.build.kg.wording.people import Person, fill_people
from boxpen.english.conjugation import (
    infinitive,
    is_finite,
    is_participle,
    root_of,
    third,
    verb_form,
)
from boxpen.english.grammar import (
    DETERMINERS,
    PARTICLES,
    PREPOSITIONS,
    PRONOUN_WORDS,
    PRONOUNS,
    indefinite,
    is_person,
)
from boxpen.english.lexicon import is_adjective, is_adverb, is_verb, lemmas, listed, parts
from boxpen.english.nouns import UnwordableError
from boxpen.english.repair import repaired

__all__ = ["event_wordings"]

_SPEAKERS = (
    Person("Tom", PRONOUNS["he"]),
    Person("Anna", PRONOUNS["she"]),
    Person("Kim", PRONOUNS["they"]),
)
_SAID = {
    "xWant": "After that, he wants",
    "xNeed": "Before that, he needs",
    "xIntent": "He wants",
    "xEffect": "As a result, he",
    "xAttr": "He is",
}


def event_wordings(relation: str, head: str, tail: str) -> list[tuple[str, str, str, str, str]]:
    """Return head, tail, form, sentence and stem of every way to say a triple of ATOMIC.

    Raises:
        UnwordableError: If head or tail is not English, or not what the relation asks for.
    """
    event = checked_event(head)
    text = cleaned(tail)
    text = _owned(text, alone="PersonY" not in event + text)
    if ("PersonY" in text and "PersonY" not in event) or "PersonZ" in text + event:
        raise UnwordableError("somebody is spoken of who has no part in the event")
    new = set(re.findall(r"\b(?:a|an|some|another) ((?:\w+ )?\w+)\b", text))
    known = set(re.findall(r"\b(?:a|an|the|PersonX's|PersonY's) ((?:\w+ )?\w+)\b", event))
    if {phrase.split(" ")[-1] for phrase in new} & {phrase.split(" ")[-1] for phrase in known}:
        raise UnwordableError("what was named already is named as something new")
    ways = _attributes(text) if relation == "xAttr" else _actions(relation, text)
    stated = fill_people(event, _SPEAKERS)
    said = []
    for way, form in ways:
        spoken = way
        if relation == "xEffect":
            spoken = third(way)
        elif relation != "xAttr":
            spoken = infinitive(way)
        stem = f"{stated}. {_SAID[relation]}"
        filled = fill_people(spoken, _SPEAKERS, known="XY")
        said.append((event, way, form, f"{stem} {filled}.", stem))
    return said


def _owned(tail: str, *, alone: bool) -> str:
    """Return a tail in which 'their' is PersonX's and 'him' is PersonY."""
    if not alone and "PersonY" not in tail:
        tail = re.sub(r"\bhim\b", "PersonY", tail)
    return re.sub(
        r"\b(their|his|one's|her(?= (?!to\b|with\b|in\b|a\b|the\b|and\b|up\b)\w))\b",
        "PersonX's",
        tail,
    )


def _actions(relation: str, text: str) -> list[tuple[str, str]]:
    tokens = text.split(" ")
    if relation == "xEffect":
        tokens = _predicate(tokens)
    else:
        while tokens[0] in {
            "PersonX",
            "to",
            "wants",
            "needs",
            "needed",
            "wanted",
            "then",
            "he",
            "she",
        }:
            tokens = tokens[1:]
            if not tokens:
                raise UnwordableError("there is no verb")
        if tokens[:2] == ["want", "to"] and len(tokens) > 2:
            tokens = tokens[2:]
    if tokens[0] == "have" and len(tokens) > 1 and is_participle(tokens[1]):
        tokens = [root_of(tokens[1]), *tokens[2:]]  # 'to have saved money' is 'to save money'
    verb = tokens[1] if tokens[0] == "not" and len(tokens) > 1 else tokens[0]
    if ("VERB" not in parts(verb) and verb != "be") or verb in listed("auxiliaries"):
        raise UnwordableError(f"'{verb}' is not a verb in its base form")
    rather_not = "ADJ" in parts(verb) or len(tokens) == 1 or verb in listed("mass")
    if relation != "xEffect" and rather_not and not is_verb(verb) and verb not in listed("verbs"):
        raise UnwordableError(f"'{verb}' is hardly a verb")
    if verb == "be" and len(tokens) > 1:
        _check_state(tokens[1:])
    last = tokens[-1]
    if last in OPEN_ENDED or (len(tokens) == 1 and verb in TRANSITIVE):
        raise UnwordableError(f"the tail breaks off at '{last}'")
    if len(tokens) > 2 and tokens[-2] in {"a", "an"} and is_adjective(tokens[-1]):
        raise UnwordableError(f"there is no noun behind '{tokens[-2]} {tokens[-1]}'")
    if verb == "put" and not any(token in PREPOSITIONS | PARTICLES for token in tokens):
        raise UnwordableError("'put' goes with a place")
    unnamed = next((token for token in tokens if token in _UNNAMED), None)
    if unnamed is not None:
        raise UnwordableError(f"nobody knows what '{unnamed}' is")
    if any(token in _CLAUSES for token in tokens):
        raise UnwordableError("there is a clause inside")
    if "PersonX" in tokens and not tokens[-1] == "PersonX":
        raise UnwordableError("PersonX is the subject of a clause inside")
    for one, other in itertools.pairwise(tokens):
        if one == "PersonY" and _is_thing(other) and verb not in _WITH_TWO:
            raise UnwordableError(f"'PersonY {other}' is not English")
        if one == other:
            raise UnwordableError(f"'{one}' is repeated")
    return [(way, "vp") for way in repaired(tokens)]


def _predicate(tokens: list[str]) -> list[str]:
    """Return what happens to PersonX as a verb phrase in its base form."""
    while tokens[0] in {"PersonX", "he", "she", "they", "then"} and len(tokens) > 1:
        tokens = tokens[1:]
    adverbs = list(itertools.takewhile(is_adverb, tokens[:-1]))
    verb, rest = tokens[len(adverbs)], tokens[len(adverbs) + 1 :]
    if is_adjective(verb) and not rest and not is_verb(verb):
        return ["become", *adverbs, verb]
    if verb in {"is", "are"}:
        base = "be"
    elif verb in {"has", "have"}:
        base = "have"
    elif "VERB" in parts(verb) and (is_verb(verb) or verb in listed("verbs")):
        base = verb
    elif is_finite(verb) and verb_form(root_of(verb), "third") == verb and _does(verb, rest):
        base = root_of(verb)
    else:
        raise UnwordableError(f"'{verb}' does not say what happens")
    if base == "have" and rest and is_participle(rest[0]):
        raise UnwordableError("the tail is in the perfect")
    joined = [
        root_of(token)
        if before in {"and", "or"}
        and is_finite(token)
        and token not in parts(token)
        and verb_form(root_of(token), "third") == token
        and not parts(token)
        else token
        for before, token in zip(["", *rest], rest, strict=False)
    ]
    return [*adverbs, base, *joined]


def _check_state(tokens: Sequence[str]) -> None:
    """Refuse what cannot follow 'be': 'be swimmer', 'be run'."""
    first = next((token for token in tokens if not is_adverb(token)), tokens[-1])
    if first == "been" or (is_verb(first) and not is_participle(first)):
        raise UnwordableError(f"'be {first}' is not English")


def _attributes(text: str) -> list[tuple[str, str]]:
    for opening in ("PersonX is ", "is ", "to be ", "be ", "being "):
        text = text.removeprefix(opening)
    tokens = text.split(" ")
    if tokens[0] in {"a", "an"}:
        if len(tokens) < 2 or "NOUN" not in parts(tokens[-1]) or tokens[-1] in listed("mass"):
            raise UnwordableError(f"'{text}' is not a noun phrase")
        return [(indefinite(" ".join(tokens[1:])), "np")]
    *before, last = tokens
    if before and not all(is_adverb(word) or word in {"more", "less", "so"} for word in before):
        raise UnwordableError(f"'{text}' is not an adjective")
    if len(tokens) == 1 and is_person(last) and last not in listed("adjectives"):
        return [(indefinite(last), "np")]
    if not _describes(last):
        raise UnwordableError(f"'{last}' is not an adjective")
    return [(text, "adj")]


def _describes(word: str) -> bool:
    if is_adjective(word):
        return not is_adverb(word) or word in listed("adjectives")
    if word.endswith("ed") and is_participle(word):  # 'motivated'
        return True
    found = parts(word)
    return "ADJ" in found and word not in listed("mass") and word not in listed("both")


def _does(verb: str, rest: Sequence[str]) -> bool:
    """Whether a third person is a verb, not a plural: 'sighs with relief', not 'muscles sore'."""
    root = root_of(verb)
    if is_verb(root) or root in listed("verbs") or root in {"be", "have", "do"} or not rest:
        return True
    return rest[0] in PREPOSITIONS | DETERMINERS | PRONOUN_WORDS or is_adverb(rest[0])


def _is_thing(word: str) -> bool:
    found = parts(word) or frozenset(lemmas(word))
    return "NOUN" in found and not found & {"VERB", "ADJ", "ADV"} and word not in PREPOSITIONS


_UNNAMED = frozenset({
    "another", "he", "her", "him", "it", "its", "one", "ones", "others", "she", "that", "them",
    "there", "these", "they", "this", "those", "us",
})  # fmt: skip
"""Words that stand for something named before, which a tail that serves elsewhere has not."""

_CLAUSES = listed("clauses")
_WITH_TWO = listed("ditransitive") | listed("causative") | {"let", "help", "keep", "drive", "name"}
