"""Pairs as numbers: the tokens of both sides, one after the other, and where each pair stood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Examples", "lengths_of"]


@dataclass(frozen=True)
class Examples:
    """Pairs as numbers.

    Attributes:
        source: The tokens of all sources, one after the other; every sentence ends with EOS.
        source_ends: Where each source ends.
        target: Likewise.
        target_ends: Likewise.
        document: The number of each pair's document; -1 where none is known.
        line: The line of each pair in its file, from 1: where lines are missing, so is context.
        row: The line of each pair in the cleaned text, from 0; not in corpora of earlier versions.
        bert: The tokens of another tokenizer for all sources, without special tokens, if a model
            wants them.
        bert_ends: Where each of them ends.
    """

    source: NDArray[np.int32]
    source_ends: NDArray[np.int64]
    target: NDArray[np.int32]
    target_ends: NDArray[np.int64]
    document: NDArray[np.int32]
    line: NDArray[np.int32]
    row: NDArray[np.int32] | None = None
    bert: NDArray[np.int32] | None = None
    bert_ends: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.source_ends)

    @cached_property
    def source_lengths(self) -> NDArray[np.int64]:
        """Tokens of every source."""
        return lengths_of(self.source_ends)

    @cached_property
    def target_lengths(self) -> NDArray[np.int64]:
        """Tokens of every target."""
        return lengths_of(self.target_ends)

    @property
    def mean_lengths(self) -> tuple[float, float]:
        """Mean numbers of tokens of the sources and of the targets."""
        return float(self.source_lengths.mean()), float(self.target_lengths.mean())

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """How many pairs come before each in its document without a gap."""
        follows = np.zeros(len(self), bool)
        follows[1:] = (
            (self.document[1:] == self.document[:-1])
            & (self.document[1:] >= 0)
            & (self.line[1:] == self.line[:-1] + 1)
        )
        numbers = np.arange(len(self))
        begins = np.maximum.accumulate(np.where(follows, 0, numbers))
        return numbers - begins

    def tokens(self, side: str, number: int) -> NDArray[np.int32]:
        """Return the tokens of one sentence."""
        flat, ends = self._side(side)
        start = int(ends[number - 1]) if number else 0
        return flat[start : int(ends[number])]

    def padded(self, side: str, numbers: NDArray[np.int64], pad: int) -> NDArray[np.int64]:
        """Return sentences as the rows of a matrix, filled up behind."""
        flat, ends = self._side(side)
        sizes = self.lengths(side, numbers)
        return _filled(flat, ends[numbers] - sizes, sizes, pad)

    def context_counts(
        self, numbers: NDArray[np.int64], sentences: int, limit: int, *sides: str
    ) -> NDArray[np.int64]:
        """Return how many sentences before each pair are read.

        Args:
            numbers: Of the pairs.
            sentences: Most of them.
            limit: Most tokens that they may have, on every one of the sides.
            sides: ``source``, ``target`` or ``bert``.
        """
        counts = np.zeros(len(numbers), np.int64)
        for more in range(1, sentences + 1):
            fits = self.before[numbers] >= more
            first = np.where(fits, numbers - more, numbers)
            for side in sides:
                fits &= self.starts(side, numbers) - self.starts(side, first) <= limit
            counts[fits] = more
        return counts

    def context_lengths(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of source tokens before every pair, or 1 for an EOS alone."""
        numbers = np.arange(len(self))
        begins = self.starts("source", numbers - counts)
        found: NDArray[np.int64] = np.maximum(1, self.starts("source", numbers) - begins)
        return found

    def padded_context(
        self,
        side: str,
        numbers: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        pad: int,
        eos: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the contexts of pairs as rows of a matrix, and the length of each row.

        Args:
            side: ``source`` or ``target``.
            numbers: Of the pairs.
            counts: Sentences before each, in their order.
            pad: Fills up rows behind.
            eos: What a row without context consists of.
        """
        flat, _ = self._side(side)
        begins = self.starts(side, numbers - counts)
        sizes = self.starts(side, numbers) - begins
        # Where there is none, one token is taken from anywhere, and EOS put in its place.
        rows = _filled(flat, np.minimum(begins, len(flat) - 1), np.maximum(sizes, 1), pad)
        rows[sizes == 0, 0] = eos
        return rows, np.maximum(sizes, 1)

    def starts(self, side: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where sentences begin in the long row of their side."""
        found: NDArray[np.int64] = self._side(side)[1][numbers] - self.lengths(side, numbers)
        return found

    def lengths(self, side: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many tokens sentences have."""
        found: NDArray[np.int64] = self._lengths(side)[numbers]
        return found

    def pieces(
        self, side: str, starts: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return pieces of the long row of a side, one after the other."""
        flat, _ = self._side(side)
        before = np.cumsum(sizes) - sizes
        found: NDArray[np.int32] = flat[
            np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
        ]
        return found

    def _side(self, side: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        flat, ends = getattr(self, side), getattr(self, f"{side}_ends")
        assert flat is not None
        assert ends is not None
        return flat, ends

    def _lengths(self, side: str) -> NDArray[np.int64]:
        if side == "source":
            return self.source_lengths
        return self.target_lengths if side == "target" else self._bert_lengths

    @cached_property
    def _bert_lengths(self) -> NDArray[np.int64]:
        return lengths_of(self._side("bert")[1])


def lengths_of(ends: NDArray[Any]) -> NDArray[np.int64]:
    """Return how long sentences are that end there."""
    return np.diff(ends, prepend=0).astype(np.int64)


def _filled(
    flat: NDArray[np.int32], starts: NDArray[np.int64], sizes: NDArray[np.int64], pad: int
) -> NDArray[np.int64]:
    """Return pieces of a long row as the rows of a matrix."""
    width = int(sizes.max())
    out = np.full((len(sizes), width), pad, np.int64)
    inside = np.arange(width) < sizes[:, None]
    places = (starts[:, None] + np.arange(width))[inside]
    out[inside] = flat[places]
    return out
