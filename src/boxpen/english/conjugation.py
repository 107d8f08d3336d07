"""English verb phrases in their forms: 'finds work', 'finding work', 'to find work'.

A *verb phrase* is read as ``(adverb) verb ...``; verbs that are joined to the first one change with
it: 'builds and repairs walls'.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from boxpen.english.grammar import DETERMINERS, PREPOSITIONS, PRONOUN_WORDS
from boxpen.english.lexicon import forms_of, is_adverb, lemmas, listed, parts

__all__ = [
    "VerbForm", "agree", "event_tense", "gerund", "has_clear_tense", "infinitive", "is_finite",
    "is_participle", "participle", "past", "present", "root_of", "third", "verb_form",
]  # fmt: skip

VerbForm = Literal["base", "third", "gerund", "past", "participle"]

_AUXILIARIES = listed("auxiliaries")
_FORMS = {"third": "VBZ", "gerund": "VBG", "past": "VBD", "participle": "VBN"}


def agree(verb: str, *, many: bool) -> str:
    """Return the present form of a verb that goes with one ('wants') or many ('want')."""
    if verb in _AUXILIARIES:
        return verb
    if verb == "be":
        return "are" if many else "is"
    return verb if many else verb_form(verb, "third")


@cache
def verb_form(verb: str, form: VerbForm) -> str:
    """Return a form of one verb in its base form."""
    if form == "base" or verb in _AUXILIARIES:
        return verb
    if (irregular := forms_of(verb).get(form)) is not None:
        return irregular
    import lemminflect

    found: tuple[str, ...] = lemminflect.getInflection(verb, _FORMS[form])
    if not found and form == "participle":
        found = lemminflect.getInflection(verb, "VBD")
    return found[0]


def third(phrase: str) -> str:
    """Return a verb phrase in the third person singular: 'finds work'."""
    return _inflected(phrase, "third")


def gerund(phrase: str) -> str:
    """Return a verb phrase as a gerund: 'finding work'."""
    return _inflected(phrase, "gerund")


def past(phrase: str) -> str:
    """Return a verb phrase in the past: 'found work'."""
    return _inflected(phrase, "past")


def present(phrase: str) -> str:
    """Return a verb phrase as it goes with many: 'find work', 'are tired', 'do not sleep'."""
    tokens = phrase.split(" ")
    if tokens[0] == "not":
        return " ".join(["are", *tokens[:1], *tokens[2:]] if tokens[1] == "be" else ["do", *tokens])
    place = 0
    while place < len(tokens) - 1 and is_adverb(tokens[place]):
        place += 1
    if tokens[place] == "be":
        tokens[place] = "are"
    return " ".join(tokens)


def event_tense(sentence: str, form: VerbForm) -> str:
    """Return an event in the past ('PersonX paid') or the perfect ('PersonX has paid')."""
    tokens = sentence.split(" ")
    place = 1
    while place < len(tokens) - 1 and is_adverb(tokens[place]):
        place += 1
    for at in range(place, len(tokens)):
        if at != place and tokens[at - 1] not in {"and", "or"}:
            continue
        root = _present_root(tokens[at])
        if root is not None:
            tokens[at] = verb_form(root, form)
            if at == place and form == "participle":
                tokens[at] = f"has {tokens[at]}"
    return " ".join(tokens)


def has_clear_tense(sentence: str) -> bool:
    """Whether ``event_tense`` surely changes all verbs of an event.

    It does not in 'PersonX drives until the tank is empty' or 'PersonX puts on a coat and gloves'.
    """
    tokens = sentence.split(" ")
    place = 1
    while place < len(tokens) - 1 and is_adverb(tokens[place]):
        place += 1
    if "," in sentence or not is_finite(tokens[place]):
        return False
    for at, word in enumerate(tokens[place + 1 : -1], place + 1):
        behind = tokens[at + 1 :]
        if word in _CLAUSES or (word in _MAY_OPEN_CLAUSES and any(map(is_finite, behind))):
            return False
        if word in {"and", "or"}:
            joined = "NOUN" in lemmas(behind[0]) and _present_root(behind[0]) is not None
            if joined or (is_adverb(behind[0]) and any(map(is_finite, behind))):
                return False
    return True


_CLAUSES = {"because", "if", "until", "when", "while"}
_MAY_OPEN_CLAUSES = {
    "after", "as", "before", "how", "since", "so", "that", "what", "where", "which", "who", "why",
}  # fmt: skip


def infinitive(phrase: str) -> str:
    """Return a verb phrase with 'to': 'to find work', 'not to lose it'."""
    if phrase.startswith(("not ", "never ")):
        adverb, rest = phrase.split(" ", 1)
        return f"{adverb} to {rest}"
    return f"to {phrase}"


def participle(phrase: str) -> str:
    """Return a verb phrase as a past participle: 'found work'."""
    return _inflected(phrase, "participle")


def is_finite(word: str) -> bool:
    """Whether a word can be the verb of a sentence about one person: 'finds', 'found', 'can'."""
    if word in listed("finite"):
        return True
    roots = lemmas(word).get("VERB", ())
    return any(word in {verb_form(root, "third"), verb_form(root, "past")} for root in roots)


def is_participle(word: str) -> bool:
    """Whether a word is a past participle, and not a base form as well."""
    return word == "been" or any(
        word == verb_form(root, "participle") and root != word
        for root in lemmas(word).get("VERB", ())
    )


def root_of(word: str) -> str:
    """Return the base form of a verb."""
    if word in {"is", "are", "was", "were", "been"}:
        return "be"
    if word == "has":
        return "have"
    roots = lemmas(word).get("VERB", ())
    return roots[0] if roots else word


def _inflected(phrase: str, form: VerbForm) -> str:
    tokens = phrase.split(" ")
    place = 0
    while place < len(tokens) - 1 and is_adverb(tokens[place]) and tokens[place] != "not":
        place += 1
    if tokens[place] == "not":
        if form in {"third", "past"}:
            rest = tokens[place + 1 :]
            be, do = ("is", "does") if form == "third" else ("was", "did")
            helper = [be, "not", *rest[1:]] if rest[:1] == ["be"] else [do, "not", *rest]
            return " ".join(tokens[:place] + helper)
        place += 1
    if place >= len(tokens):
        return phrase
    if tokens[place] in _AUXILIARIES:
        return phrase
    tokens[place] = verb_form(tokens[place], form)
    for later in range(place + 2, len(tokens)):
        if tokens[later - 1] in {"and", "or"} and _is_joined_verb(tokens, later):
            tokens[later] = verb_form(tokens[later], form)
    return " ".join(tokens)


def _present_root(word: str) -> str | None:
    """Return the base form of a verb in the third person singular; None for anything else."""
    if word in {"is", "isn't"}:
        return "be" if word == "is" else None
    for root in lemmas(word).get("VERB", ()):
        if root != word and verb_form(root, "third") == word:
            return root
    return None


def _is_joined_verb(tokens: list[str], place: int) -> bool:
    """Whether the word behind an 'and' is a verb in its base form rather than a noun."""
    word = tokens[place]
    if word in PREPOSITIONS or "VERB" not in parts(word):
        return False
    if parts(word) == {"VERB"}:
        return True
    if word not in listed("verbs") or word in listed("mass"):
        return False
    # 'to eat and drink', 'find a job and work hard'; but 'with love and care'
    follows = tokens[place + 1] if place + 1 < len(tokens) else None
    if follows is None:
        return place == 2
    return follows in DETERMINERS | PRONOUN_WORDS | PREPOSITIONS or is_adverb(follows) or place == 2
