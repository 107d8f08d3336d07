"""What one person did, denied of everybody: 'nobody would ever …'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.clauses import Clause
from boxpen.english.grammar import DETERMINERS, POSSESSIVES, is_person
from boxpen.english.lexicon import lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain
from boxpen.english.subjects import is_general, subject_of
from boxpen.english.verbs import with_modal

__all__ = ["nobody"]

# Whose things they are; 'her' may be both.
_OWNERS = {"i": {"my"}, "he": {"his"}, "she": {"her"}, "we": {"our"}, "they": {"their"}}
_OTHERS = frozenset(
    {"me", "him", "her", "us", "them", "mine", "hers", "ours", "theirs", "it", "you", "your"}
    | {"myself", "himself", "herself", "ourselves", "themselves", "itself", "yourself"}
    | {"i", "he", "she", "we", "they"}
)


def nobody(pair: Pair) -> Iterator[Edit]:
    """Yield 'nobody would ever eat a stone' for 'Tom ate a stone'.

    That Tom did not eat an apple would be as sensible as that he did not eat a stone; that nobody
    ever would is not.
    """
    if len(pair.matched) != 1 or any(len(every) != 1 for every in pair.clauses):
        return
    both = pair.matched[0]
    if not all(_may_be_denied(pair, side, both[side]) for side in range(2)):
        return
    made: list[list[Word]] = []
    for words, clause in pair.sides(both):
        owners = _owners(words)
        out = with_modal(words, clause, "would ever")
        rest = out[out.index(Word("would")) :]
        for place, word in enumerate(rest):
            if _owns(rest, place, owners):
                rest[place] = Word("their", word.space)
        made.append([Word("nobody"), *rest])
    reason = "what makes no sense nobody would do, and what makes sense somebody would"
    yield Edit("sub", "nobody", pair.written(made), True, reason)


def _may_be_denied(pair: Pair, side: int, clause: Clause) -> bool:
    """Tell whether a person does a thing in a clause about nobody else."""
    words = pair.words[side]
    verb, start = clause.verb, clause.subject
    if start != 0 or verb.kind != "verb" or verb.root in listed("states"):
        return False
    if _goes_on(words[verb.place + 1 :]) or pair.touches(side, start, verb.place):
        return False
    habit = verb.root == "use" and words[verb.place + 1 :][:1] == (Word("to"),)  # 'used to'
    if habit or is_general(words, clause):
        return False
    subject = subject_of(words, clause)
    if not subject or subject[0] in listed("quantified") or "and" in subject:
        return False
    named = is_name(words[start], first=True) and len(subject) == 1
    if not (named or subject[0] in _OWNERS or is_person(" ".join(subject))):
        return False
    told = listed("times") | listed("hinder_negation") | listed("numbers")
    if told & set(plain(words)) or any(low.isdigit() for low in plain(words)):
        return False
    owners = _owners(words)
    return not any(
        word.low in _OTHERS | POSSESSIVES and not _owns(words, place, owners)
        for place, word in enumerate(words)
        if place > verb.place
    )


def _goes_on(words: Sequence[Word]) -> bool:
    """Tell whether words have a second verb: 'sat down and sang'."""
    return any(
        one.low in {"and", "or", "but"}
        and "VERB" in lemmas(two.low)
        and "NOUN" not in lemmas(two.low)
        for one, two in pairwise(words)
    )


def _owners(words: Sequence[Word]) -> set[str]:
    """Return the possessives that speak of the subject with which a sentence begins."""
    return _OWNERS.get(words[0].low, {"his", "her", "their"})


def _owns(words: Sequence[Word], place: int, owners: set[str]) -> bool:
    """Tell whether a word is a possessive of the subject's, before the noun that it has."""
    after = words[place + 1].low if place + 1 < len(words) else ""
    noun = bool(lemmas(after)) and after not in listed("closed") | DETERMINERS
    return words[place].low in owners and noun and after not in listed("prepositions")
