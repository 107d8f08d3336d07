"""Words that are deleted from both sentences of a pair: a negation, a degree, a restriction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from boxpen.build.duals.difference import (
    CAUSES,
    CONDITIONS,
    Both,
    are_named,
    contrary,
    differ_in_predicate,
    differing_clause,
    expected_from,
    has_cause_that_differs,
    inside,
)
from boxpen.build.duals.pair import Edit, Pair, UnchangedError
from boxpen.build.duals.sentence import Word, plain
from boxpen.build.duals.subjects import is_lasting
from boxpen.build.duals.verbs import affirmed, has_not
from boxpen.build.duals.wordlists import words as listed
from boxpen.build.kg.grammar import DETERMINERS, number, uncounted
from boxpen.build.kg.lexicon import is_adjective, is_adverb, lemmas
from boxpen.build.kg.lexicon import listed as known

__all__ = ["deleted"]

_PERIODS = frozenset(
    {"day", "morning", "afternoon", "evening", "night", "week", "weekend", "month", "year", "time"}
)
_OF_TIME = frozenset({"yesterday", "today", "tomorrow", "everyday", "tonight", "nowadays"})


def deleted(pair: Pair) -> Iterator[Edit]:
    """Yield duals with something deleted.

    Raises:
        UnchangedError: If there is none.
    """
    found = False
    for rule in (_negations, _quasi_negations, _nothing, _degrees, _adjectives, _times, _places):
        for edit in rule(pair):
            found = True
            yield edit
    if not found:
        raise UnchangedError("both have no negation, degree or restriction that could go")


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


def _decides(pair: Pair, both: Both) -> bool:
    """Tell whether a clause without its negation makes the other sentence the sensible one.

    It does if the senseless sentence denies what is true: what somebody can do, what is so in
    general, or what another clause lets expect. That somebody did not do a senseless thing is only
    odd, and that he did it is odder. If the question is which of two is meant, a negation in
    another clause than theirs has little to do with it.
    """
    one, two = (pair.differing(side) for side in range(2))
    if any(clause.subject is None for clause in both) or {*one, *two} & listed("quantified"):
        return False
    if any("because" in words[1:] or "need" in words for words in inside(pair, both)):
        return False  # 'cannot see because of the fog'; nobody needs what is senseless
    cause = expected_from(pair, both)
    if sorted(one) == sorted(two):
        return cause is not None  # the same words in other places
    differs = differing_clause(pair)
    if are_named(pair) and differs != both:
        return False
    if differs is None or any(len(every) != len(pair.matched) for every in pair.clauses):
        return False
    lasts = all(is_lasting(pair.words[side], clause) for side, clause in enumerate(both))
    if differs == both:
        if has_cause_that_differs(pair, both):
            return contrary(pair)
        able = all(clause.verb.root == "can" for clause in both)
        if all(each == both or each[0].role == "relative" for each in pair.matched):
            return able or lasts
        says = contrary(pair) or differ_in_predicate(pair, both)
        return cause is not None and (able or lasts or says)
    if expected_from(pair, differs) == both:  # the negation is in the cause
        return contrary(pair) or differ_in_predicate(pair, differs)
    if cause != differs:
        return False
    if differs[0].opener in CAUSES:
        return contrary(pair) or differ_in_predicate(pair, differs)
    return contrary(pair) or (lasts and differs[0].opener in CONDITIONS)


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


def _quasi_negations(pair: Pair) -> Iterator[Edit]:
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        if low not in listed("quasi_negations") or not place:
            continue
        if any({"anymore", "any", "anything"} & set(plain(words)) for words in pair.words):
            continue
        width = 2 if _at(pair, place + 1) in {"ever", "any"} and place + 1 in pair.shared else 1
        if _at(pair, place + 1) in {"any", "anyone", "anything", "anybody", "a"}:
            continue
        both = next((both for both in pair.matched if both[0].has(place)), None)
        if both is None or not _decides(pair, both):
            continue
        yield Edit(
            "del", "degree", _without(pair, place, width), True,
            f"without '{low}' the clause says the contrary",
        )  # fmt: skip


def _nothing(pair: Pair) -> Iterator[Edit]:
    """Yield 'there is wind' for 'there is no wind'."""
    for place in sorted(pair.shared):
        if pair.words[0][place].low != "no":
            continue
        nouns = []
        for side in range(2):
            at = place if side == 0 else pair.shared[place]
            noun = pair.words[side][at + 1].low if at + 1 < len(pair.words[side]) else ""
            nouns.append(noun)
        if any("NOUN" not in lemmas(noun) or noun in {"one", "matter", "more"} for noun in nouns):
            continue
        both = next((both for both in pair.matched if both[0].verb.group == place - 1), None)
        if both is None or not _decides(pair, both):
            continue

        def change(
            side: int, words: tuple[Word, ...], place: int = place, nouns: Sequence[str] = nouns
        ) -> Sequence[Word]:
            at = place if side == 0 else pair.shared[place]
            stuff = nouns[side] in known("mass") or uncounted(nouns[side])
            many = number(nouns[side]) == "plural"
            put = () if many or stuff else (Word("a"),)
            return (*words[:at], *put, *words[at + 1 :])

        texts = pair.changed(change)
        yield Edit("del", "negation", texts, True, "without 'no' the clause says the contrary")


def _degrees(pair: Pair) -> Iterator[Edit]:
    for place in sorted(pair.shared):
        low, following = pair.words[0][place].low, _at(pair, place + 1)
        if low not in listed("spare_adverbs") or following in {"much", "well", "few", "", ",", "."}:
            continue
        before = pair.words[0][place - 1].low if place else ""
        if before in {"not", "n't", "as", "how", "so"} or following in {"that"}:
            continue
        kind = "degree" if low in listed("intensifiers") else "restriction"
        reason = f"'{low}' says how much or how often, not what makes sense"
        yield Edit("del", kind, _without(pair, place, 1), False, reason)


def _adjectives(pair: Pair) -> Iterator[Edit]:
    """Yield 'the house' for 'the old house', where no other word says what kind it is."""
    seen = [low for words in pair.words for low in plain(words)]
    for place in sorted(pair.shared):
        low, following = pair.words[0][place].low, _at(pair, place + 1)
        before = pair.words[0][place - 1].low if place else ""
        attribute = before in DETERMINERS or before in listed("prepositions")
        noun = "NOUN" in lemmas(following) and following not in {"one", "ones", "and", "enough"}
        once = seen.count(low) == 2 and place + 1 in pair.shared
        if low not in listed("spare_adjectives") or not (attribute and noun and once):
            continue
        if "ADJ" in lemmas(following) and is_adjective(following):
            continue
        if (low, following) in {("old", "man"), ("old", "woman"), ("new", "year")}:
            continue
        reason = f"'{low}' is not what the sense rests on"
        yield Edit("del", "restriction", _without(pair, place, 1), False, reason)


def _times(pair: Pair) -> Iterator[Edit]:
    """Yield sentences without 'every day' or the like at their end."""
    one, two = (list(words) for words in pair.words)
    tail = 1 if one[-1].text in ".!" and two[-1].text in ".!" else 0
    last = len(one) - tail - 1
    ends = [last in pair.shared and pair.shared[last] == len(two) - tail - 1]
    width = 1 if one[last].low in _OF_TIME else 0
    if (
        one[last].low in _PERIODS
        and last
        and one[last - 1].low in {"every", "each", "last", "this"}
    ):
        width = 2
        ends.append(last - 1 in pair.shared)
    if not width or not all(ends) or last + 1 - width < 3:
        return
    rest = {low for words in (one[: last + 1 - width], two[:-width]) for low in plain(words)}
    told = {"every", "each", "last", "this"} | _PERIODS | _OF_TIME
    if (rest - told) & listed("times"):
        return
    text = " ".join(word.low for word in one[last + 1 - width : last + 1])
    yield Edit(
        "del", "restriction", _without(pair, last + 1 - width, width), False,
        f"'{text}' is not what the sense rests on",
    )  # fmt: skip


def _places(pair: Pair) -> Iterator[Edit]:
    """Yield sentences without 'at the station' at their end, where somebody does something else."""
    one, two = pair.words
    tail = 1 if one[-1].text in ".!" and two[-1].text in ".!" else 0
    start = len(one) - tail - 3
    if start < 5 or any(place not in pair.shared for place in range(start - 1, len(one) - tail)):
        return
    preposition, determiner, noun = (word.low for word in one[start : start + 3])
    before = one[start - 1].low
    moved = {"put", "puts", "is", "are", "was", "were", "live", "lives", "went", "go", "goes"}
    if preposition not in {"at", "in", "on"} or determiner not in {
        "the",
        "our",
        "my",
        "his",
        "her",
    }:
        return
    placed = moved & {word.low for words in pair.words for word in words}
    if noun not in listed("places") or placed or before in listed("prepositions"):
        return
    text = " ".join(word.low for word in one[start : start + 3])
    yield Edit(
        "del", "restriction", _without(pair, start, 3), False,
        f"'{text}' is not what the sense rests on",
    )  # fmt: skip


def _without(pair: Pair, place: int, width: int) -> tuple[str, str]:
    """Return both sentences without some shared words."""

    def change(side: int, words: tuple[Word, ...]) -> Sequence[Word]:
        at = place if side == 0 else pair.shared[place]
        return (*words[:at], *words[at + width :])

    return pair.changed(change)


def _at(pair: Pair, place: int) -> str:
    words = pair.words[0]
    return words[place].low if place < len(words) else ""
