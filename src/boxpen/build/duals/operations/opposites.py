"""Opposites of a word that both sentences have: they turn what makes sense round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from boxpen.build.duals.dictionary import Dictionary
from boxpen.build.duals.difference import (
    CONDITIONS,
    Both,
    by_negation,
    by_opposites,
    contrary,
    differ_in_predicate,
    differing_clause,
    expected_from,
    has_obligation,
    inside,
)
from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.conjugation import VerbForm, verb_form
from boxpen.english.finite import skip_adverbs
from boxpen.english.lexicon import is_adjective, is_adverb, lemmas, pairs
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain
from boxpen.english.subjects import is_lasting
from boxpen.english.verbs import has_not

__all__ = ["opposites"]

_AGAINST = {"because": "although", "so": "but"}
_WITH = {"although": "because", "though": "because", "but": "so"}
_BE = frozenset({"am", "is", "are", "was", "were", "be", "being", "'m", "'s", "'re"})
_SIDES = frozenset({"right", "wrong"})  # 'a right turn' is no contrary of 'a wrong turn'


def opposites(pair: Pair, book: Dictionary) -> Iterator[Edit]:
    """Yield duals with an opposite in place of a word that both sentences have.

    It may be a word that links two clauses; an adjective that says what a subject is like; a verb
    of liking or growing.
    """
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        for other in _links(pair, place, low):
            yield _edit(pair, place, other, f"'{other}' links the clauses in the contrary way")
        if low in listed("closed") - {"like"} or is_name(pair.words[0][place], first=place == 0):
            continue
        for other in _others(pair, place, low, book):
            if other in pair.differing(0) or other in pair.differing(1):
                continue
            yield _edit(pair, place, other, f"'{other}' says the contrary of '{low}'")


def _links(pair: Pair, place: int, low: str) -> Iterator[str]:
    """Yield the link that turns a sentence of two clauses round.

    'But' and 'although' go with what was not to be expected. A thing that nobody would do stays
    senseless behind them; so what differs must be contraries, or how somebody is or feels.
    """
    before = pair.words[0][place - 1].low if place else ""
    after = pair.words[0][place + 1].low if place + 1 < len(pair.words[0]) else ""
    opens = [both for both in pair.matched if both[0].opens == place]
    if low not in _AGAINST | _WITH or not opens or after in {"of", "that"}:
        return
    if before in {"even", "as", "only"} or not _is_simple(pair) or _is_reckoned(pair):
        return
    if any("only" in plain(words) for words in pair.words):
        return
    if low in _WITH:
        if contrary(pair) or differ_in_predicate(pair):
            yield _WITH[low]
    elif by_opposites(pair) or by_negation(pair) or _differ_in_state(pair):
        yield _AGAINST[low]


def _is_simple(pair: Pair) -> bool:
    """Tell whether both sentences have two clauses with subjects, and what differs has no purpose.

    'He filled it to go on' makes no sense without its purpose.
    """
    differs = differing_clause(pair)
    if differs is None or len(pair.matched) != 2 or any(len(c) != 2 for c in pair.clauses):
        return False
    if any(clause.subject is None for both in pair.matched for clause in both):
        return False
    words = inside(pair, differs)
    return not any(_has_infinitive(one) or has_obligation(one) for one in words)


def _has_infinitive(words: Sequence[str]) -> bool:
    return any(to == "to" and verb in lemmas(verb).get("VERB", ()) for to, verb in pairwise(words))


def _differ_in_state(pair: Pair) -> bool:
    """Tell whether the sentences differ in the adjective that says how a subject is."""
    both = differing_clause(pair)
    if both is None:
        return False
    for side, clause in enumerate(both):
        if clause.verb.root not in listed("linking"):
            return False
        words = pair.words[side]
        place = skip_adverbs(words, clause.verb.group + 1, 1, clause.end)
        if place >= clause.end or not pair.touches(side, place, place + 1):
            return False
        low = words[place].low
        if "ADJ" not in lemmas(low) or low in listed("closed"):
            return False
    return True


def _is_reckoned(pair: Pair) -> bool:
    """Tell whether a number or a comparison differs: no 'but' makes a wrong sum right."""
    for side in range(2):
        for low in pair.differing(side):
            if low.isdigit() or low in listed("numbers"):
                return True
            if low.endswith(("er", "est")) and any(
                root != low for root in lemmas(low).get("ADJ", ())
            ):
                return True
    return False


def _others(pair: Pair, place: int, low: str, book: Dictionary) -> Iterator[str]:
    """Yield opposites of a word in its own form, if they turn the sentence round."""
    verb = _turns(pair, place, low)
    predicate = not verb and _is_predicate(pair, place)
    if not (verb or predicate) or not _decides(pair, place):
        return
    if verb:
        root = lemmas(low)["VERB"][0]
        form = _form(low, root)
        if root in pairs("opposites") and form is not None:
            other = pairs("opposites")[root]
            after = pair.words[0][place + 1].low if place + 1 < len(pair.words[0]) else ""
            if (other, after) == ("dislike", "to"):
                other = "hate"
            yield verb_form(other, form)
    elif low in pairs("opposites"):
        yield pairs("opposites")[low]
    elif predicate:
        yield from book.opposites(low, "a")[:1] if low != "thirsty" else ()  # it has 'hungry'


def _decides(pair: Pair, place: int) -> bool:
    """Tell whether the opposite of a word makes the other sentence the sensible one.

    It does if its clause speaks of a kind in general and the sentences differ in that clause; or
    if one clause lets the other expect, and the sentences differ in what depends on the word.
    """
    both = next((both for both in pair.matched if both[0].has(place)), None)
    differs = differing_clause(pair)
    if both is None or differs is None or by_negation(pair):
        return False  # 'not good' and 'good' would become 'not bad' and 'bad'
    if any("because" in plain(words) for words in pair.words) and len(pair.matched) == 1:
        return False  # 'is good because of its name'
    if any((listed("hinder_negation") | {"any"}) & set(words) for words in inside(pair, both)):
        return False  # 'too much is bad': no opposite turns it round
    others = [each for each in pair.matched if each != both]
    if differs == both:
        return _lasts(pair, both) and all(each[0].role == "relative" for each in others)
    if len(others) != 1 or any(has_obligation(words) for words in inside(pair, differs)):
        return False
    if expected_from(pair, differs) == both:  # the word is in the cause
        return contrary(pair) or differ_in_predicate(pair, differs)
    link = expected_from(pair, both)
    if link is None or link != differs:
        return False
    return contrary(pair) or (differs[0].opener in CONDITIONS and _lasts(pair, both))


def _lasts(pair: Pair, both: Both) -> bool:
    return all(is_lasting(pair.words[side], clause) for side, clause in enumerate(both))


def _turns(pair: Pair, place: int, low: str) -> bool:
    """Tell whether a word is a verb of liking, winning, growing …, the finite one of a clause."""
    roots = lemmas(low).get("VERB", ())
    finite = any(clause.verb.place == place for clause in pair.clauses[0])
    return finite and any(root in listed("turning_verbs") for root in roots)


def _is_predicate(pair: Pair, place: int) -> bool:
    """Tell whether a word is an adjective that says what the subject of its clause is like."""
    words = pair.words[0]
    low = words[place].low
    if "ADJ" not in lemmas(low) or not (is_adjective(low) or low in pairs("opposites")):
        return False
    if low not in pairs("opposites") and any(root != low for root in lemmas(low).get("VERB", ())):
        return False  # 'are born'
    before = place - 1
    while before >= 0 and (
        is_adverb(words[before].low) or words[before].low in listed("intensifiers")
    ):
        before -= 1
    after = words[place + 1].low if place + 1 < len(words) else ""
    noun_next = _may_be_noun(after)
    if before > 0 and words[before].low in {"a", "an"} and low in listed("weighing") - _SIDES:
        before -= 1  # 'is a good idea'
        noun_next = words[before].low not in _BE
    if after in {"of", "enough"} or noun_next or before not in pair.shared:
        return False
    if any(has_not(clause) and clause.has(place) for clause in pair.clauses[0]) and all(
        any(has_not(clause) for clause in every) for every in pair.clauses
    ):
        return False  # 'not unimportant'
    if words[before].low in {"make", "makes", "made"} and words[before + 1].low == "sure":
        return False
    verbs = {at for clause in pair.clauses[0] for at in (clause.verb.place, clause.verb.group)}
    return words[before].low in listed("linking") and (before in verbs or before == 0)


def _may_be_noun(low: str) -> bool:
    return "NOUN" in lemmas(low) and low not in listed("closed") | listed("prepositions")


def _form(low: str, root: str) -> VerbForm | None:
    forms: tuple[VerbForm, ...] = ("base", "third", "past", "participle", "gerund")
    return next((form for form in forms if verb_form(root, form) == low), None)


def _edit(pair: Pair, place: int, other: str, reason: str) -> Edit:
    def change(side: int, words: tuple[Word, ...]) -> Sequence[Word]:
        at = place if side == 0 else pair.shared[place]
        capital = words[at].text[0].isupper()
        made = other[0].upper() + other[1:] if capital else other
        return (*words[:at], Word(made, words[at].space), *words[at + 1 :])

    return Edit("sub", "antonym", pair.changed(change), True, reason)
