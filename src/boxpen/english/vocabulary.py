"""Words: which are English, which are not fit for a test, which a user does not want."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["misspelt_word", "profane_words", "read_words"]

_SPELT = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")  # letters, with apostrophes inside
_ENDINGS = re.compile(r"n't$|'(?:s|d|ll|m|re|ve)$")
_PEOPLE = frozenset(("personx", "persony", "personz"))
_SHORT = frozenset(("ca", "wo", "sha"))  # what is left of can't, won't, shan't


@lru_cache(maxsize=1 << 16)
def misspelt_word(text: str) -> str | None:
    """Return the first word of a text that no dictionary of English has, or None.

    Names of places and firms are in the dictionary, Latin names of species are not. British and
    American spellings are. Parts of hyphenated words count by themselves.
    """
    for match in _SPELT.finditer(text.lower().replace("’", "'")):
        word = match[0]
        if not _known(word) and not _known(_ENDINGS.sub("", word)):
            return word
    return None


@lru_cache(maxsize=1)
def profane_words() -> tuple[str, ...]:
    """Return profane, sexual and abusive words and phrases."""
    return _own_list("profanity.txt")


def read_words(path: Path) -> tuple[str, ...]:
    """Read a text file of words or phrases, one a line; ``#`` begins a comment.

    Raises:
        BuildError: If it cannot be read.
    """
    try:
        return _listed(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BuildError(
            f"{path} is not UTF-8 text (byte {error.start}), expected one word or phrase a line"
        ) from None


def _own_list(name: str) -> tuple[str, ...]:
    source = resources.files("boxpen.english").joinpath("data", name)
    return _listed(source.read_text(encoding="utf-8"))


def _listed(text: str) -> tuple[str, ...]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


@lru_cache(maxsize=1 << 18)
def _known(word: str) -> bool:
    """Whether either of two dictionaries has the word: the second one knows British spelling."""
    if word in _PEOPLE or word in _SHORT or word in _dictionary():
        return True
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word))


@lru_cache(maxsize=1)
def _dictionary() -> Container[str]:
    from spellchecker import SpellChecker

    return frozenset(
        (*SpellChecker(language="en").word_frequency.keys(), *_own_list("spelled.txt"))
    )
