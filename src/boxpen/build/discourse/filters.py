"""Which lines of subtitles are speech in their languages: rules, in order, with counts.

A line is dropped by the first rule that it breaks. The rules of subtitles come before and after
those by which training text is cleaned (``boxpen.text.cleaning``), which also bring both sides into
one form: ``music`` and ``credits`` see a line as it is written, ``markup`` and ``characters`` as it
would be in a suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from boxpen.config import AtLeast1
from boxpen.text.cleaning import CleanConfig, Cleaner
from boxpen.text.corpus import Pair
from boxpen.text.normal import HAN, base_language

__all__ = ["FilterConfig", "LineFilter"]


@dataclass(frozen=True, kw_only=True)
class FilterConfig:
    """What a line must be like.

    Attributes:
        exclude: Suites, by name or file, whose texts must not become candidates.
        punctuation: How to treat Chinese marks of pause: 'keep' them, or make them a 'space'.
        max_characters: Most characters of a side.
        max_ratio: Most times that one side may be as long as the other, a Chinese character
            counting as three.
    """

    exclude: tuple[str, ...] = ()
    punctuation: Literal["keep", "space"] = "keep"
    max_characters: AtLeast1 = 200
    max_ratio: Annotated[float, Ge(1)] = 3.0


class LineFilter:
    """Filters streams of pairs, and counts what it drops.

    Args:
        config: What a line must be like.
        source_language: A code; of English and Chinese it is known with which letters they are
            written (the rule ``characters``).
        target_language: Likewise.
    """

    def __init__(
        self, config: FilterConfig, source_language: str = "en", target_language: str = "zh"
    ) -> None:
        self._written_badly = (
            _LETTERS.get(base_language(source_language)),
            _LETTERS.get(base_language(target_language)),
        )
        self._own = dict.fromkeys((*_BEFORE, *_AFTER), 0)
        self._cleaner = Cleaner(
            CleanConfig(
                punctuation=config.punctuation,
                max_characters=config.max_characters,
                max_ratio=config.max_ratio,
                duplicates="keep",  # a line that was said before is still a neighbour
            ),
            source_language,
            target_language,
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs each rule dropped, in the order of the rules."""
        common = {
            rule: count
            for rule, count in self._cleaner.counts.items()
            if rule not in ("read", "kept", "overlap", "duplicate")
        }
        before = {rule: self._own[rule] for rule in _BEFORE}
        return {**before, **common, **{rule: self._own[rule] for rule in _AFTER}}

    def keep(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that break no rule, in one form, in order."""
        wrong_source, wrong_target = self._written_badly
        for pair in self._cleaner.clean(self._spoken(pairs)):
            if _MARKUP.search(pair.source) or _MARKUP.search(pair.target):
                self._own["markup"] += 1
            elif (wrong_source is not None and wrong_source(pair.source)) or (
                wrong_target is not None and wrong_target(pair.target)
            ):
                self._own["characters"] += 1
            else:
                yield pair

    def _spoken(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            both = f"{pair.source}\n{pair.target}"
            if _is_music(both):
                self._own["music"] += 1
            elif _is_credit(both.lower()):
                self._own["credits"] += 1
            else:
                yield pair


_BEFORE = ("music", "credits")
_AFTER = ("markup", "characters")

_NOTES = tuple("♩♪♫♬🎵🎶🎼")
_SUNG = re.compile(r"^\s*#.*#\s*$", re.MULTILINE)
# Words that stand in credits; few lines have one, and only those are looked at closely.
_HINTS = (
    "字幕", "翻译", "校对", "校订", "时间轴", "压制", "听译", "后期", "subtitl", "sync", "caption",
    "addic7ed", "www.", "http", ".com", ".net", ".org",
)  # fmt: skip
_CREDITS = re.compile(
    r"字幕(?:组|制作|翻译|校对|同步|[:：])|(?:翻译|校[对订]|时间轴|压制|听译|后期)\s*[:：]|时间轴"
    r"|(?:subtitl(?:es?|ed|ing)|sync(?:ed|hronized)?(?: and corrected)?|caption(?:s|ed)) by\b"
    r"|opensubtitles|addic7ed|www\.|https?:|\w\.(?:com|net|org)\b"
)
# In subtitles what stands in brackets is a note: a sound, a sign, a word of the translator's.
_MARKUP = re.compile(r"[<>{}\\|\[\]()（）]")
_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_NOT_ENGLISH = re.compile(rf"[^\W\d_{_LATIN}]")
_NOT_CHINESE = re.compile(rf"[^\W\d_{HAN}{_LATIN}]")
_HAN = re.compile(f"[{HAN}]")


def _is_music(both: str) -> bool:
    return any(note in both for note in _NOTES) or ("#" in both and bool(_SUNG.search(both)))


def _is_credit(both: str) -> bool:
    return any(hint in both for hint in _HINTS) and bool(_CREDITS.search(both))


def _not_english(text: str) -> bool:
    return not text.isascii() and _NOT_ENGLISH.search(text) is not None


def _not_chinese(text: str) -> bool:
    return _NOT_CHINESE.search(text) is not None or not _HAN.search(text)


_LETTERS = {"en": _not_english, "zh": _not_chinese}
