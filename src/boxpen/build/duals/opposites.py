"""Opposites of a word that both sentences have: they turn what makes sense round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.build.duals.dictionary import Dictionary
from boxpen.build.duals.pair import Edit, Pair
from boxpen.build.duals.sentence import Word, is_name
from boxpen.build.duals.verbs import has_not
from boxpen.build.duals.wordlists import pairs
from boxpen.build.duals.wordlists import words as listed
from boxpen.build.kg.conjugation import VerbForm, verb_form
from boxpen.build.kg.grammar import DETERMINERS
from boxpen.build.kg.lexicon import is_adjective, is_adverb, lemmas

__all__ = ["differ_in_predicate", "opposites"]

_LINKS = {"because": "although", "although": "because", "though": "because"}
_TIMES = {"before": "after", "after": "before"}


def opposites(pair: Pair, book: Dictionary) -> Iterator[Edit]:
    """Yield duals with an opposite in place of a word that both sentences have.

    A word that links the clauses does it always. Another word does if the clause is about it: an
    adjective behind its verb; any adjective, adverb or verb, if the sentences differ by opposites.
    """
    polar = _differ_by_opposites(pair, book)
    either = _both_mentioned(pair)
    outcome = polar or either or differ_in_predicate(pair)
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        for other in _links(pair, place, low) if outcome and not _is_reckoned(pair) else ():
            yield _edit(pair, place, other, f"'{other}' links the clauses in the contrary way")
        if low in listed("closed") - {"like"} or is_name(pair.words[0][place], first=place == 0):
            continue
        predicate = _is_predicate(pair, place)
        weighs = (polar and low in listed("weighing")) or (either and low in pairs("opposites"))
        if not predicate and not weighs and not _turns(pair, place, low):
            continue
        for other in _others(pair, place, low, book, predicate=predicate):
            if other in pair.differing(0) or other in pair.differing(1):
                continue
            yield _edit(pair, place, other, f"'{other}' says the contrary of '{low}'")


def _links(pair: Pair, place: int, low: str) -> Iterator[str]:
    words = pair.words[0]
    after = words[place + 1].low if place + 1 < len(words) else ""
    before = words[place - 1].low if place else ""
    opens = [one for one in pair.clauses[0] if one.opens == place]
    if low in _LINKS and after != "of" and before not in {"even", "as", "only"} and opens:
        yield _LINKS[low]
    elif low in _TIMES and place and _orders(pair, bool(opens), after):
        if before not in {"right", "long", "shortly", "soon", "just", "day", "night", "and"}:
            yield _TIMES[low]
    elif low == "so" and opens and after != "that":
        yield "but"
    elif low == "but" and opens and opens[0].subject is not None and len(pair.clauses[0]) == 2:
        yield "so"


def _differ_by_opposites(pair: Pair, book: Dictionary) -> bool:
    one, two = pair.differing(0), pair.differing(1)
    if len(one) != 1 or len(two) != 1:
        return False
    return pairs("opposites").get(one[0]) == two[0] or book.are_opposites(one[0], two[0])


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


def _orders(pair: Pair, opens: bool, after: str) -> bool:
    """Tell whether 'before' or 'after' puts two things in order on which the sense rests."""
    if _both_mentioned(pair):
        return True
    return len(pair.clauses[0]) == 1 + opens and (opens or after.endswith("ing"))


def _both_mentioned(pair: Pair) -> bool:
    """Tell whether the differing words are both named elsewhere: who is meant, is the question."""
    words = [set(pair.differing(side)) - DETERMINERS for side in range(2)]
    lows = {pair.words[0][place].low.removesuffix("'s") for place in pair.shared}
    return all(words) and words[0] != words[1] and words[0] | words[1] <= lows


def differ_in_predicate(pair: Pair) -> bool:
    """Tell whether the sentences differ in a verb, or in what a subject is said to be."""
    for side in range(2):
        for clause in pair.clauses[side]:
            place = clause.verb.place
            says = place + 1 if clause.verb.root in listed("linking") else place
            if pair.touches(side, place, max(says, clause.verb.group) + 1):
                return True
    return False


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
    before = place - 1
    while before >= 0 and (
        is_adverb(words[before].low) or words[before].low in listed("intensifiers")
    ):
        before -= 1
    after = words[place + 1].low if place + 1 < len(words) else ""
    noun_next = "NOUN" in lemmas(after) and after not in listed("closed") | listed("prepositions")
    if before > 0 and words[before].low in {"a", "an"} and low in listed("weighing"):
        before -= 1  # 'is a good idea'
        noun_next = False
    if after in {"of", "enough"} or noun_next or before not in pair.shared:
        return False
    if any(has_not(clause) and clause.has(place) for clause in pair.clauses[0]) and all(
        any(has_not(clause) for clause in every) for every in pair.clauses
    ):
        return False  # 'not unimportant'
    if words[before].low in {"make", "makes", "made"} and words[before + 1].low == "sure":
        return False
    return words[before].low in listed("linking")


def _others(
    pair: Pair, place: int, low: str, book: Dictionary, *, predicate: bool
) -> Iterator[str]:
    """Yield opposites of a word in its own form."""
    if low in pairs("opposites"):
        yield pairs("opposites")[low]
        return
    found = lemmas(low)
    before = pair.words[0][place - 1].low if place else ""
    if _turns(pair, place, low):
        root = found["VERB"][0]
        for other in [pairs("opposites")[root]] if root in pairs("opposites") else []:
            if (form := _form(low, root)) is not None:
                yield verb_form(other, form)
        return
    if predicate or (is_adjective(low) and before in DETERMINERS):
        yield from book.opposites(low, "a")[:1] if low != "thirsty" else ()  # it has 'hungry'
    elif is_adverb(low):
        yield from book.opposites(low, "r")[:1]


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
