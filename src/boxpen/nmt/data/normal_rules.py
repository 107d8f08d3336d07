"""The one form of text as rules that a SentencePiece model carries with it.

Training text goes through ``text.normal.normalised``. Those who use the model later, by way of
Transformers or CTranslate2, hand raw text to its tokenizer, which therefore has to bring it into
the same form by itself. SentencePiece reads a text from left to right and replaces, wherever it
stands, the longest key it knows; it does not look back, and does not read again what it wrote.
With these rules T the tokens of a raw text are those of its form N: T(x) = T(N(x)).

What each character becomes is found by asking ``normalised``. Where that depends on the characters
around it, T may do more than N, as long as it does so to the form as well:

- Chinese, 'space': quotes stand alone, for N takes away spaces on their inner side, which to find
  means to count quotes. A comma or colon is kept between digits, a full stop or hyphen between
  letters too, a dash before a digit; elsewhere they are pauses even where N keeps them. What stands
  behind such a mark was read with it, so that of 1.2.3 the second stop is a pause.
- Chinese, 'keep': a comma or colon between letters becomes full-width, and so does a full stop
  behind anything but a letter or digit.

What takes the whole line, or what was read before, is not done: entities and tags; the marks of
subtitles, such as speakers' dashes; the undoing of tokenised English, and its missing spaces;
accents in another than their canonical order; Hangul in parts; null characters. Nor is what could
be done but hardly occurs: more than two spaces beside a mark that takes none, any within straight
quotes or about a colon between digits, in 'keep'; runs of dots or dashes longer than ``_RUN`` or of
several kinds; hyphens and stops between letters of which some are full-width and others not.

The rest of NFKC, such as 2 for ², is left out, as in ``boxpen.text.normal``, on purpose.
"""

from __future__ import annotations

import functools
import string
import sys
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from boxpen.text.normal import Punctuation, base_language, normalised

__all__ = ["compiled", "rules"]

_RUN = 16  # SentencePiece allows a key 31 shorter ones that it begins with
_DIGITS = (string.digits, "".join(chr(ord(c) + 0xFEE0) for c in string.digits))
_LETTERS = (string.ascii_letters, "".join(chr(ord(c) + 0xFEE0) for c in string.ascii_letters))
_STOPS = (".．", "．")  # between letters, narrow and wide
_HYPHENS = ("-–－", "－")  # likewise
_MINUS = "-–−－"  # before a number with a point, comma or colon
_LONG_DASHES = "—―⸺⸻︱﹘"
_FULL = ("，", "。", "！", "？", "；", "：", "、", "……", "——")
# A model's normalizer_spec (field 3) with an empty normalization_rule_tsv (field 6).
_NO_FILE = b"\x1a\x02\x32\x00"
_SPACES = ("", " ", "\u3000", "  ", " \u3000", "\u3000 ", "\u3000\u3000")


def rules(language: str, punctuation: Punctuation) -> dict[str, str]:
    """Return the replacements; the longest matching key wins.

    A key may map to itself, to protect it from a shorter one.

    Args:
        language: A code, as in ``boxpen.text.normal.normalised``.
        punctuation: How to normalise Chinese pause marks, as there.
    """
    return dict(_rules(base_language(language), punctuation))


@functools.cache  # a second
def compiled_rules(language: str, punctuation: Punctuation) -> bytes:
    """Return the rules of a language as ``compiled`` makes them."""
    return compiled(rules(language, punctuation))


def compiled(found: dict[str, str]) -> bytes:
    """Return rules as the part of a SentencePiece model that holds them.

    It is a message of the same kind as a model, so that a model and this, one after the other,
    are a model with these rules.
    """
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "rules.tsv")
        table.write_text("".join(map(_line, found.items())), "ascii")
        made = sentencepiece.SentencePieceNormalizer(rule_tsv=str(table)).serialized_model_proto()
    # It notes the name of the file, which differs each time; a later field takes its place.
    return bytes(
        sentencepiece.SentencePieceNormalizer(
            model_proto=made + _NO_FILE,
            add_dummy_prefix=True,
            escape_whitespaces=True,
            remove_extra_whitespaces=True,
        ).serialized_model_proto()
    )


def _line(rule: tuple[str, str]) -> str:
    key, value = rule
    if key == value:  # refused, unless it looks different; what comes behind the null is not read
        value += "\0"
    return "\t".join(" ".join(f"{ord(c):X}" for c in side) for side in (key, value)) + "\n"


@functools.cache
def _rules(language: str, punctuation: Punctuation) -> dict[str, str]:
    anchor = "一" if language == "zh" else "1"
    found = {
        c: new for c in _candidates() if (new := _between(anchor, c, language, punctuation)) != c
    }
    found["▁"] = " "  # the sign of SentencePiece for a space
    found |= dict(_composed(found))
    if language == "zh":
        among_digits = {
            c: new
            for c in _candidates()
            if (new := _between("1", c, language, punctuation)) != found.get(c, c)
        }
        special = _chinese_kept if punctuation == "keep" else _chinese_spaced
        found |= dict(special(found, among_digits))
    elif language == "en":
        found |= dict(_english(found))
    return found


def _between(anchor: str, char: str, language: str, punctuation: Punctuation) -> str:
    """Return what a character is written as between two others that stay what they are."""
    return normalised(anchor + char + anchor, language, punctuation=punctuation)[1:-1]


