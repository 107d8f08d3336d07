"""Whether a translation has both clauses that a connective joins.

A reference is divided at its connective. A clause of it is there if the translation has something
of its content; how much must be there, depends on whether the translation has two clauses itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from boxpen.analysis.discourse.chinese import Sentence, letters
from boxpen.analysis.discourse.ruling import Hit
from boxpen.analysis.discourse.verbs import MARKS, listed

__all__ = ["clauses_of", "missing_clause"]

_MERGED = 0.25
"""The least share of the characters of each clause that one clause must have to hold both."""
_HINT = 0.1
_SHORT = 0.6
"""What has less than the first of a clause, and of all characters less than the second, lost it."""
_NO_CONTENT = ("r", "u", "p", "c", "y", "x", "f", "m", "q", "d", "e", "o")
_BREAK = re.compile(f"[{re.escape(MARKS)}—]")


def clauses_of(reference: Sentence, connectives: Sequence[Hit]) -> list[str]:
    """Divide a reference at its connective; return the content of clauses that have any.

    Two joined words are not clauses.

    Args:
        reference: The reference.
        connectives: The words in it that say the relation; the first one counts. Without any it is
            divided where it first pauses.
    """
    text = reference.text
    if connectives:
        hit = min(connectives, key=lambda hit: hit.place)
        first, gap, last = hit.words.partition("…")
        begin = hit.place - 1
        end = begin + len(first)
    else:
        begin, end, gap = 0, 0, ""
    if gap:  # 当…时: what is between, and the rest
        whole = [place for place in reference.find(last) if place >= end]  # no 时 of 时间
        again = whole[0] if whole else text.index(last, end)
        pieces = [[(end, again)], [(0, begin), (again + len(last), len(text))]]
    elif _content(reference, [(0, begin)]):
        pieces = [[(0, begin)], [(end, len(text))]]
    else:  # 虽然…，…
        pause = _BREAK.search(text, end)
        cut = pause.start() if pause else len(text)
        pieces = [[(end, cut)], [(cut, len(text))]]
    contents = [words for piece in pieces if (words := _content(reference, piece))]
    if _parts(text) < 2 and all(len(words) == 1 for words in contents):
        return []  # words, no clauses: 走路或者坐车
    return ["".join(words) for words in contents]


def missing_clause(translation: Sentence, reference: Sentence, clauses: Sequence[str]) -> str:
    """Return the content of a clause of the reference that a translation has not; empty if none."""
    if len(clauses) < 2:
        return ""
    least = min(clauses, key=lambda clause: _share(clause, translation.text))
    share = _share(least, translation.text)
    if _parts(translation.text) < 2:
        return least if share < _MERGED else ""
    short = letters(translation.text) < _SHORT * letters(reference.text)
    return least if share < _HINT and short else ""


def _share(clause: str, text: str) -> float:
    characters = set(clause)
    return sum(character in text for character in characters) / len(characters)


def _content(sentence: Sentence, pieces: Sequence[tuple[int, int]]) -> list[str]:
    light = listed("light") | listed("modal")
    return [
        word.text
        for word in sentence.words
        if any(begin <= word.start < end for begin, end in pieces)
        if word.text not in light and not word.flag.startswith(_NO_CONTENT)
    ]


def _parts(text: str) -> int:
    return sum(1 for part in _BREAK.split(text) if re.search(r"\w", part))
