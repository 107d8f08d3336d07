"""Characters that do not belong where they stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["HAN", "strange_characters"]

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")

_LETTERS = re.compile(r"[^\W\d_]+")
_FULL_WIDTH = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_WIDE_MARKS = re.compile("[\u3001\u3002\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffd\ud800-\udfff\ue000-\uf8ff]"
)
_JOINERS = "\u200c\u200d"  # they shape words in the languages below, and are noise elsewhere
_JOINED = frozenset(
    {"ar", "bn", "fa", "gu", "hi", "kn", "ml", "mr", "ne", "pa", "si", "ta", "te", "ur"}
)
_WITH_HAN = frozenset({"zh", "yue", "ja", "ko"})
_SYMBOLS = frozenset("μΩπΔΣαβγλσ")  # Greek that stands in Latin text for what it means

# The commonest characters of which one script has only the one form, in the same order.
_SIMPLIFIED = frozenset("们这说时会来对发国学过个为东车马见长门问间开关头买卖读语认识让谁请谢两")
_TRADITIONAL = frozenset("們這說時會來對發國學過個為東車馬見長門問間開關頭買賣讀語認識讓誰請謝兩")


def strange_characters(text: str, language: str | None) -> Iterator[tuple[str, str]]:
    """Yield a rule and a message for every kind of misplaced character in a text.

    Args:
        text: The text.
        language: Its language as a code; None if it is not known, and then rules that depend on
            it are left out.
    """
    if text.isascii() and text.isprintable() and language not in _WITH_HAN:
        return
    if found := [
        c for c in _INVISIBLE.findall(text) if c not in _JOINERS or language not in _JOINED
    ]:
        yield "invisible-character", f"has {_named(found[0])}, which cannot be seen or shown"
    if word := _mixed_word(text):
        yield "mixed-script", f"has the word '{word}', which mixes alphabets that look alike"
    if match := _FULL_WIDTH.search(text):
        yield "full-width", f"has the full-width '{match[0]}', expected '{_narrow(match[0])}'"
    base = None if language is None else re.split("[-_]", language.lower())[0]
    han = HAN.search(text)
    if base is not None and base not in _WITH_HAN:
        if han:
            yield "mixed-script", f"has the Chinese character '{han[0]}' in a text in '{language}'"
        elif match := _WIDE_MARKS.search(text):
            yield "full-width", f"has the full-width '{match[0]}' in a text in '{language}'"
    if base == "zh":
        if not han and _LETTERS.search(text):
            yield "mixed-script", "has no Chinese character in a text in 'zh'"
        characters = set(text)
        simple, full = characters & _SIMPLIFIED, characters & _TRADITIONAL
        if simple and full:
            yield (
                "mixed-script",
                f"mixes the simplified '{min(simple)}' with the traditional '{min(full)}'",
            )


def _mixed_word(text: str) -> str | None:
    for word in _LETTERS.findall(text):
        if word.isascii():
            continue
        scripts = {_script(c) for c in word if c not in _SYMBOLS}
        if "LATIN" in scripts and scripts & {"CYRILLIC", "GREEK"}:
            return str(word)
    return None


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    # The name of a letter begins with its script; the standard library knows no other way.
    return unicodedata.name(character, "").partition(" ")[0]


def _named(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


def _narrow(character: str) -> str:
    return unicodedata.normalize("NFKC", character)
