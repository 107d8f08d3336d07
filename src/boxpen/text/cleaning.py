"""Which pairs of a corpus are worth training on: rules, in order, with counts.

A pair is dropped by the first rule it breaks, so the counts of the rules and of what was kept add
up to what was read. Order, document and line of what is kept do not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Literal

from annotated_types import Ge, Le

from boxpen.config import AtLeast1
from boxpen.errors import NmtError
from boxpen.text.corpus import Pair
from boxpen.text.normal import HAN, Punctuation, base_language, key, normalised
from boxpen.text.overlap import Overlap

__all__ = ["RULES", "CleanConfig", "Cleaner", "told_rules"]


@dataclass(frozen=True)
class CleanConfig:
    """The rules.

    Attributes:
        normalise: Normalise both sides first (see ``boxpen.text.normal``).
        punctuation: How to normalise Chinese pause marks there.
        min_tokens: Minimum words per side, counting Chinese characters as words. At least 1: a side
            without any letter or digit carries no meaning.
        max_characters: Maximum characters per side.
        max_ratio: Most times that one side may be as long as the other. A character of Chinese
            counts as three, since English runs to 3.1 characters for one of Chinese in the median,
            in subtitles as in sentences written for learners; and ten are added to either side,
            because short lines vary. With 3, a line of one Chinese character may have up to 29
            characters of English, a line of 20 from 14 to 200. Of two million pairs of subtitles
            that drops 3 in 10,000, most of them notes that translate nothing.
        min_script: Least share of words that are written in the script of the language; 0 checks
            nothing. Names of another script are common, so half is enough.
        drop_copies: Drop a pair whose sides are the same.
        duplicates: 'drop' all but the first of the pairs that are the same but for case and
            punctuation.
        exclude: Names of suites whose texts must not be trained on.
        held_out: 'drop' pairs that also occur in the validation set or in a test set.
    """

    normalise: bool = True
    punctuation: Punctuation = "space"
    min_tokens: AtLeast1 = 1
    max_characters: AtLeast1 = 500
    max_ratio: Annotated[float, Ge(1)] = 3.0
    min_script: Annotated[float, Ge(0), Le(1)] = 0.5
    drop_copies: bool = True
    duplicates: Literal["keep", "drop"] = "drop"
    exclude: tuple[str, ...] = ()
    held_out: Literal["keep", "drop"] = "drop"


class Cleaner:
    """Cleans streams of pairs; what it has seen in one it knows in the next.

    Attributes:
        counts: Pairs read, dropped by every rule in the order of the rules, and kept.
        unchecked: Languages that the rule 'language' was asked to check, and whose script is not
            known here: no pair is dropped for them.
    """

    def __init__(
        self,
        config: CleanConfig,
        source_language: str,
        target_language: str,
        excluded: Overlap | None = None,
    ) -> None:
        if config.exclude and excluded is None:
            raise NmtError(
                f"cleaning excludes {', '.join(config.exclude)}, but no texts of suites were given"
            )
        self.counts: dict[str, int] = {"read": 0, **dict.fromkeys(RULES, 0), "kept": 0}
        self._config = config
        self._languages = base_language(source_language), base_language(target_language)
        self.unchecked = [
            language
            for language in dict.fromkeys(self._languages)
            if config.min_script and language not in _SCRIPTS
        ]
        self._excluded = excluded
        self._overlaps: dict[str, int] = {}
        # Whole keys would take a gigabyte for millions of pairs; of 2 million hashes of 8 bytes
        # two are equal by chance once in ten million corpora.
        self._seen: set[int] = set()

    @property
    def overlaps(self) -> dict[str, int]:
        """Pairs dropped by the rule 'overlap', as 'suite, side'."""
        return dict(sorted(self._overlaps.items()))

    def clean(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that break no rule, normalised, in order."""
        config, counts = self._config, self.counts
        source_language, target_language = self._languages
        normalise, punctuation = config.normalise, config.punctuation
        for pair in pairs:
            counts["read"] += 1
            source, target = pair.source, pair.target
            if normalise:
                source = normalised(source, source_language, punctuation=punctuation)
                target = normalised(target, target_language, punctuation=punctuation)
            broken = self._broken(source, target)
            if broken is not None:
                counts[broken] += 1
                continue
            counts["kept"] += 1
            if normalise:
                pair = Pair(source, target, pair.doc, pair.line, pair.corpus)
            yield pair

    def _broken(self, source: str, target: str) -> str | None:
        """Return the first rule that a pair breaks."""
        config = self._config
        source_language, target_language = self._languages
        if not source or not target:
            return "empty"
        if _GARBLED.search(source) or _GARBLED.search(target):
            return "garbled"
        if config.drop_copies and source == target:
            return "copy"
        source_key = key(source, source_language, ready=config.normalise)
        target_key = key(target, target_language, ready=config.normalise)
        if not source_key or not target_key:
            return "short"
        if config.min_tokens > 1 and (
            len(_TOKEN.findall(source)) < config.min_tokens
            or len(_TOKEN.findall(target)) < config.min_tokens
        ):
            return "short"
        if max(len(source), len(target)) > config.max_characters:
            return "long"
        lengths = (
            10 + len(source) * _WEIGHTS.get(source_language, 1),
            10 + len(target) * _WEIGHTS.get(target_language, 1),
        )
        if max(lengths) > config.max_ratio * min(lengths):
            return "ratio"
        if config.min_script and (
            _script_share(source, source_language) < config.min_script
            or _script_share(target, target_language) < config.min_script
        ):
            return "language"
        if self._excluded and (found := self._excluded.find(source_key, target_key)):
            where = f"{found.suite}, {found.side}"
            self._overlaps[where] = self._overlaps.get(where, 0) + 1
            return "overlap"
        return self._duplicate(f"{source_key}\t{target_key}")

    def _duplicate(self, both: str) -> str | None:
        if self._config.duplicates == "keep":
            return None
        # Not hash(): it differs from run to run, and so would what is dropped by chance.
        digest = int.from_bytes(blake2b(both.encode(), digest_size=8).digest(), "big")
        if digest in self._seen:
            return "duplicate"
        self._seen.add(digest)
        return None


