"""How the sentences of a pair differ, and whether the clauses that they share are linked.

The rules that turn the truth round rest on this. That somebody did not do a thing is sensible of
nearly every thing; it only decides between two sentences if they speak of a kind in general, or if
another clause says what was to be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from boxpen.build.duals.dictionary import open_dictionary
from boxpen.build.duals.pair import Pair
from boxpen.english.clauses import Clause
from boxpen.english.finite import NEGATIONS, skip_adverbs
from boxpen.english.grammar import DETERMINERS
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import plain

__all__ = [
    "CAUSES",
    "CONDITIONS",
    "Both",
    "are_named",
    "by_negation",
    "by_opposites",
    "contrary",
    "differ_in_predicate",
    "differing_clause",
    "expected_from",
    "has_cause_that_differs",
    "has_obligation",
    "inside",
]

Both = tuple[Clause, Clause]
"""A clause of the first sentence, and the same of the second."""

CAUSES = frozenset({"because", "since"})
CONDITIONS = frozenset({"if", "when", "whenever"})


def contrary(pair: Pair) -> bool:
    """Tell whether what one sentence says, the other denies: by opposites or by 'not'."""
    return by_opposites(pair) or by_negation(pair)


def by_opposites(pair: Pair) -> bool:
    """Tell whether a word of one difference is the opposite of one of the other."""
    book = open_dictionary()
    one, two = (
        [low for low in pair.differing(side) if low not in DETERMINERS] for side in range(2)
    )
    return any(book.are_opposites(first, second) for first in one for second in two)


def by_negation(pair: Pair) -> bool:
    """Tell whether only one sentence has a 'not', or a 'no', where they differ."""
    denies = NEGATIONS | {"cannot", "no", "never", "nobody", "nothing", "without"}
    one, two = (bool(denies & set(pair.differing(side))) for side in range(2))
    return one != two


def are_named(pair: Pair) -> bool:
    """Tell whether the differing words are both named elsewhere: who is meant, is the question."""
    words = [set(pair.differing(side)) - DETERMINERS for side in range(2)]
    lows = {pair.words[0][place].low.removesuffix("'s") for place in pair.shared}
    return all(words) and words[0] != words[1] and words[0] | words[1] <= lows


def differ_in_predicate(pair: Pair, within: Both | None = None) -> bool:
    """Tell whether the sentences differ in a verb, or in what a subject is said to be.

    Args:
        pair: The sentences.
        within: In this clause; in any if None.
    """
    for side in range(2):
        words = pair.words[side]
        for clause in pair.clauses[side] if within is None else (within[side],):
            place = clause.verb.place
            says = place
            if clause.verb.root in listed("linking"):
                behind = max(place, clause.verb.group) + 1
                says = skip_adverbs(words, behind, 1, clause.end)
            if pair.touches(side, place, max(says, clause.verb.group) + 1):
                return True
    return False


def differing_clause(pair: Pair) -> Both | None:
    """Return the clause in which the sentences differ; None if there is none, or more than one."""
    touched = [both for both in pair.matched if pair.touched(both)]
    return touched[0] if len(touched) == 1 else None


def expected_from(pair: Pair, effect: Both) -> Both | None:
    """Return the clause from which another one is to be expected; None if none is known.

    'A, so B' and 'because A, B' let B expect; so do 'A, and B', 'when A, B' and 'if A, B', and a
    purpose: 'B so that A'.
    """
    others = [both for both in pair.matched if both != effect]
    before = [both for both in others if both[0].opens < effect[0].opens]
    if not others or effect[0].subject is None:
        return None
    if effect[0].opener == "so" and len(before) == len(others):
        # 'A and B, so C': C rests on both, and the one that differs tells more.
        plain_causes = all(both[0].opener in {"", "and"} for both in others)
        return next(filter(pair.touched, others), others[-1]) if plain_causes else None
    if len(others) > 1:
        return None
    [other] = others
    if effect[0].opener == "and":
        return other if before and not other[0].opener else None
    linked = other[0].opener in CAUSES | CONDITIONS | {"so that"}
    return other if linked and effect[0].role == "main" else None


def has_cause_that_differs(pair: Pair, both: Both) -> bool:
    """Tell whether a clause is a cause or a condition, and the sentences differ in it.

    What makes no sense as a cause is mostly no matter at all, and stays so without its negation.
    """
    if not pair.touched(both):
        return False
    if both[0].opener in CAUSES | CONDITIONS:
        return True
    return any(each[0].opener == "so" and each[0].opens > both[0].opens for each in pair.matched)


def has_obligation(words: Sequence[str]) -> bool:
    """Tell whether words say what has to be done."""
    return bool({"must", "should", "ought"} & set(words)) or any(
        verb in {"have", "has", "had", "need", "needs", "needed"} and to == "to"
        for verb, to in pairwise(words)
    )


def inside(pair: Pair, both: Both) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a clause on either side."""
    one, two = (plain(pair.words[side][c.opens : c.end]) for side, c in enumerate(both))
    return one, two
