"""Words that are deleted from both sentences of a pair: a negation, a degree, a restriction."""

from __future__ import annotations

from collections.abc import Iterator

from boxpen.build.duals.operations.negations import affirmations, are_negated
from boxpen.build.duals.pair import Edit, Pair, UnchangedError
from boxpen.english.grammar import DETERMINERS
from boxpen.english.lexicon import is_adjective, lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import plain

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
    for rule in (affirmations, _degrees, _adjectives, _times, _places):
        for edit in rule(pair):
            found = True
            yield edit
    if not found and are_negated(pair):
        raise UnchangedError("nothing vouches for either sentence without its negation")
    if not found:
        raise UnchangedError("both have no negation, degree or restriction that could go")


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
        yield Edit("del", kind, pair.without(place, 1), False, reason)


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
        yield Edit("del", "restriction", pair.without(place, 1), False, reason)


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
        "del", "restriction", pair.without(last + 1 - width, width), False,
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
        "del", "restriction", pair.without(start, 3), False,
        f"'{text}' is not what the sense rests on",
    )  # fmt: skip


def _at(pair: Pair, place: int) -> str:
    words = pair.words[0]
    return words[place].low if place < len(words) else ""
