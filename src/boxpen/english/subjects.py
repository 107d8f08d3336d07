"""Subjects of clauses: one somebody, or a kind of things in general."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.english.clauses import Clause
from boxpen.english.finite import skip_adverbs
from boxpen.english.grammar import DETERMINERS, POSSESSIVES, number
from boxpen.english.lexicon import is_adjective, lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain

__all__ = ["is_bare_plural", "is_general", "is_lasting", "subject_of"]

_SOMEBODY = frozenset({"i", "he", "she", "it", "they", "this", "that", "these", "those", "there"})


def subject_of(words: Sequence[Word], clause: Clause) -> tuple[str, ...]:
    """Return the words before the verb of a clause, without adverbs that belong to the verb."""
    if clause.subject is None:
        return ()
    found = list(plain(words[clause.subject : clause.verb.place]))
    while found and found[-1] in listed("adverbs"):
        found.pop()
    return tuple(found)


def is_general(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause speaks of things or people in general: 'dogs', 'a dog', 'you'."""
    found = subject_of(words, clause)
    if not found or clause.verb.form == "past":
        return False
    first = found[0]
    if first in _SOMEBODY or first in POSSESSIVES or first == "the":
        return False
    opens = words[clause.subject or 0]
    return not is_name(opens, first=clause.subject == 0)


def is_lasting(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause says of a kind what is always so: not 'are going', not 'today'.

    'The sun', of which there is one, is a kind, and 'it is always so' speaks of no one thing.
    """
    found = subject_of(words, clause)
    inside = plain(words[clause.start : clause.end])
    if not found or listed("passing") & set(inside) or listed("chances") & set(inside):
        return False
    if any(low in listed("numbers") or low.isdigit() for low in found):
        return False
    if clause.verb.kind == "have" or _is_progressive(words, clause):
        return False
    if is_general(words, clause):
        return True
    if clause.verb.form == "past":
        return False
    always = {"always", "never"} | listed("frequencies")
    return found[-1] in listed("unique") or (found == ("it",) and bool(always & set(inside)))


def _is_progressive(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether 'is' has a participle behind it: 'is running', 'are usually eating'."""
    if clause.verb.kind != "be":
        return False
    place = skip_adverbs(words, clause.verb.group + 1, 1, clause.end)
    if place >= clause.end:
        return False
    low = words[place].low
    return low.endswith("ing") and any(root != low for root in lemmas(low).get("VERB", ()))


def is_bare_plural(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether the subject is many things without a determiner: 'dogs', 'old dogs'."""
    found = subject_of(words, clause)
    if not found or len(found) > 2 or found[0] in DETERMINERS or found[0] in _SOMEBODY:
        return False
    if found[0] in listed("closed") - {"people"} or found[0] in listed("quantified"):
        return False
    if len(found) == 2 and not (is_adjective(found[0]) or "NOUN" in lemmas(found[0])):
        return False
    return number(found[-1]) == "plural"