def told_rules(counts: Mapping[str, int]) -> str:
    """Say in words how many pairs each rule took, those that took most first.

    Args:
        counts: Of a cleaner.
    """
    taken = sorted((rule for rule in RULES if counts.get(rule)), key=lambda r: -counts[r])
    return ", ".join(f"{counts[rule]:,} {RULES[rule]}" for rule in taken)


RULES = {
    "empty": "with an empty side",
    "garbled": "with characters that were not decoded or halves of markup",
    "copy": "with the same text on both sides (drop_copies)",
    "short": "with too few words on a side (min_tokens)",
    "long": "with too many characters on a side (max_characters)",
    "ratio": "with sides of too unequal length (max_ratio)",
    "language": "in the wrong script for their language (min_script)",
    "overlap": "from a suite, the validation set or a test set (exclude, held_out)",
    "duplicate": "that came before (duplicates)",
}
"""The rules in their order, with what they say of a pair, and the settings that change them."""

# What could not be decoded once, characters of fonts that nobody has, and halves of markup.
_GARBLED = re.compile(r"[\ufffd\ue000-\uf8ff]|\{\\|\\\w*\}")
_TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['-][^\W_{HAN}]+)*")
_WEIGHTS = {"zh": 3}

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_CYRILLIC = "\u0400-\u052f"
_SCRIPTS = {
    "zh": HAN,
    "ja": HAN + "\u3040-\u30ff",
    "ko": HAN + "\uac00-\ud7af",
    "ar": "\u0600-\u06ff",
    "fa": "\u0600-\u06ff",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
    **dict.fromkeys(("ru", "uk", "bg", "be"), _CYRILLIC),
    **dict.fromkeys(("cs", "da", "de", "en", "es", "et", "fi", "fr", "hu", "id"), _LATIN),
    **dict.fromkeys(("it", "nl", "no", "pl", "pt", "ro", "sk", "sv", "tr", "vi"), _LATIN),
}
_WRITTEN = re.compile(rf"[{HAN}]|[^\W\d_{HAN}]+")
_OWN = {language: re.compile(f"[{script}]") for language, script in _SCRIPTS.items()}
_FOREIGN = {lang: re.compile(rf"[^\W\d_{script}]") for lang, script in _SCRIPTS.items()}


def _script_share(text: str, language: str) -> float:
    """Return the share of words (characters, in Chinese) in the script of a language.

    A text without letters, and a language whose script is not known here, have nothing wrong.
    """
    if language not in _SCRIPTS or not _FOREIGN[language].search(text):
        return 1.0
    words = _WRITTEN.findall(text)
    own = _OWN[language]
    return sum(1 for word in words if own.match(word)) / len(words)
