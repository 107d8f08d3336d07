"""Roles that give way to others: 'she' for 'he', 'an uncle' for 'an aunt'; the sense stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.grammar import DETERMINERS
from boxpen.english.lexicon import lemmas, pairs
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, is_name, plain

__all__ = ["roles"]

_PRONOUNS = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})


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
            texts = pair.changed(_other_sex)
            reason = "people of either sex would do so"
            yield Edit("sub", "role", texts, False, reason)
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        other = pairs("people").get(low)
        if other is None or other in words or words.count(low) != 2:
            continue

        def change(
            side: int, some: tuple[Word, ...], place: int = place, other: str = other
        ) -> Sequence[Word]:
            at = place if side == 0 else pair.shared[place]
            made = other.capitalize() if some[at].text[0].isupper() else other
            return (*some[:at], Word(made, some[at].space), *some[at + 1 :])

        yield Edit("sub", "role", pair.changed(change), False, f"'{other}' can stand for '{low}'")


def _other_sex(_: int, words: tuple[Word, ...]) -> Sequence[Word]:
    out = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else Word(".")
        made = _turned(word.low, after)
        if made != word.low:
            word = Word(made.capitalize() if word.text[0].isupper() else made, word.space)
        out.append(word)
    return out


def _turned(low: str, after: Word) -> str:
    """Return a word for the other sex; 'her' and 'his' by what follows."""
    owner = bool(lemmas(after.low)) and after.low not in listed("closed")
    owner = owner and after.low not in listed("prepositions") and after.low not in DETERMINERS
    if low == "her":
        return "his" if owner else "him"
    if low == "his":
        return "her" if owner else "hers"
    if low == "him":
        return "her"
    if low == "hers":
        return "his"
    owned = low.removesuffix("'s")
    return pairs("roles").get(owned, owned) + low[len(owned) :]
