"""Text in one form, so that what was punctuated and what was not, tokenised and not, meet.

Parallel text comes from places that write differently: subtitles put a space where Chinese has a
comma and mark speakers and songs; test sets come tokenised, with entities; web text has full-width
letters and invisible characters. ``normalised`` brings them into one form, ``key`` identifies equal
texts.

What is folded, and what is not:

- Width is folded (full-width letters, digits and signs; half-width kana; small and vertical forms),
  and so are Roman numerals and ligatures, which are one character for the sake of old fonts.
  The rest of NFKC is left alone on purpose, because it changes what is said: 10² is not 102.
- Simplified and traditional Chinese are not converted into each other: that needs a dictionary.
- Letters keep their case; ``key`` folds it.
- A space between two Chinese characters stays. In subtitles it is the only sign of a pause, and
  nothing in the text tells it from a space that stands for nothing; Chinese that was cut into
  words must be joined before it comes here. ``key`` takes no account of spaces in Chinese.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Callable
from typing import Literal

__all__ = ["HAN", "Punctuation", "base_language", "key", "normalised"]

Punctuation = Literal["keep", "space"]
# Chinese characters, as they stand in a class of a regular expression.
HAN = "々〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_ALIASES = {"zho": "zh", "chi": "zh", "cmn": "zh", "yue": "zh", "eng": "en"}


def normalised(text: str, language: str, *, punctuation: Punctuation = "space") -> str:
    """Return the text in the one form; the form of a form is itself.

    Args:
        text: One line.
        language: A code: 'zh' and 'en' have their own rules, others use the common ones.
        punctuation: How to normalise Chinese pause marks. 'space': to a space, as in subtitles, and
            nothing at the ends. 'keep': to the full-width mark, also from a half-width one. Marks
            that do not separate clauses (quotes, brackets, the dot in a name) stay either way.
    """
    plain, once = _rules(base_language(language), punctuation)
    if plain is not None and plain.fullmatch(text):
        return text
    # One rule can make room for another: an entity for a tag, a tag for a dash.
    while (after := once(text)) != text:
        text = after
    return text


def key(text: str, language: str, *, ready: bool = False) -> str:
    """Return what two texts have in common if they are the same but for case and punctuation.

    Args:
        text: One line.
        language: Its language.
        ready: The text is already normalised, in either mode.
    """
    if not ready:
        text = normalised(text, language)
    if base_language(language) == "zh":
        return text.casefold().translate(_WITHOUT_SPACES)
    return " ".join(text.casefold().translate(_WITHOUT_MARKS).split())


@functools.lru_cache(maxsize=256)
def base_language(language: str) -> str:
    """Return a code without region or script, the two-letter one for Chinese and English."""
    base = language.replace("_", "-").split("-")[0].lower()
    return _ALIASES.get(base, base)


class _Table(dict[int, str | None]):
    """A table for ``str.translate`` that asks a function once for every character it meets."""

    def __init__(self, rule: Callable[[str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        self[code] = self._rule(chr(code))
        return self[code]


_COMMON_SIGNS: dict[str, str | None] = {
    **dict.fromkeys("“”„‟", '"'),
    **dict.fromkeys("‘’‚‛", "'"),
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("—―⸺⸻", "--"),
    **dict.fromkeys("♩♪♫♬🎵🎶🎼", " "),
    "…": "...",
    "‥": "..",
}
_CHINESE_SIGNS: dict[str, str | None] = {
    **_COMMON_SIGNS,
    **dict.fromkeys("「」『』〝〞〟«»", '"'),
    **dict.fromkeys("•‧・∙⋅", "·"),
    **dict(zip("【】〔〕〈〉〜", "[][]《》~", strict=True)),
    **{mark: mark for mark in "，：；！？"},  # always a pause, which the half-width ones are not
    **dict.fromkeys("\u200c\u200d"),  # joiners mean something in Persian and Hindi, not here
}
_ENGLISH_SIGNS: dict[str, str | None] = {
    **_COMMON_SIGNS,
    **dict.fromkeys("«»″", '"'),
    **dict.fromkeys("´′", "'"),
    **dict.fromkeys("\u200c\u200d"),
}
_FOLDED = re.compile("[\u2160-\u217f\ufb00-\ufb06]")  # Roman numerals, ligatures


def _character(char: str, signs: dict[str, str | None]) -> str | None:
    """Return what a character is written as; None if not at all."""
    if char in signs:
        return signs[char]
    if char in "\u200c\u200d":
        return char
    if char.isspace():
        return " "
    if unicodedata.category(char) in ("Cc", "Cf", "Cs"):
        return None
    kind, *codes = unicodedata.decomposition(char).split() or [""]
    if kind in ("<wide>", "<narrow>", "<small>", "<vertical>") or _FOLDED.match(char):
        return "".join(_character(chr(int(code, 16)), signs) or "" for code in codes)
    return char


def _mark(char: str, space: str) -> str:
    """Return a letter, digit or accent as it is, and anything else as ``space``."""
    if char in "'-":  # a word written with them and the word written without are the same
        return ""
    return char if unicodedata.category(char)[0] in "LMN" else space


_WITHOUT_SPACES = _Table(lambda char: _mark(char, ""))
_WITHOUT_MARKS = _Table(lambda char: _mark(char, " "))

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10}\d{0,2});")
_BREAK = re.compile(r"<br\s*/?>|\\[nN]", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:i|b|u|s|em|strong|font|span|p|c|ruby|rt)(?:[\s.][^<>]*)?/?>|\{\\[^{}]*\}", re.IGNORECASE
)
_EVENT = re.compile(r",{0,2}0000,0000,0000,{1,2}")  # margins of a line of Advanced SubStation
_SUNG = re.compile(r"[#*]+ ?(.*?) ?[#*]+")
# A speaker's dash goes, a minus stays: one dash, and the number right behind it.
_EDGES = re.compile(r"^[#*]+(?!\d)| [#*]+$|^(?:-(?!\d) ?|(?<=-)-)+")
_SPEAKER = re.compile(r"(?<=[.?!-]) -+ ?(?=[^\W\d_])")


def _common(text: str, table: _Table) -> str:
    """Apply once what holds in every language."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    text = text.translate(table)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "<" in text or "\\" in text:
        text = _TAG.sub("", _BREAK.sub(" ", text))
    if "0000," in text:
        text = _EVENT.sub("", text)
    text = " ".join(text.split())
    if text and text[0] in "#*" and (sung := _SUNG.fullmatch(text)):
        text = sung[1]
    text = _EDGES.sub("", text)
    if " -" in text:
        text = _SPEAKER.sub(" ", text)
    return text.strip()


