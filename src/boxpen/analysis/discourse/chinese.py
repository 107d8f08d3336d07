"""Chinese sentences as the class judge reads them: in one script, divided into words.

Translations come in many shapes: in traditional characters, with spaces between all words, or with
a space where punctuation would be, as in subtitles. Here they become one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from boxpen.analysis.discourse.ruling import Hit

__all__ = ["Sentence", "Word", "read"]

# Only what the words of the judge are written with; other characters may stay as they are.
_SIMPLIFIED = str.maketrans(
    "們當時後雖儘盡過還從來爲為於則卻與邊會說該應須憑歡愛討厭聽見認識覺幹辦給問讓開關殺寫買賣"
    "記懂瞭結婚離臨誰嗎這樣對種變許妳牠祂別無沒麼麽總讀談準備錯義趁況兩倆個諸眾終願確實鑒",
    "们当时后虽尽尽过还从来为为于则却与边会说该应须凭欢爱讨厌听见认识觉干办给问让开关杀写买卖"
    "记懂了结婚离临谁吗这样对种变许你它它别无没么么总读谈准备错义趁况两俩个诸众终愿确实鉴",
)
_BREAK = re.compile(r"[，,。.！!？?；;：:…—\n]+")
_HAN = re.compile(r"[㐀-鿿]")
_WORDWISE = 2.5  # Han characters between two spaces: words have fewer, clauses more


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its part of speech, as jieba names it, and where it begins, counted from 0."""

    text: str
    flag: str
    start: int

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.start + len(self.text)

    @property
    def hit(self) -> Hit:
        """The word as evidence."""
        return Hit(self.text, self.start + 1)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text in simplified characters, and its words."""

    text: str
    words: tuple[Word, ...]

    def find(self, phrase: str) -> list[int]:
        """Return where a phrase stands as whole words, not as a part of others."""
        starts = {word.start for word in self.words}
        ends = {word.end for word in self.words}
        return [at for at in self.places(phrase) if at in starts and at + len(phrase) in ends]

    def places(self, phrase: str) -> list[int]:
        """Return where a phrase stands, be it a part of words."""
        return [found.start() for found in re.finditer(f"(?={re.escape(phrase)})", self.text)]

    def clause(self, place: int) -> int:
        """Return the number of the clause that a place is in, from 0."""
        before = _BREAK.split(self.text[:place])
        return sum(1 for part in before[:-1] if _HAN.search(part))


@lru_cache(maxsize=4096)
def read(text: str) -> Sentence:
    """Bring a text into one shape and divide it into words."""
    plain = _joined(text.strip()).translate(_SIMPLIFIED)
    words, start = [], 0
    for piece in _segmenter().cut(plain, HMM=False):
        words.append(Word(piece.word, piece.flag, start))
        start += len(piece.word)
    return Sentence(plain, tuple(words))


def _joined(text: str) -> str:
    """Drop spaces between words; make a comma of one where punctuation would be."""
    pieces = text.split()
    chinese = [len(_HAN.findall(piece)) for piece in pieces if _HAN.search(piece)]
    wordwise = bool(chinese) and sum(chinese) / len(chinese) < _WORDWISE and len(chinese) > 2
    joined = pieces[0] if pieces else ""
    for piece in pieces[1:]:
        between = _HAN.match(joined[-1]) and _HAN.match(piece[0])
        joined += ("" if wordwise or not between else "，") + piece
    return joined


@cache
def _segmenter() -> Any:
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own syntax and imports
        import jieba
        from jieba import posseg

    jieba.setLogLevel(logging.WARNING)
    segmenter = jieba.Tokenizer()
    segmenter.initialize()
    return posseg.POSTokenizer(segmenter)
