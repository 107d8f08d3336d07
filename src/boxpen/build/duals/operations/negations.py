"""Negations that are deleted from both sentences of a pair: 'not', 'no', 'never' and the like.

Without its negation the senseless sentence must be the sensible one. It is, if it made no sense
because it denied what is so ('birds cannot fly'); not, if it was only odd ('birds have no arms'):
then it stays odd. Rules cannot tell the two apart by what they know of the world, so they go by
how the sentences differ, and leave alone what that does not settle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from boxpen.build.duals.dictionary import open_dictionary
from boxpen.build.duals.difference import (
    CAUSES,
    CONDITIONS,
    Both,
    are_named,
    by_negation,
    contrary,
    differ_in_predicate,
    differing_clause,
    expected_from,
    has_cause_that_differs,
    has_obligation,
    inside,
)
from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.clauses import Clause
from boxpen.english.finite import NEGATIONS
from boxpen.english.grammar import POSSESSIVES, number, uncounted
from boxpen.english.lexicon import is_adjective, is_adverb, lemmas
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, plain
from boxpen.english.subjects import is_bare_plural, is_lasting, subject_of
from boxpen.english.verbs import affirmed, has_not

__all__ = ["affirmations", "are_negated"]


def affirmations(pair: Pair) -> Iterator[Edit]:
    """Yield duals without a negation that both sentences have."""
    yield from _negations(pair)
    yield from _quasi_negations(pair)
    yield from _nothing(pair)


def are_negated(pair: Pair) -> bool:
    """Tell whether both sentences have a negation in the same place."""
    denies = NEGATIONS | listed("quasi_negations") | {"cannot", "no"}
    return any(pair.words[0][place].low in denies for place in pair.shared)


def _negations(pair: Pair) -> Iterator[Edit]:
    for both in pair.matched:
        if not all(has_not(clause) for clause in both) or both[0].role == "relative":
            continue
        if _is_bound(pair, both) or not _decides(pair, both):
            continue

        def change(side: int, words: tuple[Word, ...], both: Both = both) -> Sequence[Word]:
            return affirmed(words, both[side])

        texts = pair.changed(change)
        yield Edit("del", "negation", texts, True, "without 'not' the clause says the contrary")


def _quasi_negations(pair: Pair) -> Iterator[Edit]:
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        if low not in listed("quasi_negations") or not place:
            continue
        if any({"anymore", "any", "anything"} & set(plain(words)) for words in pair.words):
            continue
        then = _at(pair, place + 1)
        width = 2 if then in {"ever", "any"} and place + 1 in pair.shared else 1
        if then in {"any", "anyone", "anything", "anybody", "a"}:
            continue
        both = next((both for both in pair.matched if both[0].has(place)), None)
        if both is None or not _decides(pair, both):
            continue
        yield Edit(
            "del", "degree", pair.without(place, width), True,
            f"without '{low}' the clause says the contrary",
        )  # fmt: skip


def _nothing(pair: Pair) -> Iterator[Edit]:
    """Yield 'there is wind' for 'there is no wind'."""
    book = open_dictionary()
    for place in sorted(pair.shared):
        if pair.words[0][place].low != "no":
            continue
        places = (place, pair.shared[place])
        nouns = [
            words[at + 1].low if at + 1 < len(words) else ""
            for at, words in zip(places, pair.words, strict=True)
        ]
        apart = {"one", "matter", "more", "room"}
        if any("NOUN" not in lemmas(noun) or noun in apart for noun in nouns):
            continue
        both = next((both for both in pair.matched if both[0].verb.group == place - 1), None)
        if both is None or not _decides(pair, both):
            continue
        if any(
            _takes_article(noun)
            and (is_bare_plural(pair.words[side], both[side]) or not book.is_thing(noun))
            for side, noun in enumerate(nouns)
        ):
            continue  # neither 'cats have a tail' nor 'there is a danger' is what one says

        def change(
            side: int,
            words: tuple[Word, ...],
            places: tuple[int, int] = places,
            nouns: Sequence[str] = nouns,
        ) -> Sequence[Word]:
            at = places[side]
            put = (Word("a"),) if _takes_article(nouns[side]) else ()
            return (*words[:at], *put, *words[at + 1 :])

        texts = pair.changed(change)
        yield Edit("del", "negation", texts, True, "without 'no' the clause says the contrary")


def _takes_article(noun: str) -> bool:
    stuff = noun in known("mass") or uncounted(noun)
    return not stuff and number(noun) != "plural"


def _decides(pair: Pair, both: Both) -> bool:
    """Tell whether a clause without its negation makes the other sentence the sensible one."""
    one, two = (pair.differing(side) for side in range(2))
    if any(clause.subject is None for clause in both) or {*one, *two} & listed("quantified"):
        return False
    if both[0].verb.root in listed("no_contrary"):
        return False
    if any("but" in plain(words) for words in pair.words):
        return False  # 'not A but B', and what comes unexpected
    for words in inside(pair, both):
        if "because" in words[1:] or "need" in words or listed("weakened_by_not") & set(words):
            return False  # 'cannot see because of the fog'; nobody needs what is senseless
    if any(_compares(words, clause) for words, clause in zip(pair.words, both, strict=True)):
        return False
    cause = expected_from(pair, both)
    if sorted(one) == sorted(two):
        return cause is not None  # the same words in other places
    if any(len(every) != len(pair.matched) for every in pair.clauses):
        return _is_denied_cause(pair, both)
    differs = differing_clause(pair)
    if differs is None or (are_named(pair) and differs != both):
        return False
    if differs != both:
        return _decides_from_afar(pair, both, differs)
    if has_cause_that_differs(pair, both):
        return contrary(pair)
    if all(each == both or each[0].role == "relative" for each in pair.matched):
        return _denies_what_is_so(pair, both)
    if cause is None:
        return False
    if cause[0].opener in CONDITIONS:
        return contrary(pair) or _denies_what_is_so(pair, both)
    # What lets 'not A' expect, lets 'B' expect if B is the contrary of A. In 'it stood before us,
    # and we could not see the hill' the negation rests on it, but the rest does not.
    named = are_named(pair) and both[0].opener == "and" and both[0].verb.root in {"can", "could"}
    return contrary(pair) or named


def _denies_what_is_so(pair: Pair, both: Both) -> bool:
    """Tell whether the senseless sentence denies what is so, and is not merely odd.

    That nobody can, or may, do a senseless thing is true, so a sentence that denies it and makes no
    sense denies what can be done. That a kind does not do, or is not, something senseless is odd:
    'cows do not have arms'; but if it is said of what differs that it *is* not so, or of things of
    one kind, it is a matter of truth. Of one somebody it is told only if he *cannot*, of things of
    one kind or of what he can do without.
    """
    sides = list(zip(pair.words, both, strict=True))
    alike = contrary(pair) or _are_of_one_kind(pair)
    if all(_is_lasting(words, clause) for words, clause in sides):
        modal = all(_is_possible(words, clause) for words, clause in sides)
        return modal or alike or differ_in_predicate(pair, both)
    roots = {clause.verb.root for clause in both}
    return (roots == {"can"} and alike) or (roots <= {"can", "could"} and _can_do_without(pair))


def _decides_from_afar(pair: Pair, both: Both, differs: Both) -> bool:
    """Tell whether a clause without its negation decides between sentences that differ in another.

    A cause that makes no sense is mostly no matter at all, and stays so: causes must be contraries,
    or, as conditions of what is always so, of one kind.
    """
    if expected_from(pair, differs) == both:  # the negation is in the cause
        subjects = [subject_of(pair.words[side], clause) for side, clause in enumerate(differs)]
        obliged = both[0].opener in CONDITIONS and any(
            has_obligation(words) for words in inside(pair, differs)
        )
        if obliged or subjects[0] != subjects[1]:
            return False
        return contrary(pair) or differ_in_predicate(pair, differs)
    if contrary(pair):
        return expected_from(pair, both) == differs or _follows(pair, both, differs)
    if expected_from(pair, both) != differs or differs[0].opener not in CONDITIONS:
        return False
    sides = list(zip(pair.words, both, strict=True))
    lasts = all(_is_lasting(words, clause) for words, clause in sides)
    modal = all(_is_possible(words, clause) for words, clause in sides)
    return lasts and (_are_of_one_kind(pair) or (modal and differ_in_predicate(pair, differs)))


def _follows(pair: Pair, both: Both, effect: Both) -> bool:
    """Tell whether a clause comes right behind another, of which it may be the outcome."""
    place = pair.matched.index(both)
    behind = pair.matched[place + 1 : place + 2] == [effect]
    return behind and effect[0].opener in {"and", "so"}


def _is_denied_cause(pair: Pair, both: Both) -> bool:
    """Tell whether from a negated clause one sentence lets a thing expect, the other 'not' that.

    'He had no boat, so he could not fish' and 'he had no boat, so he fished': the verbs differ in
    kind, so that the clauses do not match.
    """
    if pair.touched(both) or not by_negation(pair) or any(len(one) < 2 for one in pair.clauses):
        return False
    one, two = (every[1] for every in pair.clauses)
    later = any(
        pair.touches(side, clause.opens, clause.end)
        for side, every in enumerate(pair.clauses)
        for clause in every[2:]
    )
    if later or both != (pair.clauses[0][0], pair.clauses[1][0]):
        return False
    same = subject_of(pair.words[0], one) == subject_of(pair.words[1], two)
    linked = one.opener == two.opener == "so" or both[0].opener in CAUSES
    return same and linked


def _is_lasting(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause says what is always so, of a kind or of what there is."""
    if is_lasting(words, clause):
        return True
    there = subject_of(words, clause) == ("there",) and clause.verb.form != "past"
    now = listed("passing") | listed("chances") | POSSESSIVES | {"that", "these", "those", "left"}
    return there and not now & set(plain(words[clause.start : clause.end]))


