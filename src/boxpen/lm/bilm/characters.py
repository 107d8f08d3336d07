"""Words as characters: UTF-8 bytes and five extra symbols (Peters et al. 2018).

The word 'box' is 258 98 111 120 259 260 260 …: begin, b, o, x, end, and filling up to the width.
What begins a sentence is 258 256 259 260 260 …, as if it were a word of one letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BEGIN", "CHARACTERS", "END", "spelling", "spelt", "words_of"]

_BEGIN_SENTENCE, _END_SENTENCE, _BEGIN_WORD, _END_WORD, _FILLING = 256, 257, 258, 259, 260
CHARACTERS = 261
"""How many ids there are."""

BEGIN = (_BEGIN_WORD, _BEGIN_SENTENCE, _END_WORD)
"""What begins a sentence, spelt as a word is."""
END = (_BEGIN_WORD, _END_SENTENCE, _END_WORD)
"""What ends it."""


def spelling(word: str, longest: int) -> tuple[int, ...]:
    """Return the ids of a word, without padding; long words are truncated.

    Args:
        word: The word.
        longest: Maximum ids, including the marks of beginning and end.
    """
    letters = word.encode("utf-8", "ignore")[: longest - 2]
    return (_BEGIN_WORD, *letters, _END_WORD)


def words_of(ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the words of consecutive spellings."""
    start = 0
    for place, one in enumerate(ids, 1):
        if one == _END_WORD:
            yield tuple(ids[start:place])
            start = place


def spelt(rows: Sequence[Sequence[Sequence[int]]], longest: int) -> NDArray[np.int64]:
    """Return sentences of spellings as one padded array, (sentences, words, longest)."""
    width = max((len(row) for row in rows), default=0)
    out = np.full((len(rows), width, longest), _FILLING, dtype=np.int64)
    for i, row in enumerate(rows):
        for j, ids in enumerate(row):
            out[i, j, : len(ids)] = ids
    return out
