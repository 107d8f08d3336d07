"""Opposites of a word that both sentences have: they flip the label."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from boxpen.build.duals.dictionary import open_dictionary
from boxpen.build.duals.pair import CONDITIONS, Edit, Pair
from boxpen.english.conjugation import VerbForm, verb_form
from boxpen.english.finite import skip_adverbs
from boxpen.english.lexicon import is_adjective, is_adverb, lemmas, pairs
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import is_name, plain
from boxpen.english.subjects import is_lasting
from boxpen.english.verbs import has_not

__all__ = ["opposites"]

_AGAINST = {"because": "although", "so": "but"}
_WITH = {"although": "because", "though": "because", "but": "so"}
_BE = frozenset({"am", "is", "are", "was", "were", "be", "being", "'m", "'s", "'re"})
_SIDES = frozenset({"right", "wrong"})  # 'a right turn' is no contrary of 'a wrong turn'


def opposites(pair: Pair) -> Iterator[Edit]:
    """Yield duals with an opposite in place of a word that both sentences have.

    It may be a word that links two clauses, an adjective behind its verb, or a verb of liking or
    growing.
    """
    for place in sorted(pair.shared):
        low = pair.low(place)
        for other in _links(pair, place, low):
            yield _edit(pair, place, other, f"'{other}' links the clauses in the contrary way")
        if low in listed("closed") - {"like"} or is_name(pair.words[0][place], first=place == 0):
            continue
        for other in _others(pair, place, low):
            if other in pair.differing(0) or other in pair.differing(1):
                continue
            yield _edit(pair, place, other, f"'{other}' says the contrary of '{low}'")


def _links(pair: Pair, place: int, low: str) -> Iterator[str]:
    """Yield the link that flips the label of a sentence with two clauses.

    'But' and 'although' introduce the unexpected. What nobody would do stays senseless after them,
    so the sentences must differ by contraries, or in how somebody is or feels.
    """
    before, after = pair.low(place - 1), pair.low(place + 1)
    opens = [both for both in pair.matched if both[0].opens == place]
    if low not in _AGAINST | _WITH or not opens or after in {"of", "that"}:
        return
    if before in {"even", "as", "only"} or not _is_simple(pair) or _is_reckoned(pair):
        return
    if any("only" in plain(words) for words in pair.words):
        return
    if low in _WITH:
        if pair.contrary or pair.differ_in_predicate():
            yield _WITH[low]
    elif pair.by_opposites or pair.by_negation or _differ_in_state(pair):
        yield _AGAINST[low]


def _is_simple(pair: Pair) -> bool:
    """Tell whether both sentences have two clauses with subjects, and what differs has no purpose.

    'He filled it to go on' makes no sense without its purpose.
    """
    differs = pair.differing_clause
    if differs is None or len(pair.matched) != 2 or any(len(c) != 2 for c in pair.clauses):
        return False
    if any(clause.subject is None for both in pair.matched for clause in both):
        return False
    return not pair.has_obligation(differs) and not any(
        to == "to" and verb in lemmas(verb).get("VERB", ())
        for words in pair.inside(differs)
        for to, verb in pairwise(words)
    )


def _differ_in_state(pair: Pair) -> bool:
    """Tell whether the sentences differ in the adjective behind a linking verb."""
    both = pair.differing_clause
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


def _others(pair: Pair, place: int, low: str) -> Iterator[str]:
    """Yield opposites of a word in its own form, if they flip the label."""
    verb = _turns(pair, place, low)
    predicate = not verb and _is_predicate(pair, place)
    if not (verb or predicate) or not _decides(pair, place):
        return
    if verb:
        root = lemmas(low)["VERB"][0]
        form = _form(low, root)
        if root in pairs("opposites") and form is not None:
            other = pairs("opposites")[root]
            if (other, pair.low(place + 1)) == ("dislike", "to"):
                other = "hate"
            yield verb_form(other, form)
    elif low in pairs("opposites"):
        yield pairs("opposites")[low]
    elif predicate:
        yield from (
            open_dictionary().opposites(low, "a")[:1] if low != "thirsty" else ()
        )  # it has 'hungry'


def _decides(pair: Pair, place: int) -> bool:
    """Tell whether the opposite of a word makes the other sentence the sensible one.

    It does if its clause is about a kind in general and the sentences differ in that clause; or if
    one clause is expected from the other, and the sentences differ in what depends on the word.
    """
    both = pair.clause_at(place)
    differs = pair.differing_clause
    if both is None or differs is None or pair.by_negation:
        return False  # 'not good' and 'good' would become 'not bad' and 'bad'
    if any("because" in plain(words) for words in pair.words) and len(pair.matched) == 1:
        return False  # 'is good because of its name'
    if any((listed("hinder_negation") | {"any"}) & set(words) for words in pair.inside(both)):
        return False  # 'too much is bad': no opposite turns it round
    others = [each for each in pair.matched if each != both]
    if differs == both:
        return pair.both_are(is_lasting, both) and all(
            each[0].role == "relative" for each in others
        )
    if len(others) != 1 or pair.has_obligation(differs):
        return False
    if pair.expected_from(differs) == both:  # the word is in the cause
        return pair.contrary or pair.differ_in_predicate(differs)
    link = pair.expected_from(both)
    if link is None or link != differs:
        return False
    return pair.contrary or (differs[0].opener in CONDITIONS and pair.both_are(is_lasting, both))


def _turns(pair: Pair, place: int, low: str) -> bool:
    """Tell whether a word is a verb of liking, winning, growing …, the finite one of a clause."""
    roots = lemmas(low).get("VERB", ())
    finite = any(clause.verb.place == place for clause in pair.clauses[0])
    return finite and any(root in listed("turning_verbs") for root in roots)


def _is_predicate(pair: Pair, place: int) -> bool:
    """Tell whether a word is an adjective behind a linking verb."""
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
    after = pair.low(place + 1)
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
    return Edit("sub", "antonym", pair.replaced(place, 1, other), True, reason)