@functools.cache
def _candidates() -> tuple[str, ...]:
    """Return the characters that may not stay as they are: no letters in their normal form."""
    chars = map(chr, range(1, sys.maxunicode + 1))
    return tuple(
        c
        for c in chars
        if (kind := unicodedata.category(c)) not in ("Cn", "Co", "Cs")
        and not (kind[0] in "LMN" and unicodedata.is_normalized("NFKC", c))
    )


def _composed(found: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield letters with their accents behind them, and the one character for it."""
    same = defaultdict(list)
    for char, new in found.items():
        same[new].append(char)
    for char in map(chr, range(sys.maxunicode + 1)):
        parts = unicodedata.decomposition(char)
        if not parts or "<" in parts or not unicodedata.is_normalized("NFC", char):
            continue
        once = "".join(chr(int(code, 16)) for code in parts.split())
        for spelt in {once, unicodedata.normalize("NFD", char)}:
            for key in product(*([c, *same[c]] for c in spelt)):
                yield "".join(key), found.get(char, char)


def _chinese_spaced(
    found: dict[str, str], among_digits: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what takes more than one character to see, where a pause is a space."""
    for quote in _written(found, '"'):
        yield quote, ' " '
    dashes = [c for c, new in among_digits.items() if new == "-"]
    within = {c: new for c, new in among_digits.items() if new != "-"}
    all_digits = "".join(_DIGITS)
    for dash, digit in product(dashes, all_digits):  # a minus, or from where to where
        yield dash + digit, "-" + found.get(digit, digit)
    for number, new in _kept(product(all_digits, within, all_digits), found | within):
        yield number, new
        yield from ((dash + number, "-" + new) for dash in _MINUS)
    for digits, letters, stops, hyphens in zip(_DIGITS, _LETTERS, _STOPS, _HYPHENS, strict=True):
        for pair in ((letters, letters + digits), (digits, letters)):
            yield from _kept(product(pair[0], stops, pair[1]), found | within)
        yield from _kept(product(letters + digits, hyphens, letters), found | among_digits)
    for key in _runs("-", 2):
        yield key, " "
    for first, second in product([*dashes, *_LONG_DASHES], dashes):
        yield first + second, " "


def _chinese_kept(found: dict[str, str], among_digits: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what takes more than one character to see, where a pause is a full-width mark."""
    stops = [c for c, new in among_digits.items() if new == "."]
    marks = {c: new for c, new in found.items() if new in _FULL and c not in stops}
    marks |= {mark: mark for mark in _FULL}
    dots = dict.fromkeys([*_dots(found, stops), *_runs("。", 2)], "……")
    marks |= dots
    marks |= {key: "——" for dash in _LONG_DASHES for key in _runs(dash, 1)}
    marks |= {key: "——" for dash in _written(found, "-") for key in _runs(dash, 2)}
    marks |= {" ".join("—" * n): "——" for n in (2, 3, 4)}
    for space in _SPACES[1:]:
        yield from ((opening + space, '"') for opening in "“「『")
        yield from ((space + closing, '"') for closing in "”」』")
    for mark, new in marks.items():
        for before, after in product(_SPACES, _SPACES):
            yield before + mark + after, new
    for stop in stops:
        for after in _SPACES:
            yield stop + after, "。"
    written = found | among_digits
    digits, letters = "".join(_DIGITS), "".join(_LETTERS)
    within = [mark for mark in among_digits if mark not in stops]
    yield from _kept(product(digits, within, digits), written)
    yield from _kept(product(letters + digits, stops), written)
    behind = [dot for dot in dots if dot[0] in stops]  # which a stop alone would cut
    for char, dot, after in product(letters + digits, behind, _SPACES):
        yield char + dot + after, found.get(char, char) + "……"


def _english(found: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what takes more than one character to see."""
    for dot in _dots(found, _written(found, ".")):
        yield dot, "..."
    for pair in product(_written(found, "'"), repeat=2):
        yield "".join(pair), '"'
    yield "``", '"'
    dashes = [key for dash in _LONG_DASHES for key in _runs(dash, 1)]
    dashes += [key for dash in _written(found, "-") for key in _runs(dash, 2)]
    for before, dash in product(("", " "), dashes):
        yield before + dash, "--"
        for char in string.ascii_letters + string.digits:
            yield before + dash + char, "-- " + char


def _kept(keys: Iterable[tuple[str, ...]], found: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield sequences with what each of their characters becomes."""
    for key in keys:
        yield "".join(key), "".join(found.get(c, c) for c in key)


def _written(found: dict[str, str], as_what: str) -> list[str]:
    """Return the characters that are written as a certain one, itself included."""
    return [as_what, *(c for c, new in found.items() if new == as_what and len(c) == 1)]


def _runs(char: str, least: int) -> list[str]:
    return [char * n for n in range(least, _RUN + 1)]


def _dots(found: dict[str, str], stops: list[str]) -> list[str]:
    """Return ways to write an ellipsis."""
    several = [c for c, new in found.items() if new in ("...", "……")]
    runs = [key for char in several for key in _runs(char, 1)]
    runs += [key for stop in stops for key in _runs(stop, 2)]
    spaced = [" ".join(dot * n) for dot in ".…" for n in range(2, 7)]
    mixed = ["".join(key) for n in (2, 3, 4) for key in product(".…", repeat=n)]
    return [*runs, *spaced, *mixed]
