"""Words that give way to others of the same kind: a sibling, a part, another role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.build.duals.dictionary import in_number_of, open_dictionary
from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.grammar import DETERMINERS, singular
from boxpen.english.lexicon import is_adjective, lemmas, pairs
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain
from boxpen.english.subjects import is_general

__all__ = ["parts", "roles", "siblings"]

_PRONOUNS = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})
_OF_PLACES = frozenset({"the", "a", "my", "his", "her", "our", "their"})


def siblings(pair: Pair) -> Iterator[Edit]:
    """Yield other words of the same kind for the one that makes no sense, unless they may fit."""
    wrong = 1 - pair.gold
    if len(pair.spans) != 1:
        return
    place = _noun(pair, wrong)
    right = _noun(pair, pair.gold)
    if place is None or right is None:
        return
    old = pair.words[wrong][place]
    noun, unlike = singular(old.low), singular(pair.words[pair.gold][right].low)
    if noun in pairs("roles"):
        return
    book = open_dictionary()
    for other in book.of_one_kind(noun, unlike):
        if book.may_fit(other, noun, plain(pair.words[pair.gold])):
            continue
        new = in_number_of(other, old.low)
        made = [list(words) for words in pair.words]
        made[wrong][place] = Word(new, old.space)
        reason = f"'{new}' is a thing of the kind of '{old.low}', and makes as little sense"
        yield Edit("sub", "sibling", pair.written(made), False, reason)


def parts(pair: Pair) -> Iterator[Edit]:
    """Yield 'in the back of the car' for 'in the car', where both sentences tell of one time.

    What is done in a kitchen in general is not done in its corner.
    """
    words = pair.words[0]
    for place, twin in sorted(pair.shared.items()):
        if any(pair.shared.get(place - back) != twin - back for back in (1, 2)):
            continue
        preposition, determiner, low = (pair.low(place - back) for back in (2, 1, 0))
        if preposition not in {"in", "inside"} or determiner not in _OF_PLACES:
            continue
        if any(_moves(pair.words[side], at - 3) for side, at in enumerate((place, twin))):
            continue
        if is_name(words[place]) or _is_compound("", pair.low(place + 1)):
            continue
        both = pair.clause_at(place)
        if both is None or any(is_general(*side) for side in pair.sides(both)):
            continue
        region = open_dictionary().region(low)
        if region is None or region.split()[-1] in plain(words):
            continue
        texts = pair.replaced(place - 2, 1, f"in {region} of")
        yield Edit("sub", "part", texts, False, f"{region} of it is a part of the {low}")


def roles(pair: Pair) -> Iterator[Edit]:
    """Yield both sentences with people of the other sex, and with others in their place."""
    words = [*plain(pair.words[0]), *plain(pair.words[1])]
    differing = {*pair.differing(0), *pair.differing(1)}
    sexed = set(pairs("roles")) | _PRONOUNS
    here = sexed & set(words)
    named = any(
        is_name(word, first=place == 0) for some in pair.words for place, word in enumerate(some)
    )
    if here and not differing & sexed and not named and not listed("one_sex") & set(words):
        both_sexes = any(pairs("roles").get(word) in here for word in here)
        if not both_sexes and not ({"he", "his", "him"} & here and {"she", "her"} & here):
            texts = pair.written(map(_other_sex, pair.words))
            yield Edit("sub", "role", texts, False, "people of either sex would do so")
    for place in sorted(pair.shared):
        low = pair.low(place)
        other = pairs("people").get(low)
        if other is not None and other not in words and words.count(low) == 2:
            texts = pair.replaced(place, 1, other)
            yield Edit("sub", "role", texts, False, f"'{other}' can stand for '{low}'")


def _noun(pair: Pair, side: int) -> int | None:
    """Return the place of the only differing word; None if there are more, or it is not a noun."""
    words = pair.words[side]
    [bounds] = pair.bounds(side)
    inside = [at for at in range(*bounds) if words[at].low not in DETERMINERS]
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


def _moves(words: Sequence[Word], place: int) -> bool:
    """Tell whether a verb of moving is there: 'he got in the car' is not 'in its back'."""
    roots = lemmas(words[place].low).get("VERB", ()) if place >= 0 else ()
    return not listed("moving").isdisjoint(roots)


def _other_sex(words: tuple[Word, ...]) -> Sequence[Word]:
    out = []
    for place, word in enumerate(words):
        after = words[place + 1].low if place + 1 < len(words) else "."
        made = _turned(word.low, after)
        if made != word.low:
            word = Word(made.capitalize() if word.text[0].isupper() else made, word.space)
        out.append(word)
    return out


def _turned(low: str, after: str) -> str:
    """Return a word for the other sex; 'her' and 'his' by what follows."""
    if low in ("her", "his"):
        closed = listed("closed") | listed("prepositions") | DETERMINERS
        owner = bool(lemmas(after)) and after not in closed
        return {"her": ("him", "his"), "his": ("hers", "her")}[low][owner]
    if low in ("him", "hers"):
        return {"him": "her", "hers": "his"}[low]
    owned = low.removesuffix("'s")
    return pairs("roles").get(owned, owned) + low[len(owned) :]
