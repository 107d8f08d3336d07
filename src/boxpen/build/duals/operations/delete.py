"""Words that are deleted from both sentences of a pair: a degree, an adjective, a time, a place."""

from __future__ import annotations

from collections.abc import Iterator

from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.grammar import DETERMINERS
from boxpen.english.lexicon import is_adjective, lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import plain

__all__ = ["adjectives", "adverbs", "places", "times"]

_PERIODS = frozenset(
    {"day", "morning", "afternoon", "evening", "night", "week", "weekend", "month", "year", "time"}
)
_OF_TIME = frozenset({"yesterday", "today", "tomorrow", "everyday", "tonight", "nowadays"})
_WHICH = frozenset({"every", "each", "last", "this"})
_OWNERS = frozenset({"the", "our", "my", "his", "her"})
_PLACING = frozenset(
    {"put", "puts", "is", "are", "was", "were", "live", "lives", "went", "go", "goes"}
)


def adverbs(pair: Pair) -> Iterator[Edit]:
    """Yield the pair without 'very', 'usually' or the like."""
    for place in sorted(pair.shared):
        low, following = pair.low(place), pair.low(place + 1)
        if low not in listed("spare_adverbs") or following in {"much", "well", "few", "", ",", "."}:
            continue
        if pair.low(place - 1) in {"not", "n't", "as", "how", "so"} or following == "that":
            continue
        kind = "degree" if low in listed("intensifiers") else "restriction"
        reason = f"'{low}' only tells how much or how often"
        yield Edit("del", kind, pair.replaced(place, 1), False, reason)


def adjectives(pair: Pair) -> Iterator[Edit]:
    """Yield 'the house' for 'the old house', where no other word tells what kind it is."""
    seen = [low for words in pair.words for low in plain(words)]
    for place in sorted(pair.shared):
        before, low, following = (pair.low(place + step) for step in (-1, 0, 1))
        attribute = before in DETERMINERS or before in listed("prepositions")
        noun = "NOUN" in lemmas(following) and following not in {"one", "ones", "and", "enough"}
        once = seen.count(low) == 2 and place + 1 in pair.shared
        if low not in listed("spare_adjectives") or not (attribute and noun and once):
            continue
        if "ADJ" in lemmas(following) and is_adjective(following):
            continue
        if (low, following) not in {("old", "man"), ("old", "woman"), ("new", "year")}:
            yield _unneeded(pair, place, 1)


def times(pair: Pair) -> Iterator[Edit]:
    """Yield sentences without 'every day' or the like at their end."""
    one, two = pair.words
    tail = _marks(pair)
    last = len(one) - tail - 1
    if pair.shared.get(last) != len(two) - tail - 1:
        return
    width = 1 if one[last].low in _OF_TIME else 0
    if one[last].low in _PERIODS and pair.low(last - 1) in _WHICH:
        width = 2
    start = last + 1 - width
    if not width or start not in pair.shared or start < 3:
        return
    rest = {low for words in (one[:start], two[:-width]) for low in plain(words)}
    if not (rest - _WHICH - _PERIODS - _OF_TIME) & listed("times"):
        yield _unneeded(pair, start, width)


def places(pair: Pair) -> Iterator[Edit]:
    """Yield sentences without 'at the station' at their end, where somebody does something else."""
    one = pair.words[0]
    end = len(one) - _marks(pair)
    start = end - 3
    if start < 5 or any(place not in pair.shared for place in range(start - 1, end)):
        return
    before, preposition, determiner, noun = (word.low for word in one[start - 1 : start + 3])
    if preposition not in {"at", "in", "on"} or determiner not in _OWNERS:
        return
    placed = any(_PLACING & {word.low for word in words} for words in pair.words)
    if noun in listed("places") and not placed and before not in listed("prepositions"):
        yield _unneeded(pair, start, 3)


def _marks(pair: Pair) -> int:
    """Return how many marks end both sentences, 0 or 1."""
    return int(all(words[-1].text in ".!" for words in pair.words))


def _unneeded(pair: Pair, place: int, width: int) -> Edit:
    text = " ".join(word.low for word in pair.words[0][place : place + width])
    reason = f"'{text}' is not what the sense rests on"
    return Edit("del", "restriction", pair.replaced(place, width), False, reason)
