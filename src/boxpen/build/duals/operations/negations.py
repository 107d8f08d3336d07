"""Negations that are deleted from both sentences of a pair: 'not', 'no', 'never' and the like.

Without its negation the senseless sentence must become the sensible one. It does if it denied what
is true ('birds cannot fly'), but not if it was merely odd ('birds have no arms'). The rules know
nothing of the world, so they go by how the sentences differ, and leave the rest alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from boxpen.build.duals.dictionary import open_dictionary
from boxpen.build.duals.pair import CAUSES, CONDITIONS, Both, Edit, Pair
from boxpen.english.clauses import Clause
from boxpen.english.finite import NEGATIONS
from boxpen.english.grammar import POSSESSIVES, number, uncounted
from boxpen.english.lexicon import is_adjective, is_adverb, lemmas
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, plain
from boxpen.english.subjects import is_bare_plural, is_lasting, subject_of
from boxpen.english.verbs import affirmed, has_not

__all__ = ["are_negated", "never", "no", "not_"]


def not_(pair: Pair) -> Iterator[Edit]:
    """Yield the pair without a 'not' that both sentences have."""
    for both in pair.matched:
        if not all(has_not(clause) for clause in both) or both[0].role == "relative":
            continue
        if not _is_bound(pair, both) and _decides(pair, both):
            texts = pair.written(affirmed(words, clause) for words, clause in pair.sides(both))
            yield Edit("del", "negation", texts, True, "without 'not' the clause says the contrary")


def never(pair: Pair) -> Iterator[Edit]:
    """Yield the pair without 'never', 'hardly', 'seldom' or the like."""
    if any({"anymore", "any", "anything"} & set(plain(words)) for words in pair.words):
        return
    for place in sorted(pair.shared):
        low, then = pair.low(place), pair.low(place + 1)
        if low not in listed("quasi_negations") or not place:
            continue
        if then in {"anyone", "anybody", "a"}:
            continue
        both = pair.clause_at(place)
        if both is None or not _decides(pair, both):
            continue
        texts = pair.replaced(place, 2 if then == "ever" and place + 1 in pair.shared else 1)
        reason = f"without '{low}' the clause says the contrary"
        yield Edit("del", "degree", texts, True, reason)


def no(pair: Pair) -> Iterator[Edit]:
    """Yield 'there is wind' for 'there is no wind'."""
    for place in sorted(pair.shared):
        if pair.low(place) != "no":
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
        made: list[Sequence[Word]] = []
        for (words, clause), at, noun in zip(pair.sides(both), places, nouns, strict=True):
            article = _takes_article(noun)
            if article and (is_bare_plural(words, clause) or not open_dictionary().is_thing(noun)):
                break  # nobody says 'cats have a tail' or 'there is a danger'
            made.append((*words[:at], *[Word("a")] * article, *words[at + 1 :]))
        else:
            reason = "without 'no' the clause says the contrary"
            yield Edit("del", "negation", pair.written(made), True, reason)


def are_negated(pair: Pair) -> bool:
    """Tell whether both sentences have a negation in the same place."""
    denies = NEGATIONS | listed("quasi_negations") | {"cannot", "no"}
    return any(pair.low(place) in denies for place in pair.shared)


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
    for words in pair.inside(both):
        if "because" in words[1:] or "need" in words or listed("weakened_by_not") & set(words):
            return False  # 'cannot see because of the fog'; nobody needs what is senseless
    if any(_compares(words, clause) for words, clause in pair.sides(both)):
        return False
    cause = pair.expected_from(both)
    if sorted(one) == sorted(two):
        return cause is not None  # the same words in other places
    if any(len(every) != len(pair.matched) for every in pair.clauses):
        return _is_denied_cause(pair, both)
    differs = pair.differing_clause
    if differs is None or (pair.are_named and differs != both):
        return False
    if differs != both:
        return _decides_from_afar(pair, both, differs)
    if pair.differ_in_cause(both):
        return pair.contrary
    if all(each == both or each[0].role == "relative" for each in pair.matched):
        return _denies_what_is_so(pair, both)
    if cause is None:
        return False
    if cause[0].opener in CONDITIONS:
        return pair.contrary or _denies_what_is_so(pair, both)
    # If 'not A' is expected, so is 'B' if B is the contrary of A. In 'it stood before us, and we
    # could not see the hill' the negation rests on the cause, but the rest does not.
    named = pair.are_named and both[0].opener == "and" and both[0].verb.root in {"can", "could"}
    return pair.contrary or named


def _denies_what_is_so(pair: Pair, both: Both) -> bool:
    """Tell whether the senseless sentence denies what is true, and is not merely odd.

    'Nobody can do X' is true of a senseless X, so if it makes no sense, X can be done. 'A kind does
    not do X' is merely odd ('cows do not have arms'), unless the sentences differ in what the kind
    *is*, or by things of one kind. For a single person the verb must be 'can' or 'could', and the
    sentences must differ by things of one kind, or by what comes after 'without'.
    """
    alike = pair.contrary or _are_of_one_kind(pair)
    if pair.both_are(_is_lasting, both):
        return alike or pair.both_are(_is_possible, both) or pair.differ_in_predicate(both)
    roots = {clause.verb.root for clause in both}
    return (roots == {"can"} and alike) or (roots <= {"can", "could"} and _can_do_without(pair))


def _decides_from_afar(pair: Pair, both: Both, differs: Both) -> bool:
    """Tell whether a clause without its negation decides between sentences that differ in another.

    A senseless cause is mostly irrelevant, and stays so: causes must be contraries or, as
    conditions of what is always so, of one kind.
    """
    if pair.expected_from(differs) == both:  # the negation is in the cause
        one, two = (subject_of(words, clause) for words, clause in pair.sides(differs))
        if one != two or (both[0].opener in CONDITIONS and pair.has_obligation(differs)):
            return False
        return pair.contrary or pair.differ_in_predicate(differs)
    if pair.contrary:
        return pair.expected_from(both) == differs or _follows(pair, both, differs)
    if pair.expected_from(both) != differs or differs[0].opener not in CONDITIONS:
        return False
    if not pair.both_are(_is_lasting, both):
        return False
    modal = pair.both_are(_is_possible, both)
    return _are_of_one_kind(pair) or (modal and pair.differ_in_predicate(differs))


def _follows(pair: Pair, both: Both, effect: Both) -> bool:
    """Tell whether a clause comes right behind another, of which it may be the outcome."""
    place = pair.matched.index(both)
    behind = pair.matched[place + 1 : place + 2] == [effect]
    return behind and effect[0].opener in {"and", "so"}


def _is_denied_cause(pair: Pair, both: Both) -> bool:
    """Tell whether one sentence draws from a negated clause what the other denies.

    'He had no boat, so he could not fish' and 'he had no boat, so he fished': the verbs differ in
    kind, so the clauses do not match.
    """
    if pair.touched(both) or not pair.by_negation or any(len(one) < 2 for one in pair.clauses):
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
    """Tell whether a clause is always true, of a kind or of what there is."""
    if is_lasting(words, clause):
        return True
    there = subject_of(words, clause) == ("there",) and clause.verb.form != "past"
    now = listed("passing") | listed("chances") | POSSESSIVES | {"that", "these", "those", "left"}
    return there and not now & set(plain(words[clause.start : clause.end]))


def _is_possible(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause is about what can or may be done."""
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
