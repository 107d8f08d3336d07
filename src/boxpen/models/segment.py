"""Segmentation into the fewest pieces of a vocabulary.

Some released translation models lack the SentencePiece model of their target side. A vocabulary
made of whole words and frequent parts is then segmented nearly as it was in training by taking
as few pieces as possible, the more frequent ones (lower in the vocabulary) where that leaves a
choice.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

__all__ = ["fewest_pieces"]

_SPACE = "▁"
_UNKNOWN = "<unk>"


def fewest_pieces(vocabulary: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that splits a text into the fewest pieces of this vocabulary."""
    rank = {piece: i for i, piece in enumerate(vocabulary) if piece and not _control(piece)}
    longest = max((len(p) for p in rank), default=1)

    @lru_cache(maxsize=100_000)
    def word(text: str) -> tuple[str, ...]:
        # Dynamic programming over end positions. The cost of a way to get there: unknown
        # characters first of all, then pieces, then the sum of their ranks.
        best: list[tuple[int, int, int]] = [(0, 0, 0)]
        back: list[tuple[int, str]] = [(0, "")]
        for end in range(1, len(text) + 1):
            options = []
            for start in range(max(0, end - longest), end):
                piece = text[start:end]
                unknown, count, ranks = best[start]
                if piece in rank:
                    options.append(((unknown, count + 1, ranks + rank[piece]), (start, piece)))
                elif end - start == 1:
                    options.append(((unknown + 1, count + 1, ranks), (start, _UNKNOWN)))
            cost, step = min(options)
            best.append(cost)
            back.append(step)
        pieces: list[str] = []
        end = len(text)
        while end:
            end, piece = back[end]
            pieces.append(piece)
        return tuple(reversed(pieces))

    def segment(text: str) -> list[str]:
        words = unicodedata.normalize("NFKC", text).split()
        return [piece for w in words for piece in word(_SPACE + w)]

    return segment


def _control(piece: str) -> bool:
    return piece.startswith("<") and piece.endswith(">")
