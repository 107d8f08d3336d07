"""English sentences as words, and words as sentences again: spaces, articles and capitals.

A contraction is two words, the second without a space before it: 'do' and 'n't'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from boxpen.english.grammar import article, capitalised
from boxpen.english.lexicon import lemmas
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import sentence_words as listed

__all__ = ["Word", "is_name", "plain", "read", "shown", "word"]

_TOKEN = re.compile(r"[^\W_]+(?:[.,]\d+)*(?:['’-][^\W_]+)*['’]?|[^\w\s]|_")
_PARTS = re.compile(r"(?i)(.+?)(n['’]t|['’](?:m|re|ve|ll|d))$")
_IS = re.compile(r"(?i)(it|he|she|that|there|what|who|here|everyone|everybody)(['’]s)$")


class Word(NamedTuple):
    """A word or a mark of a sentence."""

    text: str
    space: bool = True
    """Whether a space precedes it."""

    @property
    def low(self) -> str:
        """The word as it is looked up: in lower case, with a plain apostrophe."""
        return self.text.lower().replace("’", "'")


def read(text: str) -> tuple[Word, ...]:
    """Return the words and marks of a sentence."""
    found: list[Word] = []
    end = 0
    for match in _TOKEN.finditer(text):
        space = match.start() > end or not found
        end = match.end()
        pieces = _PARTS.match(match[0]) or _IS.match(match[0])
        found.append(Word(pieces[1] if pieces else match[0], space))
        if pieces:
            found.append(Word(pieces[2], False))
    return tuple(found)


def word(text: str) -> tuple[Word, ...]:
    """Return words that are put into a sentence."""
    return tuple(Word(one) for one in text.split())


def shown(words: Sequence[Word], before: Sequence[Word] = ()) -> str:
    """Return the text of words.

    Args:
        words: Of the new sentence.
        before: Words of the original sentence. Articles before another word than there are
            corrected, and so is the capital at the beginning.
    """
    kept = list(words)
    if before:
        kept = _cased(_with_articles(kept, before), before)
    return "".join(
        (" " if one.space and place else "") + one.text for place, one in enumerate(kept)
    )


def plain(words: Iterable[Word]) -> tuple[str, ...]:
    """Return words as they are compared, without marks."""
    return tuple(one.low for one in words if one.text[0].isalnum() or one.text[0] in "'’")


def is_name(one: Word, *, first: bool = False) -> bool:
    """Tell whether a word is a name: it has a capital, or no dictionary has it.

    Args:
        one: The word.
        first: Whether it opens the sentence, where a capital says nothing.
    """
    text = one.text.removesuffix("'s").removesuffix("’s")
    low = text.lower()
    if not text[:1].isalpha() or low == "i":
        return False
    if low in listed("names") or low in known("proper"):
        return True
    if text.isalpha() and not lemmas(low) and low not in listed("closed"):
        return True
    return not first and text[:1].isupper() and text[1:].islower()


def _with_articles(words: list[Word], before: Sequence[Word]) -> list[Word]:
    """Write 'a' or 'an' by the next word, where the next word is a new one."""
    known_pairs = {(one.low, two.low) for one, two in pairwise(before)}
    for place, (one, two) in enumerate(pairwise(words)):
        if one.low in {"a", "an"} and (one.low, two.low) not in known_pairs and two.text.isalnum():
            right = article(two.text)
            words[place] = Word(capitalised(right) if one.text[0] == "A" else right, one.space)
    return words


def _cased(words: list[Word], before: Sequence[Word]) -> list[Word]:
    """Give the sentence the beginning of the other one, and take a capital off what has moved."""
    if not words:
        return words
    opens = before[0]
    if opens.text[:1].isupper():
        for place, one in enumerate(words[1:], 1):
            moved = one.text == opens.text and words[place - 1].text not in ".!?:;"
            called = one.low in listed("called_by_kin")  # 'Grandma', as a name
            if moved and one.low != "i" and not called and not is_name(one, first=True):
                words[place] = Word(one.text[0].lower() + one.text[1:], one.space)
        words[0] = Word(capitalised(words[0].text), True)
    elif words[0].text[:1].isupper() and words[0].low in listed("closed") - {"i"}:
        words[0] = Word(words[0].text[0].lower() + words[0].text[1:], True)
    return words
