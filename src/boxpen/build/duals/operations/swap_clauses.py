"""Clauses that change places in both sentences of a pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.build.duals.pair import Edit, Pair
from boxpen.english.clauses import Clause
from boxpen.english.lexicon import is_adverb
from boxpen.english.sentence import Word

__all__ = ["causes", "order", "times"]

_FRONTED = frozenset({"because", "when", "if", "although", "while", "after", "before", "since"})
_THIRD = frozenset(
    {"he", "she", "it", "they", "him", "her", "them", "his", "its", "their", "this", "that", "one"}
    | {"himself", "herself", "itself", "themselves", "these", "those", "there"}
)


def order(pair: Pair) -> Iterator[Edit]:
    """Yield 'Because B, A' for 'A because B', and the other way round."""
    if any(len(every) != 2 for every in pair.clauses):
        return
    made: list[list[Word]] = []
    for words, (one, two) in zip(pair.words, pair.clauses, strict=True):
        if two.opener in _FRONTED and two.role == "subordinate" and not one.opener:
            if one.start or is_adverb(words[two.opens - 1].low):  # 'shortly after'
                return
            made.append(_fronted(words, two))
        elif one.opener in _FRONTED and one.opens == 0 and two.role == "main":
            turned = _behind(words, two)
            if turned is None:
                return
            made.append(turned)
        else:
            return
    if bool(pair.clauses[0][0].opener) != bool(pair.clauses[1][0].opener):
        return
    texts = pair.written(made)
    yield Edit("swap", "clauses", texts, False, "the clauses change places, their link stays")


def _fronted(words: Sequence[Word], two: Clause) -> list[Word]:
    end = _end(words)
    first = _bare(words[: two.opens])
    second = words[two.opens : end]
    opener = Word(second[0].text.capitalize() if words[0].text[0].isupper() else second[0].text)
    return [opener, *second[1:], Word(",", False), *_spaced(first), *words[end:]]


def _behind(words: Sequence[Word], two: Clause) -> list[Word] | None:
    end = _end(words)
    first, second = _bare(words[: two.opens]), list(words[two.start : end])
    if second and second[0].low == "then":
        second = second[1:]
    # 'he was tired because Tom had worked' would have another 'he'
    if _THIRD & {word.low for word in second} or not second:
        return None
    return [*_spaced(second), *_spaced(first), *words[end:]]


def causes(pair: Pair) -> Iterator[Edit]:
    """Yield 'B because A' for 'A, so B'."""
    made: list[list[Word]] = []
    for words, every in zip(pair.words, pair.clauses, strict=True):
        links = [clause for clause in every if clause.opener == "so"]
        if len(links) != 1 or links[0] is not every[-1] or links[0].subject is None:
            return
        link, end = links[0], _end(words)
        first, second = _bare(words[: link.opens]), list(words[link.start : end])
        if _THIRD & {word.low for word in second} or "," in {word.low for word in second}:
            return
        made.append([*_spaced(second), Word("because"), *_spaced(first), *words[end:]])
    texts = pair.written(made)
    reason = "cause and effect change places, and 'because' tells them apart"
    yield Edit("swap", "clauses", texts, False, reason)


def times(pair: Pair) -> Iterator[Edit]:
    """Yield 'B before A' for 'A before B', where the other sentence has 'after'."""
    if any(len(every) != 2 for every in pair.clauses):
        return
    links = [every[1].opener for every in pair.clauses]
    if sorted(links) != ["after", "before"] or len(pair.spans) != 1:
        return
    made: list[list[Word]] = []
    for words, (one, two) in zip(pair.words, pair.clauses, strict=True):
        if one.opener or one.subject is None or two.subject is None or one.start:
            return
        if is_adverb(words[two.opens - 1].low):
            return
        end = _end(words)
        first, second = words[one.subject : two.opens], words[two.start : end]
        whose, whose_second = one.verb.place - one.subject, two.verb.place - two.start
        if second[0].low in _THIRD:  # the name comes first, its pronoun later
            first, second = (
                (*second[:whose_second], *first[whose:]),
                (*first[:whose], *second[whose_second:]),
            )
        made.append([*_spaced(second), words[two.opens], *_spaced(first), *words[end:]])
    texts = pair.written(made)
    yield Edit("swap", "arguments", texts, True, "what comes first comes last")


def _end(words: Sequence[Word]) -> int:
    """Return where the marks at the end of a sentence begin."""
    end = len(words)
    while end and words[end - 1].text in ".!":
        end -= 1
    return end


def _bare(words: Sequence[Word]) -> list[Word]:
    """Return words without a comma at their end."""
    kept = list(words)
    while kept and kept[-1].text in ",;":
        kept.pop()
    return kept


def _spaced(words: Sequence[Word]) -> list[Word]:
    """Return words, the first with a space before it."""
    return [Word(words[0].text), *words[1:]] if words else []
