"""Finite verbs: whether a word can be one where it stands, and what belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from boxpen.english.conjugation import is_participle, root_of, verb_form
from boxpen.english.grammar import DETERMINERS, number
from boxpen.english.lexicon import is_adverb, lemmas
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name

__all__ = ["NEGATIONS", "Finite", "finite", "skip_adverbs"]

Kind = Literal["be", "modal", "have", "do", "verb"]
Form = Literal["base", "third", "past"]

NEGATIONS = frozenset({"not", "n't"})
_BE = {
    "am": "base", "'m": "base", "are": "base", "'re": "base", "is": "third", "'s": "third",
    "was": "past", "were": "past",
}  # fmt: skip
_MODALS = listed("modals")
_HAVE = {"have": "base", "'ve": "base", "has": "third", "had": "past"}
_DO = {"do": "base", "does": "third", "did": "past"}
_SINGULAR = listed("singular_pronouns")
_PLURAL = listed("plural_pronouns")


@dataclass(frozen=True, slots=True)
class Finite:
    """A finite verb.

    Attributes:
        place: Where it stands; an auxiliary, if it has one.
        kind: "be", "modal", "have" or "do" before another verb, or a "verb" of its own.
        form: "base", "third" or "past".
        root: The base form.
        negation: Where its 'not' stands; None if it has none.
        group: The last of the words that belong to it: 'is not', 'did not eat'.
        sure: Whether it can be nothing else.
        doubt: What it may be instead: "participle", "noun"; "" for nothing.
    """

    place: int
    kind: Kind
    form: Form
    root: str
    negation: int | None
    group: int
    sure: bool
    doubt: str = ""


def finite(
    words: Sequence[Word], place: int, start: int, opener: str, waits: bool
) -> Finite | None:
    """Return the finite verb that a word is, or None.

    Args:
        words: Of the sentence.
        place: Of the word.
        start: Where its clause begins.
        opener: What opens the clause; a verb may follow 'and' or 'who' at once.
        waits: Whether a subject before the clause still has no verb.
    """
    if not start <= place < len(words):
        return None
    low = words[place].low
    before = skip_adverbs(words, place - 1, -1, start)
    last = words[before] if before >= start else None
    auxiliary = _auxiliary(words, place, low, last)
    if auxiliary is not None:
        return auxiliary
    if low in {"cannot"}:
        return Finite(place, "modal", "base", "can", place, place, True)
    return _lexical(words, place, low, last, before, opener, waits)


def skip_adverbs(words: Sequence[Word], place: int, step: int, end: int) -> int:
    """Return the next place, in a direction, where no adverb stands; ``end`` is the last one."""
    while (place >= end if step < 0 else place < end) and (
        is_adverb(words[place].low) or words[place].low in listed("adverbs")
    ):
        place += step
    return place


def _auxiliary(words: Sequence[Word], place: int, low: str, last: Word | None) -> Finite | None:
    nexts = words[place + 1].low if place + 1 < len(words) else ""
    negation = place + 1 if nexts in NEGATIONS else None
    after = skip_adverbs(words, place + 1 + (negation is not None), 1, len(words))
    then = words[after].low if after < len(words) else ""
    if last is not None and last.low in {"to", *_MODALS}:
        return None
    if low in {"ca", "wo", "sha"} and negation is not None:
        root = {"ca": "can", "wo": "will", "sha": "shall"}[low]
        return Finite(place, "modal", "base", root, negation, place + 1, True)
    if low in _BE:
        if low == "'s" and not (last and _is_of_it(last.low)):
            return None
        return Finite(place, "be", _form(_BE[low]), "be", negation, negation or place, True)
    if low in _MODALS:
        noun = last is not None and last.low in DETERMINERS | listed("kinds_of_can")
        base = then == "be" or "VERB" in lemmas(then) or then in {"have", "do"}
        if noun or (not base and negation is None):
            return None
        return Finite(place, "modal", "base", low, negation, after, True)
    if low in _HAVE and (negation is not None or _perfect(words, after, then)):
        sure = low not in {"have", "had"} or last is not None
        return Finite(place, "have", _form(_HAVE[low]), "have", negation, after, sure)
    if low in _DO and negation is not None:
        return Finite(place, "do", _form(_DO[low]), "do", negation, after, True)
    return None


def _lexical(
    words: Sequence[Word],
    place: int,
    low: str,
    last: Word | None,
    before: int,
    opener: str,
    waits: bool,
) -> Finite | None:
    forms = _forms(low)
    clear = last is not None and last.low in {"i", "he", "she", "we", "they", "who", "people"}
    if low == "like":
        clear = clear or (last is not None and number(last.low) == "plural")
    blocked = low in listed("never_verbs") or low in known("prepositions")
    if not forms or (blocked and not clear):
        return None
    if is_adverb(low) or low in DETERMINERS:
        return None
    if words[place].text[:1].isupper() and place and is_name(words[place]):
        return None
    root = root_of(low)
    doubt = _doubt(low, root, forms)
    if last is None:
        opens = opener in {"and", "or", "but", "who", "which", "that", "then"}
        if not opens or forms == {"base"}:
            return None
        form = "third" if "third" in forms else "past"
        clear = doubt != "noun" and (opener in {"who", "which"} or form == "past")
        return Finite(place, "verb", _form(form), root, None, place, False, "" if clear else "noun")
    many = _many(before, last)
    if many is None:
        return None
    sure = last.low in _SINGULAR | _PLURAL | {"i", "he", "she", "we", "they", "who", "which"}
    if low in {"have", "has", "had"}:
        sure = True
    allowed = {"past"} | ({"base"} if many in ("plural", "any") else set())
    allowed |= {"third"} if many in ("singular", "any") else set()
    if waits and many == "singular" and opener in {"and", "or"}:
        allowed |= {"base"}
    fits = forms & allowed
    if not fits:
        return None
    form = next(one for one in ("third", "base", "past") if one in fits)
    if form == "third" and doubt == "noun" and _follows_plural(words, before):
        return None
    if many == "singular" and "past" in fits and "third" not in fits:
        form = "past"
    if form == "base" and not sure and doubt == "noun" and root not in known("verbs"):
        return None
    return Finite(place, "verb", _form(form), root, None, place, sure, "" if sure else doubt)


def _follows_plural(words: Sequence[Word], place: int) -> bool:
    """Tell whether a noun may be the verb of a plural before it: 'boys love tales'."""
    before = skip_adverbs(words, place - 1, -1, 0)
    if before < 0 or "base" not in _forms(words[place].low):
        return False
    low = words[before].low
    return "NOUN" in lemmas(low) and not low.endswith("'") and number(low) == "plural"


def _forms(low: str) -> set[str]:
    """Return which finite forms of its verb a word is."""
    if low in {"be", "been", "being"}:
        return set()
    found: set[str] = set()
    for root in lemmas(low).get("VERB", ()):
        if root == low:
            found.add("base")
        if verb_form(root, "third") == low:
            found.add("third")
        if verb_form(root, "past") == low:
            found.add("past")
    return found


def _doubt(low: str, root: str, forms: set[str]) -> str:
    known_as = lemmas(low).keys()
    if "past" in forms and low != root and verb_form(root, "participle") == low:
        return "participle"
    mostly = root in known("verbs") and root not in known("also_nouns")
    if {"NOUN", "ADJ"} & known_as and not (mostly and forms == {"base"} and "ADJ" not in known_as):
        return "noun"
    return ""


def _many(before: int, last: Word) -> str | None:
    """Return the number of the subject that ends with a word; None if no subject ends there."""
    low = last.low
    if low in {"i", "we", "they"} | _PLURAL:
        return "plural"
    if low in {"he", "she"} | _SINGULAR:
        return "singular"
    if low in {"you"}:
        return "plural"
    if low in {"who", "which", "that"}:
        return "any"
    if not last.text[0].isalnum() or low in listed("closed") or low in known("prepositions"):
        return None
    if low in DETERMINERS or _auxiliary_word(low) or low.endswith(("'s", "s'")):
        return None
    if is_name(last, first=before == 0):
        return "singular"
    if low in listed("ordinals"):
        return None
    found = lemmas(low)
    if "NOUN" not in found:
        return "singular" if low.endswith("ing") or not found else None
    # 'the big red' has its noun still to come
    if low in known("adjectives") and low not in known("adjective_nouns"):
        return None
    return "plural" if number(low) == "plural" else "singular"


def _perfect(words: Sequence[Word], place: int, low: str) -> bool:
    """Tell whether a word behind 'have' is a participle, and not what somebody has."""
    if is_participle(low) or low == "had":
        return True
    after = words[place + 1].low if place + 1 < len(words) else ""
    same = any(verb_form(root, "participle") == low for root in lemmas(low).get("VERB", ()))
    return same and (after in DETERMINERS or after in known("prepositions"))


def _auxiliary_word(low: str) -> bool:
    return low in _BE or low in _MODALS or low in {"to", "be", "been", "not", "n't", "cannot"}


def _is_of_it(low: str) -> bool:
    return low in {"it", "he", "she", "that", "there", "what", "who", "here", "everyone"}


def _form(form: str) -> Form:
    return "base" if form == "base" else "third" if form == "third" else "past"