_PAUSE = re.compile(  # a dot, comma or colon within 3.5, 4:30 or a.com is none
    r"[!?;，：；！？。、~]|(?<![0-9A-Za-z/])[,.:]|[,.:](?![0-9A-Za-z/])"
    r"|--+|(?<![0-9A-Za-z])-(?!\d)|-(?![0-9A-Za-z])"
)
_RATIO = re.compile(r"(?<=\d)：(?=\d)")  # 3：2, 4：30
_ELLIPSIS = re.compile(r"\.(?: ?\.)+|。{2,}")
_HALF = re.compile(r"[!?;]|(?<![0-9A-Za-z/])[,:]|[,:](?![0-9A-Za-z/])")
_FULL = {",": "，", "?": "？", "!": "！", ":": "：", ";": "；"}
_STOP = re.compile(rf"(?<=[{HAN}])\.(?![0-9A-Za-z])")
_BESIDE = re.compile(r" *([，。！？；：、]|——|……) *")


def _chinese_spaced(text: str) -> str:
    """Apply the rules of Chinese once, with a space for a pause."""
    text = _ELLIPSIS.sub(" ", _RATIO.sub(":", _common(text, _CHINESE)))
    text = _PAUSE.sub(" ", text)
    return _quoted(" ".join(text.split()), tokenised=False)


