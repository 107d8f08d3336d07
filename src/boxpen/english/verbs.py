"""Verbs with and without 'not': do-support, modals, and the words that change with them."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.english.clauses import Clause
from boxpen.english.conjugation import root_of, verb_form
from boxpen.english.finite import skip_adverbs
from boxpen.english.grammar import DETERMINERS
from boxpen.english.lexicon import is_adjective, is_adverb
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word

__all__ = ["affirmed", "has_not", "negated", "unlikely", "with_modal"]

_DO = {"base": "do", "third": "does", "past": "did"}
_FULL = {"ca": "can", "wo": "will", "sha": "shall"}


def has_not(clause: Clause) -> bool:
    """Tell whether the verb of a clause is negated."""
    return clause.verb.negation is not None


def negated(words: Sequence[Word], clause: Clause) -> list[Word]:
    """Return a sentence with 'not' in a clause that has none.

    'Some' becomes 'any' behind it. Adverbs stay behind the 'not': 'do not usually eat'.
    """
    verb = clause.verb
    out = list(words)
    if verb.kind != "verb":
        first = out[verb.place]
        if first.low == "can":
            out[verb.place] = Word("cannot", first.space)
        else:
            out.insert(verb.place + 1, Word("not"))
        return _any(out, verb.place, clause.end + 1)
    do = [Word(_DO[verb.form]), Word("not")]
    start = skip_adverbs(words, verb.place - 1, -1, clause.start) + 1
    out[verb.place] = Word(verb.root, True)
    out[start:start] = do
    return _any(out, start, clause.end + 2)


def with_modal(words: Sequence[Word], clause: Clause, modal: str) -> list[Word]:
    """Return a sentence with 'would ever', 'could not' … before the verb of a clause."""
    verb = clause.verb
    out = list(words)
    start = skip_adverbs(words, verb.place - 1, -1, clause.start) + 1
    out[verb.place] = Word(verb.root, True)
    out[start : verb.place] = [Word(one) for one in modal.split()]
    return _any(out, start, clause.end + 2)


def unlikely(words: Sequence[Word], clause: Clause, adverb: str) -> list[Word]:
    """Return a sentence with 'hardly ever' or the like in a clause, in place of 'usually'."""
    verb = clause.verb
    out = list(words)
    place = verb.place + 1 if verb.kind != "verb" else verb.place
    start = place
    while start > clause.start and out[start - 1].low in listed("frequencies"):
        start -= 1
    while place < len(out) and out[place].low in listed("frequencies"):
        place += 1
    out[start:place] = [Word(one) for one in adverb.split()]
    return out


def affirmed(words: Sequence[Word], clause: Clause) -> list[Word]:
    """Return a sentence without the 'not' of a clause: 'does not eat any' becomes 'eats some'."""
    verb = clause.verb
    assert verb.negation is not None
    out = list(words)
    if verb.kind != "do":
        first = out[verb.place]
        if first.low == "cannot":
            out[verb.place] = Word("can", first.space)
            return _some(out, verb.place, clause.end)
        out[verb.place] = Word(_FULL.get(first.low, first.text), first.space)
        del out[verb.negation]
        behind = [one.low for one in out[verb.negation : verb.negation + 2]]
        if behind[:1] in (["so"], ["that"]) and is_adjective(behind[-1]):
            del out[verb.negation]  # 'is not that easy' denies 'is easy'
        return _some(out, verb.place, clause.end - 1)
    base = skip_adverbs(words, verb.negation + 1, 1, clause.end)
    if base < clause.end:
        root = out[base].low
        form = verb.form
        made = root if form == "base" else verb_form(root_of(root), form)
        out[base] = Word(made, True)
    del out[verb.place : verb.negation + 1]
    return _some(out, verb.place, clause.end - 2)


def _any(words: list[Word], start: int, end: int) -> list[Word]:
    """Write 'any' for 'some' behind a negation."""
    for place in range(start, min(end, len(words))):
        if words[place].low == "some" and not is_adverb(words[place].low):
            words[place] = Word("any", words[place].space)
    return words


def _some(words: list[Word], start: int, end: int) -> list[Word]:
    """Write 'some' for 'any' where there is no negation any more."""
    for place in range(start, min(max(end, 0), len(words))):
        before_noun = place + 1 < len(words) and words[place + 1].low not in DETERMINERS
        if words[place].low == "any" and before_noun:
            words[place] = Word("some", words[place].space)
    return words
