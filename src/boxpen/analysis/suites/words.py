"""The words of a text, and which of them negate.

Chinese is divided into words by jieba (without its guesses at new words), other languages by a
regular expression; punctuation is left out and case is folded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from boxpen.items import Choice, Suite, Translate
from boxpen.text.characters import HAN

__all__ = ["Worded", "divided", "is_negation", "negations", "worded", "words"]

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_NEGATIONS = frozenset(
    {
        *("not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor"),
        *("without", "cannot", "hardly", "seldom"),
        *("没", "没有", "没法", "没能", "没人", "未", "未必", "未能", "无", "无法", "别", "勿"),
        *("并非", "毫无", "从不", "从未", "并不", "决不", "绝不"),
    }
)
# They begin with 不 and do not negate: but, not only, no matter, continually, soon, unable to help.
_NO_NEGATIONS = frozenset(
    {"不过", "不但", "不仅", "不仅仅", "不光", "不只", "不论", "不管", "不断", "不久", "不禁"}
)


class Worded(NamedTuple):
    """A choice, with the words of every candidate in their order."""

    item: Choice
    words: tuple[list[str], ...]

    @property
    def right(self) -> list[str]:
        """The words of the right candidate."""
        return self.words[self.item.gold]

    @property
    def wrong(self) -> list[list[str]]:
        """The words of every wrong candidate."""
        return [w for index, w in enumerate(self.words) if index != self.item.gold]


def worded(suite: Suite) -> list[Worded]:
    """Return the choices of a suite, among them translations that have a contrast."""
    found = []
    for item in suite:
        choice = item.as_choice() if isinstance(item, Translate) else item
        if isinstance(choice, Choice):
            found.append(divided(choice, suite.languages_of(choice)[0]))
    return found


def divided(item: Choice, language: str | None = None) -> Worded:
    """Return a choice with its words; "don’t" and "don't" are the same one."""
    texts = [text.replace("’", "'") for text in item.candidates]
    return Worded(item, tuple(words(text, language) for text in texts))


def words(text: str, language: str | None = None) -> list[str]:
    """Return the words of a text, in lower case."""
    text = text.lower()
    chinese = language.startswith("zh") if language else HAN.search(text) is not None
    if chinese:
        return [word for word in _jieba()(text) if _WORD.search(word)]
    return _WORD.findall(text)


def is_negation(word: str) -> bool:
    """Return whether a word, in lower case, negates."""
    if word.startswith("不"):
        return word not in _NO_NEGATIONS
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))


def negations(sentence: Sequence[str]) -> list[str]:
    """Return the words of a sentence that negate."""
    return [word for word in sentence if is_negation(word)]


@cache
def _jieba() -> Callable[[str], Iterable[str]]:
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own syntax and imports
        import jieba

    jieba.setLogLevel(logging.WARNING)
    segmenter = jieba.Tokenizer()
    segmenter.initialize()
    return lambda text: segmenter.cut(text, HMM=False)