def _chinese_kept(text: str) -> str:
    """Apply the rules of Chinese once, with the full-width mark for a pause."""
    text = _ELLIPSIS.sub("……", _RATIO.sub(":", _common(text, _CHINESE)))
    text = re.sub("--+", "——", text)
    text = _STOP.sub("。", _HALF.sub(lambda found: _FULL[found[0]], text))
    return _quoted(_BESIDE.sub(r"\1", text), tokenised=False)


_NOT = re.compile(r"(?<=[a-z]) (?=n't\b)", re.IGNORECASE)
_CLITIC = re.compile(r"(?<=\w) '(?=(?:s|t|m|d|re|ve|ll)\b(?!'))", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=s) ' (?=\w)")
_BEFORE = re.compile(r"(?<=[^\s,;:]) (?=[,.?!;:]+(?:[\s\"')\]]|$)|[)\]])|(?<=[(\[]) ")
_MISSING = re.compile(r"(?<=[a-z],)(?=[A-Za-z])|(?<=[a-z][a-z][.?!])(?=[A-Z])")
_NUMBER = re.compile(
    r"(?<=[$£€#]) (?=\d)|(?<=\d) (?=(?:%|(?:st|nd|rd|th)\b))|(?<=\d) (?=/ ?\d)|(?<=\d/) (?=\d)"
)


def _english(text: str) -> str:
    """Apply the rules of English once: those of tokenisers, undone, and one form of marks."""
    text = _common(text, _ENGLISH)
    if "''" in text or "``" in text:
        text = text.replace("``", '"').replace("''", '"')
    if "'" in text:
        text = _CLITIC.sub("'", _NOT.sub("", text))
        if text.count("'") == 1:  # two may be quotes
            text = _POSSESSIVE.sub("' ", text)
    if ".." in text or ". ." in text:
        text = _ELLIPSIS.sub("...", text)
    if "-" in text:
        text = text.replace(" @-@ ", "-")
        text = re.sub("--+ ?(?=[^\\W_])", "-- ", re.sub(" ?--+", "--", text))
    text = _NUMBER.sub("", _MISSING.sub(" ", _BEFORE.sub("", text)))
    return _quoted(text.strip(), tokenised=True)


_LONE = re.compile(r'(?:^| )"(?: |$)')


def _quoted(text: str, *, tokenised: bool) -> str:
    """Return the text without spaces within double quotes, where it is clear which way they face.

    Args:
        text: The text.
        tokenised: Only for quotes on their own, as tokenisers write them, not 5" x 6".
    """
    if '"' not in text or (tokenised and not _LONE.search(text)):
        return text
    parts = text.split('"')
    if len(parts) % 2:
        parts[1::2] = [part.strip() for part in parts[1::2]]
    else:  # subtitles end within a speech: only quotes at the ends are clear
        if not parts[0]:
            parts[1] = parts[1].lstrip()
        if not parts[-1]:
            parts[-2] = parts[-2].rstrip()
    return '"'.join(parts)


_CHINESE = _Table(lambda char: _character(char, _CHINESE_SIGNS))
_ENGLISH = _Table(lambda char: _character(char, _ENGLISH_SIGNS))
_OTHER = _Table(lambda char: _character(char, _COMMON_SIGNS))
# Most lines are like this and need no rule: letters and single spaces, no mark within a word.
_PLAIN_CHINESE = re.compile(
    "[0-9A-Za-z\u3400-\u4dbf\u4e00-\u9fff]++(?: [0-9A-Za-z\u3400-\u4dbf\u4e00-\u9fff]++)*+"
)
_WORD = r"(?!(?:st|nd|rd|th|[nN]'[tT])\b)[A-Za-z0-9]++(?:['-][A-Za-z]++)*+[,.?!]?+"
_PLAIN_ENGLISH = re.compile(rf"{_WORD}(?: {_WORD})*+")


@functools.cache
def _rules(
    language: str, punctuation: Punctuation
) -> tuple[re.Pattern[str] | None, Callable[[str], str]]:
    """Return what text needs no rule, and the rules."""
    if language == "zh":
        return (_PLAIN_CHINESE, _chinese_kept if punctuation == "keep" else _chinese_spaced)
    if language == "en":
        return (_PLAIN_ENGLISH, _english)
    return (None, lambda text: _common(text, _OTHER))
