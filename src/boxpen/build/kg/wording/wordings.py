"""The ways to say a triple in English, from which a language model picks the likeliest.

Graphs keep bare, lemmatised phrases: ``pencil | usedfor | shade sketch``. ``wordings`` gives the
plausible ways to write them out ('a pencil', 'pencils'; 'shade a sketch', 'shade sketches'), each
with a plain sentence that states the triple. What cannot be expressed in English is
refused, and ``unwordable`` gives the reason: a triple too few is better than bad English.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from boxpen.build.kg.triples import ATOMIC
from boxpen.english.conjugation import agree, gerund, infinitive
from boxpen.english.grammar import (
    DETERMINERS,
    PREPOSITIONS,
    PRONOUN_WORDS,
    capitalised,
    is_person,
    number,
    pronouns_of,
)
from boxpen.english.lexicon import is_adjective, is_adverb, is_verb, listed, parts
from boxpen.english.nouns import UnwordableError
from boxpen.english.phrase import noun_phrases, verb_phrases

__all__ = ["Wording", "form_of", "reflected", "unwordable", "wordings"]

MOST = 8
"""Most wordings of a triple."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say a triple.

    Attributes:
        head: The head as a noun phrase ('a pencil'), or an event with PersonX and PersonY in it.
        tail: The tail as a phrase of the kind ``form``.
        form: 'np' noun phrase, 'vp' verb phrase in its base form, 'adj' adjective phrase.
        sentence: A plain sentence that states the triple.
        stem: That sentence up to the tail.
    """

    head: str
    tail: str
    form: str
    sentence: str
    stem: str


def wordings(relation: str, head: str, tail: str) -> list[Wording]:
    """Return two to eight ways to say a triple (one if it is written out already), or none."""
    try:
        return _wordings(relation, head, tail)
    except UnwordableError:
        return []


def unwordable(relation: str, head: str, tail: str) -> str | None:
    """Return why a triple cannot be expressed in English, or None if it can."""
    try:
        _wordings(relation, head, tail)
    except UnwordableError as refusal:
        return str(refusal)
    return None


def _wordings(relation: str, head: str, tail: str) -> list[Wording]:
    if relation in ATOMIC:
        from boxpen.build.kg.wording.events import event_wordings

        return [Wording(*made) for made in event_wordings(relation, head, tail)]
    heads = _heads(head)
    tails = _tails(relation, tail)
    while len(heads) * len(tails) > MOST:
        longer = heads if len(heads) > 3 else tails
        longer.pop()
    said = [
        wording
        for one in heads
        for other, form in tails
        if (wording := _said(relation, one, other, form)) is not None
    ]
    if not said:
        raise UnwordableError("head and tail do not agree in number")
    return said


def _heads(head: str) -> list[str]:
    tokens = head.split()
    if not tokens:
        raise UnwordableError("the head is empty")
    if tokens[0] in {"a", "an", "the"} and len(tokens) > 1:
        tokens = tokens[1:]
    if tokens[0] in PRONOUN_WORDS | DETERMINERS or tokens[0][0].isdigit():
        raise UnwordableError(f"the head begins with '{tokens[0]}'")
    if tokens[0] in {"lot", "bunch", "number", "pair"}:
        raise UnwordableError("the head is an amount")
    if is_verb(tokens[0]) or (len(tokens) > 1 and _acts(tokens)):
        raise UnwordableError("the head is an action")
    if any(word in {"and", "or", "not", "to"} or is_adverb(word) for word in tokens):
        raise UnwordableError("the head is not one noun phrase")
    if tokens[-1] in listed("unique") and len(tokens) == 1:
        return [f"the {tokens[-1]}"]
    try:
        return noun_phrases(" ".join(tokens))
    except UnwordableError as refusal:
        raise UnwordableError(f"head: {refusal}") from None


def _acts(tokens: list[str]) -> bool:
    """Whether several words read as an action: 'walk dog', but not 'watch tower'."""
    if tokens[0] in listed("openers"):
        return True
    return tokens[0] in listed("verbs") and (
        tokens[1] in DETERMINERS | PRONOUN_WORDS | {"to", "for", "at", "in", "with", "up", "out"}
    )


def _tails(relation: str, tail: str) -> list[tuple[str, str]]:
    """Return the ways of a tail with the form of each."""
    made: list[list[tuple[str, str]]] = []
    refusals: list[UnwordableError] = []
    forms = _FORMS.get(relation, ("np", "vp"))
    if relation == "usedfor" and tail in listed("verbs") and _may_act(relation, tail):
        forms = ("vp",)  # 'used for drinking' rather than 'for a drink'
    for form in forms:
        try:
            if form == "vp":
                if not _may_act(relation, tail):
                    raise UnwordableError(f"'{tail}' is not an action")
                made.append([(text, "vp") for text in verb_phrases(tail)])
            else:
                made.append([(text, "np") for text in noun_phrases(tail)])
        except UnwordableError as refusal:
            refusals.append(refusal)
    if not made:
        raise UnwordableError(f"tail: {refusals[0]}")
    # in turns, so that both forms are left if some ways are too many
    return [way for ways in itertools.zip_longest(*made) for way in ways if way is not None]


def _may_act(relation: str, tail: str) -> bool:
    """Whether a tail is to be read as an action where nouns are allowed as well."""
    tokens = tail.split()
    if not tokens or tail == "be":
        return False
    if relation == "capableof" or tokens[0] in {"to", "not"} or is_verb(tokens[0]):
        return True
    if tokens[0] in listed("mass") and len(tokens) > 1 and tokens[1] in {"and", "or", "of", "from"}:
        return False  # 'love and security'
    if len(tokens) == 1 and tail in listed("mass") | listed("both"):
        return tail in listed("acts_alone")
    if tokens[0] in listed("verbs"):
        return True
    acts = "VERB" in parts(tokens[0]) and not is_adjective(tokens[0])
    return relation == "usedfor" and len(tokens) > 1 and acts


_FORMS = {
    "capableof": ("vp",),
    "desires": ("vp", "np"),
    "createdby": ("np", "vp"),
    "usedfor": ("vp", "np"),
    "isa": ("np",),
    "madeof": ("np",),
    "hasa": ("np",),
    "partof": ("np",),
    "atlocation": ("np",),
}

_SAID: dict[str, Callable[[str, str, bool], tuple[str, str]]] = {
    # relation -> (tail, form, many) -> what stands between head and tail, the tail as it is said
    "capableof": lambda tail, _form, _many: ("can", tail),
    "desires": lambda tail, form, many: (
        agree("want", many=many),
        infinitive(tail) if form == "vp" else tail,
    ),
    "createdby": lambda tail, form, many: (
        agree("be", many=many) + " created by",
        gerund(tail) if form == "vp" else tail,
    ),
    "usedfor": lambda tail, form, many: (
        agree("be", many=many) + " used for",
        gerund(tail) if form == "vp" else tail,
    ),
    "isa": lambda tail, _form, many: (agree("be", many=many), tail),
    "madeof": lambda tail, _form, many: (agree("be", many=many) + " made of", tail),
    "hasa": lambda tail, _form, many: (agree("have", many=many), tail),
    "partof": lambda tail, _form, many: (agree("be", many=many) + " part of", tail),
    "atlocation": lambda tail, _form, many: (agree("be", many=many) + " found in", tail),
}


def _linked(tail: str, form: str, many: bool) -> tuple[str, str]:
    """Say of any other relation that two things belong together: its templates say the rest."""
    return agree("go", many=many) + " with", gerund(tail) if form == "vp" else tail


def _said(relation: str, head: str, tail: str, form: str) -> Wording | None:
    """Return one wording, or None where head and tail do not go together."""
    kind = number(head)
    many = kind == "plural"
    # who uses or makes a thing is nobody in the triple: 'a pen is used for writing your name'
    tail = tail if relation in {"usedfor", "createdby"} else reflected(tail, head)
    tail_kind = number(tail) if form == "np" else ""
    if relation == "isa" and not (
        (many and tail_kind != "singular") or (not many and tail_kind != "plural")
    ):
        return None
    one = _ONE.search(tail)
    if relation == "madeof" and one:
        return None
    if many and one:  # 'spiders eat insects', not 'an insect'
        return None
    if relation == "hasa" and (found := _ONE_OF.search(tail)) and found[1] in listed("several"):
        return None
    if form == "vp" and tail.startswith(("be ", "become ")):
        complement = tail.split(" ", 1)[1]
        last = complement.split(" ")[-1]
        if not many and number(complement) == "plural" and "NOUN" not in parts(last):
            return None
        if many and complement.startswith(("a ", "an ")):
            return None
    between, said = _SAID.get(relation, _linked)(tail, form, many)
    stem = capitalised(f"{head} {between}")
    return Wording(head, tail, form, f"{stem} {said}.", stem)


_ONE = re.compile(r"\b(a|an) (?!lot|few|little|bit|variety|number|couple|mixture|combination)")
_ONE_OF = re.compile(r"^an? (?:[\w'-]+ )*?([\w'-]+)(?= (?:in|on|at|for|to|with|and|or)\b|$)")


def reflected(tail: str, head: str) -> str:
    """Return a tail whose 'its', 'themselves' and the like mean the head.

    'Your' is the head's where that is a person ('a child can tie their shoes'), else the reader's
    ('an alarm can wake you and your dog').
    """
    theirs = pronouns_of(head)
    person = is_person(head)
    one = number(head) != "plural"
    changed: list[str] = []
    for word in tail.split(" "):
        if word in {"his", "her", "their", "its", "one's"} or (person and word in {"my", "your"}):
            word = theirs.their
        elif word in _REFLEXIVES and (person or word != "yourself"):
            word = theirs.themself
        elif word in {"it", "them"} and _holds(tail):
            word = theirs.them
        elif one and changed and changed[-1] == theirs.their:  # 'fur on its body', not 'bodies'
            word = _ONE_EACH.get(word, word)
        changed.append(word)
    return " ".join(changed)


def _holds(tail: str) -> bool:
    """Whether an 'it' is the head: 'a house with a couch in it', 'fur to keep it warm'."""
    ends = tail.endswith((" in it", " on it", " in them", " on them"))
    return ends or (not is_verb(tail.split(" ")[0]) and " to think " not in tail)


_REFLEXIVES = listed("reflexives")
_ONE_EACH = {"bodies": "body", "heads": "head", "mouths": "mouth", "noses": "nose"}


def form_of(relation: str, tail: str) -> str:
    """Return the form of a tail that is written out already, as wrong tails are."""
    forms = _FORMS.get(relation, ())
    if len(forms) == 1:
        return forms[0]
    if relation == "xAttr":
        return "np" if tail.startswith(("a ", "an ")) else "adj"
    if relation in ATOMIC:
        return "vp"
    first = next((word for word in tail.split(" ") if not is_adverb(word)), tail)
    if first in DETERMINERS | PRONOUN_WORDS or tail in listed("mass"):
        return "np"
    second = tail.partition(f"{first} ")[2].split(" ")[0]
    opens = "VERB" in parts(first) and second in DETERMINERS | PREPOSITIONS - {"of"}
    return "vp" if is_verb(first) or first in listed("verbs") or opens else "np"
