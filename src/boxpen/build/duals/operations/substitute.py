"""Words that give way to others: to an opposite, a thing of the same kind, a part, another role."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from boxpen.build.duals.dictionary import Dictionary, in_number_of, open_dictionary
from boxpen.build.duals.operations.nobody import nobody
from boxpen.build.duals.operations.opposites import opposites
from boxpen.build.duals.operations.roles import roles
from boxpen.build.duals.pair import Edit, Pair, UnchangedError
from boxpen.english.grammar import DETERMINERS, singular
from boxpen.english.lexicon import is_adjective, lemmas, pairs
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain, word
from boxpen.english.subjects import is_general

__all__ = ["substituted"]


def substituted(pair: Pair) -> Iterator[Edit]:
    """Yield duals with a word in place of another.

    Raises:
        UnchangedError: If there is none.
    """
    book = open_dictionary()
    rules: tuple[Callable[[Pair, Dictionary], Iterator[Edit]], ...] = (
        opposites,
        _siblings,
        _parts,
        lambda pair, _: nobody(pair),
        lambda pair, _: roles(pair),
    )
    found = False
    for rule in rules:
        for edit in rule(pair, book):
            found = True
            yield edit
    if not found:
        raise UnchangedError("no word has an opposite, a sibling, a part or a role to be exchanged")


def _siblings(pair: Pair, book: Dictionary) -> Iterator[Edit]:
    """Yield other words for the one that makes no sense, of the same kind as it is."""
    wrong = 1 - pair.gold
    if len(pair.spans) != 1:
        return
    span = pair.spans[0]
    bounds = [(span[0], span[1]), (span[2], span[3])]
    place = _noun(pair, wrong, *bounds[wrong])
    right = _noun(pair, pair.gold, *bounds[pair.gold])
    if place is None or right is None:
        return
    word = pair.words[wrong][place]
    noun, unlike = singular(word.low), singular(pair.words[pair.gold][right].low)
    if noun in pairs("roles"):
        return
    for other in book.of_one_kind(noun, unlike):
        made = in_number_of(other, word.low)

        def change(side: int, words: tuple[Word, ...], made: str = made) -> Sequence[Word]:
            if side != wrong:
                return words
            return (*words[:place], Word(made, words[place].space), *words[place + 1 :])

        yield Edit(
            "sub", "sibling", pair.changed(change), False,
            f"'{made}' is a thing of the kind of '{word.low}', and makes as little sense",
        )  # fmt: skip


def _noun(pair: Pair, side: int, start: int, end: int) -> int | None:
    """Return the place of the one noun of a difference; None if there is more, or another word."""
    words = pair.words[side]
    inside = [at for at in range(start, end) if words[at].low not in DETERMINERS]
    if len(inside) != 1:
        return None
    low = words[inside[0]].low
    before = words[inside[0] - 1].low if inside[0] else ""
    after = words[inside[0] + 1].low if inside[0] + 1 < len(words) else ""
    found = lemmas(low)
    if "NOUN" not in found or low in listed("closed") or is_name(words[inside[0]]):
        return None
    if low in known("plural_only"):
        return None
    attached = before in DETERMINERS or before in listed("prepositions")
    if ({"VERB", "ADJ"} & found.keys() and not attached) or is_adjective(low):
        return None
    if _is_compound(before, after):
        return None
    return inside[0]


def _is_compound(before: str, after: str) -> bool:
    """Tell whether the words around a noun make one thing with it: 'wedding ring'."""
    bound = "NOUN" in lemmas(before) and before not in listed("closed")
    bound = bound and before not in known("verbs") and before not in DETERMINERS
    bound = bound and not ("VERB" in lemmas(before) and before.endswith(("s", "ed")))
    follows = (
        "NOUN" in lemmas(after) and after not in listed("closed") and "VERB" not in lemmas(after)
    )
    return bound or (follows and after not in listed("prepositions"))


def _parts(pair: Pair, book: Dictionary) -> Iterator[Edit]:
    """Yield 'in the back of the car' for 'in the car', where both sentences tell of one time.

    What is done in a kitchen in general is not done in its corner.
    """
    for place in sorted(pair.shared):
        words = pair.words[0]
        low = words[place].low
        twin = pair.shared[place]
        if any(pair.shared.get(place - back) != twin - back for back in (1, 2)):
            continue
        determiner, preposition = words[place - 1].low, words[place - 2].low
        if preposition not in {"in", "inside"} or determiner not in _OF_PLACES:
            continue
        if any(_moves(pair.words[side], at - 3) for side, at in enumerate((place, twin))):
            continue
        if is_name(words[place]) or _is_compound("", _after(pair, place)):
            continue
        both = next((both for both in pair.matched if both[0].has(place)), None)
        if both is None or any(is_general(pair.words[s], c) for s, c in enumerate(both)):
            continue
        region = book.region(low)
        if region is None or region.split()[-1] in plain(words):
            continue

        def change(
            side: int, words: tuple[Word, ...], place: int = place, region: str = region
        ) -> Sequence[Word]:
            at = place if side == 0 else pair.shared[place]
            put = word(f"in {region} of")
            return (*words[: at - 2], *put, *words[at - 1 :])

        yield Edit(
            "sub", "part", pair.changed(change), False,
            f"{region} of it is a part of the {low}",
        )  # fmt: skip


def _moves(words: Sequence[Word], place: int) -> bool:
    """Tell whether a verb of moving stands there: 'he got in the car' is not 'in its back'."""
    roots = lemmas(words[place].low).get("VERB", ()) if place >= 0 else ()
    return not listed("moving").isdisjoint(roots)


_OF_PLACES = frozenset({"the", "a", "my", "his", "her", "our", "their"})


def _after(pair: Pair, place: int) -> str:
    words = pair.words[0]
    return words[place + 1].low if place + 1 < len(words) else ""
