"""Words that change places in both sentences of a pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.conjugation import verb_form
from boxpen.english.finite import Finite
from boxpen.english.grammar import DETERMINERS, number
from boxpen.english.lexicon import lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word

__all__ = ["compared", "differing", "joined"]

_OBJECTIVE = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_NOMINATIVE = {objective: subject for subject, objective in _OBJECTIVE.items()}
_MARKS = frozenset(",;:.!?")


def differing(pair: Pair) -> Iterator[Edit]:
    """Yield the exchange of the differing words where both are mentioned elsewhere."""
    one, two = (
        tuple(low for low in pair.differing(side) if low not in DETERMINERS) for side in range(2)
    )
    if len(pair.spans) == 1 and len(one) == len(two) == 1:
        first, second = one[0], two[0]
    elif len(pair.spans) == 2 and sorted(one) == sorted(two) and len(set(one)) == 2:
        first, second = one[0], one[1]  # 'praised Omar and scolded Ben'
    else:
        return
    places = [place for place in pair.shared if _stem(pair.words[0][place]) in {first, second}]
    if {_stem(pair.words[0][place]) for place in places} != {first, second}:
        return
    spelled = {first: first, second: second}
    for place in sorted(places, reverse=True):  # as they are written where they stand first
        word = pair.words[0][place]
        spelled[_stem(word)] = word.text[: len(_stem(word))]

    made: list[list[Word]] = []
    for side in range(2):
        out = list(pair.words[side])
        for place in places:
            at = pair.shared[place] if side else place
            stem = _stem(out[at])
            other = spelled[second if stem == first else first]
            out[at] = Word(other + out[at].text[len(stem) :], out[at].space)
        made.append(out)
    reason = f"'{first}' and '{second}' change places around the words that tell them apart"
    yield Edit("swap", "differing", pair.written(made), True, reason)


def _stem(word: Word) -> str:
    """Return a word without the ending of a possessor."""
    return word.low.removesuffix("'s")


def compared(pair: Pair) -> Iterator[Edit]:
    """Yield 'B is taller than A' for 'A is taller than B'."""
    made: list[list[Word]] = []
    for side in range(2):
        words = pair.words[side]
        than = [place for place, word in enumerate(words) if word.low == "than"]
        every = [clause for clause in pair.clauses[side] if clause.opener != "than"]
        if len(than) != 1 or len(every) != 1 or every[0].subject is None:
            return
        clause = every[0]
        subject = list(words[clause.subject or 0 : clause.verb.place])
        end = next((at for at in range(than[0], len(words)) if words[at].low in _MARKS), len(words))
        rest = list(words[than[0] + 1 : end])
        while rest and rest[-1].low in {"am", "is", "are", "was", "were", "do", "does", "did"}:
            rest.pop()
        if not _is_phrase(subject) or not _is_phrase(rest) or clause.verb.negation is not None:
            return
        if {word.low for word in subject} & {"it", "there", "this", "that"}:
            return
        if {word.low for word in rest} & {"ever", "before", "usual", "in", "at", "on", "one"}:
            return
        new, old = _in_case(rest, _NOMINATIVE), _in_case(subject, _OBJECTIVE)
        verb = Word(_agreed(words[clause.verb.place].low, clause.verb, rest))
        middle = list(words[clause.verb.place + 1 : than[0] + 1])
        before = list(words[: clause.subject or 0])
        made.append([*before, *new, verb, *middle, *old, *words[end:]])
    reason = "what is more than the other becomes the other"
    yield Edit("swap", "arguments", pair.written(made), True, reason)


def _in_case(words: Sequence[Word], case: Mapping[str, str]) -> list[Word]:
    """Return a pronoun as a subject or an object; other words as they are ('her' in 'her pony')."""
    if len(words) == 1:
        return [Word(case.get(words[0].low, words[0].text))]
    return [Word(words[0].text), *words[1:]]


def _agreed(low: str, verb: Finite, subject: Sequence[Word]) -> str:
    """Return a finite verb as it goes with another subject."""
    past = verb.form == "past"
    first = subject[0].low
    if verb.kind == "modal" or (past and verb.kind != "be"):
        return low
    if verb.kind == "be" and first in {"i", "me"}:
        return "was" if past else "am"
    many = first in {"we", "you", "they", "us", "them"}
    many = many or number(" ".join(word.low for word in subject)) == "plural"
    if verb.kind != "be":
        return verb_form(verb.root, "base" if many or first in {"i", "me"} else "third")
    return ("were" if many else "was") if past else ("are" if many else "is")


def _is_phrase(words: Sequence[Word]) -> bool:
    """Tell whether words are a noun phrase of a few words."""
    lows = [word.low for word in words]
    if not 1 <= len(words) <= 6 or any(low in _MARKS or low == "not" for low in lows):
        return False
    return lows[-1] in _OBJECTIVE | _NOMINATIVE or bool(
        lemmas(lows[-1]).get("NOUN") or not lemmas(lows[-1])
    )


def joined(pair: Pair) -> Iterator[Edit]:
    """Yield 'cats and dogs' for 'dogs and cats'."""
    words = pair.words[0]
    for place in sorted(pair.shared):
        if words[place].low not in {"and", "or"} or "both" in {word.low for word in words}:
            continue
        left, right = _phrase_before(words, place), _phrase_after(words, place)
        if left is None or right is None:
            continue
        if any(at not in pair.shared for at in range(left, right)):
            continue
        made = []
        for some, at in zip(pair.words, (place, pair.shared[place]), strict=True):
            start, end = at - (place - left), at + (right - place)
            made.append(
                (*some[:start], *some[at + 1 : end], some[at], *some[start:at], *some[end:])
            )
        reason = f"the order around '{words[place].low}' does not matter"
        yield Edit("swap", "joined", pair.written(made), False, reason)


def _phrase_before(words: Sequence[Word], place: int) -> int | None:
    at = place - 1
    if at < 0 or not _is_thing(words[at]):
        return None
    before = words[at - 1].low if at else ""
    if before in DETERMINERS:
        return at - 1
    opens = not at or before in listed("prepositions") or before in _VERBAL
    return at if opens else None


def _phrase_after(words: Sequence[Word], place: int) -> int | None:
    at = place + 1
    if at < len(words) and words[at].low in DETERMINERS:
        at += 1
    if at >= len(words) or not _is_thing(words[at]):
        return None
    after = words[at + 1].low if at + 1 < len(words) else "."
    closed = after in _MARKS | listed("prepositions") | {"are", "were", "is", "was", "can", "to"}
    return at + 1 if closed else None


_VERBAL = frozenset(
    {"eat", "eats", "ate", "buy", "bought", "sell", "sells", "see", "need", "needs"}
)


def _is_thing(word: Word) -> bool:
    found = lemmas(word.low)
    return "NOUN" in found and "VERB" not in found and word.low not in listed("closed")
