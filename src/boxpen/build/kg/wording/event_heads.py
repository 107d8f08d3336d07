"""Heads of events: sentences about PersonX, read strictly, since every test has a head."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from boxpen.english.conjugation import is_finite, root_of, verb_form
from boxpen.english.grammar import (
    CONJUNCTIONS,
    DETERMINERS,
    PARTICLES,
    PREPOSITIONS,
    PRONOUN_WORDS,
    article,
    is_person,
)
from boxpen.english.lexicon import (
    damaged,
    is_adjective,
    is_adverb,
    is_known,
    is_verb,
    lemmas,
    listed,
    parts,
)
from boxpen.english.nouns import UnwordableError
from boxpen.english.repair import repaired

__all__ = ["OPEN_ENDED", "TRANSITIVE", "checked_event", "cleaned"]


def checked_event(head: str) -> str:
    """Return an event with its people written in one way.

    Raises:
        UnwordableError: If it is not an English sentence, or leaves something open.
    """
    text = cleaned(head)
    tokens = text.split(" ")
    if tokens[0] != "PersonX" or len(tokens) < 2:
        raise UnwordableError("the event does not begin with PersonX")
    place = 1
    while place < len(tokens) - 1 and is_adverb(tokens[place]):
        place += 1
    verb = tokens[place]
    if not is_finite(verb) or root_of(verb) in listed("odd_verbs"):
        raise UnwordableError(f"'{verb}' is not a verb in the third person")
    root = root_of(verb)
    rest = tokens[place + 1 :]
    if rest and root in {"come", "go"} and "VERB" in parts(rest[0]) and rest[0] not in _STILL:
        raise UnwordableError(f"'{verb} {rest[0]}' is two verbs side by side")
    if root == "put" and not any(token in PREPOSITIONS | PARTICLES for token in rest):
        raise UnwordableError("'puts' goes with a place")
    if rest and (rest[0] in listed("finite") or rest[0] in listed("auxiliaries")):
        raise UnwordableError(f"'{verb} {rest[0]}' is two verbs side by side")
    if _breaks_off(tokens, place):
        raise UnwordableError(f"the event breaks off at '{tokens[-1]}'")
    if re.search(r"\b(if|that|what) (had|has|would|could|is|was)\b", text) and " if " in text:
        raise UnwordableError("a clause lacks its subject")
    to_nobody = root in {"give", "hand"} and "to" not in rest and "PersonY" not in rest
    if rest and to_nobody and is_person(rest[-1]):
        raise UnwordableError(f"'{verb}' goes with a thing")
    if rest and root in _SENDING and (rest == ["PersonY"] or rest[0] in {"to", "into", "from"}):
        raise UnwordableError(f"'{verb}' goes with a thing")
    passes = not any(t in PREPOSITIONS | {"money"} or t.endswith("ing") for t in rest)
    if root == "spend" and passes:
        raise UnwordableError("'spends' goes with something done")
    for one, other in itertools.pairwise(tokens[place:]):
        if one in {"and", "or"} and _jars(verb, other):
            raise UnwordableError(f"'{verb}' and '{other}' are of two tenses")
    if text.count("PersonY") > 1:
        raise UnwordableError("PersonY appears twice in one clause")
    if verb in _MODALS:
        raise UnwordableError(f"'{verb}' does not say what happens")
    if rest and rest[0] == "PersonX":
        raise UnwordableError("PersonX appears twice in one clause")
    _check_named(tokens[place:], root)
    if len(repaired(tokens[place:])) > 1:
        raise UnwordableError("a noun of the event lacks its article")
    return text


def _check_named(tokens: Sequence[str], root: str) -> None:
    """Refuse an event in which a name has taken the place of another word: 'keeps PersonY eye'."""
    lets = root in listed("causative") | {"let"}
    for before, one, other in zip(["", *tokens], tokens, tokens[1:], strict=False):
        says = is_finite(other) and (other.endswith("ed") or other in listed("finite"))
        odd = one == "PersonY" and says
        if one == "PersonY" and not is_adverb(other) and other not in PREPOSITIONS:
            given = root in listed("ditransitive") and before == tokens[0]
            thing = "NOUN" in lemmas(other) and "ADJ" not in parts(other)
            acts = lets and "VERB" in parts(other)
            lacks = len(repaired(["give", other])) > 1
            odd = odd or (thing and not acts and (not given or lacks))
            odd = odd or (is_verb(other) and not acts)
        if one == "PersonY's":
            odd = odd or is_verb(other) or (lets and other in listed("verbs"))
        if odd:
            raise UnwordableError(f"'{one} {other}' is not English")


def _breaks_off(tokens: Sequence[str], place: int) -> bool:
    """Whether an event lacks its end; its verb stands at ``place``."""
    *before, last = tokens
    if last in OPEN_ENDED or last.endswith("'s"):
        return True
    if before[-1].endswith("'s") and (is_adjective(last) or is_adverb(last)):
        return True
    alone = place == len(tokens) - 1 or before[-1] == "to" or last.endswith("ing")
    return alone and root_of(last) in TRANSITIVE


def _jars(verb: str, other: str) -> bool:
    """Whether a verb behind 'and' is in another form than the verb of the event."""
    if is_verb(other):
        return True
    present = verb_form(root_of(verb), "third") == verb
    roots = lemmas(other).get("VERB", ())
    return present and any(root != other and verb_form(root, "past") == other for root in roots)


def cleaned(text: str) -> str:
    """Return a text with people written in one way, or refuse it."""
    text = re.sub(r"\bperson ?([xyz])\b", lambda m: "Person" + m[1].upper(), text, flags=re.I)
    text = re.sub(r"\s+(n't|'s)\b", r"\1", " ".join(text.split())).strip(" .")
    text = re.sub(r"\b(an?) (?=([a-z][\w-]*))", lambda m: article(m[2]) + " ", text)
    text = re.sub(_SELVES, "PersonX-self", text)
    if re.search(_NOT_ENGLISH, text):
        raise UnwordableError(f"'{text}' is not English")
    if re.search(r"\b(an?|the|this|that) Person[XYZ]\b(?!'s)", text):
        raise UnwordableError("an article precedes a person")
    if "___" in text:
        raise UnwordableError("something is left open")
    if not text:
        raise UnwordableError("it is empty")
    tokens = [token if token.startswith("Person") else token.lower() for token in text.split(" ")]
    for token in tokens:
        bare = token.strip(",").removesuffix("'s")
        if bare in _SPEAKER or (len(bare) == 1 and bare not in {"a", "i"} and not bare.isdigit()):
            raise UnwordableError(f"'{token}' is spoken by somebody else")
        closed = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | PRONOUN_WORDS | _GRAMMATICAL
        if not bare.startswith("Person") and bare not in closed and not is_known(bare):
            raise UnwordableError(f"'{token}' is not in the dictionary")
    tokens = [damaged("words").get(token, token) for token in tokens]
    return " ".join(
        token.capitalize()
        if token in listed("capital") | listed("proper") - {"march", "turkey", "bush"}
        else token
        for token in tokens
    )


_SELVES = re.compile(
    r"\b(himself|herself|themself|themselves|oneself|yourself|theirself|itself)\b", re.I
)
_NOT_ENGLISH = re.compile(
    r"\b(how to \w+s|to home|either|to earlier)$|\b(arrives? to|go(es)? the|a use)\b"
)
_SENDING = frozenset({"give", "send", "put", "bring", "hand", "lend", "show"})
_MODALS = frozenset({"can", "could", "may", "might", "must", "should", "will", "would"})
_SPEAKER = listed("speaker")
_GRAMMATICAL = listed("grammatical")
OPEN_ENDED = listed("open_ended")
TRANSITIVE = listed("transitive")
_STILL = listed("after_going")