def _is_possible(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause says what can or may be done."""
    if clause.verb.root in {"can", "should"}:
        return True
    behind = clause.verb.group + 1
    then = words[behind].low if behind < clause.end else ""
    return clause.verb.root == "be" and then in {"able", "allowed", "permitted", "supposed"}


def _compares(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether 'so … as' or 'so … that' comes behind the verb: 'cannot be so tall as'."""
    behind = plain(words[clause.verb.place :])
    return any(
        low == "so"
        and (is_adjective(then) or is_adverb(then))
        and not {"as", "that"}.isdisjoint(behind[place:])
        for place, (low, then) in enumerate(pairwise(behind))
    )


def _are_of_one_kind(pair: Pair) -> bool:
    """Tell whether wherever the sentences differ, they name two things of one kind."""
    book = open_dictionary()
    return all(
        book.are_of_one_field(
            *(" ".join(plain(words)) for words in (pair.words[0][a:b], pair.words[1][c:d]))
        )
        for a, b, c, d in pair.spans
    )


def _can_do_without(pair: Pair) -> bool:
    """Tell whether the sentences differ in what comes behind a 'without'."""
    return all(
        "without" in plain(pair.words[0][max(a - 3, 0) : a]) and a < b and c < d
        for a, b, c, d in pair.spans
    )


def _is_bound(pair: Pair, both: Both) -> bool:
    """Tell whether words go with the 'not' of a clause: 'just cannot', 'not a breath', 'ever'."""
    bound = listed("bound_to_negation")
    for side, clause in enumerate(both):
        words = pair.words[side]
        # 'Not any box' becomes 'some box'; 'anything' has no such twin, and if it differs, neither.
        if (bound - {"any"}) & set(plain(words)) or bound & set(pair.differing(side)):
            return True
        if any(one.low == "any" and two.low in {"more", "longer"} for one, two in pairwise(words)):
            return True
        behind = (clause.verb.negation or clause.verb.place) + 1
        then = plain(words[behind : behind + 3])
        if then[:1] == ("a",) and listed("minimal") & set(then):
            return True
        place = clause.verb.place - 1
        before = words[place].low if place > (clause.subject or 0) else ""  # 'there is not'
        if is_adverb(before) or before in listed("adverbs"):
            return True
    return False


def _at(pair: Pair, place: int) -> str:
    words = pair.words[0]
    return words[place].low if place < len(words) else ""
