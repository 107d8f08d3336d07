"""Chinese sentences as the class judge reads them: in one script, divided into words.

Translations come in many shapes: in traditional characters, with spaces between all words, or with
a space where punctuation would be, as in subtitles. Here they become one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from boxpen.analysis.discourse.ruling import Hit

__all__ = ["BROKEN", "Sentence", "Word", "data", "letters", "read"]

BROKEN = "\ufffd"
"""The replacement for invalid bytes, which a byte-level model may produce."""

# Characters that simplified texts have too, with another meaning.
_SHARED = (
    (re.compile(r"(?<![显卓名专原论编土译巨])著(?![名作者述称书])"), "着"),
    (re.compile("乾(?![坤隆])"), "干"),
    (re.compile("甚(?=么)"), "什"),
)
_BREAK = re.compile(r"[，,。.！!？?；;：:…—\n]+")
_HAN = re.compile(r"[㐀-鿿]")
_WORDWISE = 2.5  # Han characters between two spaces: words have fewer, clauses more
# What jieba's dictionary has for words and is several: 我会, 不骗你, 很傻, 走时.
_JOINED = re.compile(
    r"(?!自我|迷你|[我你您她咱]们$)(?=.*[我你您她咱])..+|但他却|[这那][他它]|有点.+|时[会说]|[来去走开]时|会面时|上升时|下降时"
)
_JOINED_SELDOM = re.compile(r"[很也都就再先太最更还又才别没不].+|..+时")
_SELDOM = 3  # times, in the texts that the dictionary was counted from


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
        """Return the places of a phrase as whole words, not as a part of others."""
        starts = {word.start for word in self.words}
        ends = {word.end for word in self.words}
        return [at for at in self.places(phrase) if at in starts and at + len(phrase) in ends]

    def places(self, phrase: str) -> list[int]:
        """Return the places of a phrase, even as a part of words."""
        return [found.start() for found in re.finditer(f"(?={re.escape(phrase)})", self.text)]

    def clause(self, place: int) -> int:
        """Return the number of the clause that a place is in, from 0."""
        before = _BREAK.split(self.text[:place])
        return sum(1 for part in before[:-1] if _HAN.search(part))


@lru_cache(maxsize=4096)
def read(text: str) -> Sentence:
    """Bring a text into one shape and divide it into words."""
    plain = _joined(text.strip()).translate(_simplified())
    for pattern, character in _SHARED:
        plain = pattern.sub(character, plain)
    words, start = [], 0
    for piece in _segmenter().cut(plain, HMM=False):
        words.append(Word(piece.word, piece.flag, start))
        start += len(piece.word)
    return Sentence(plain, tuple(words))


def letters(text: str) -> int:
    """Return how many characters a text has, without marks and spaces."""
    return len(re.findall(r"\w", text))


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
def data(name: str) -> dict[str, Any]:
    """Return a TOML file of the folder ``data``, read once."""
    file = resources.files("boxpen.analysis.discourse").joinpath("data", f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8"))


@cache
def _simplified() -> dict[int, str]:
    return {ord(pair[0]): pair[1] for pair in data("traditional")["pairs"].split()}


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
    for word, count in segmenter.FREQ.items():
        seldom = count <= _SELDOM and _JOINED_SELDOM.fullmatch(word)
        if seldom or _JOINED.fullmatch(word):
            segmenter.FREQ[word] = 0  # as its del_word does
    return posseg.POSTokenizer(segmenter)
