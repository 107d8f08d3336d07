"""The best candidates of every class, out of any number, in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

__all__ = ["Pool", "Row", "lot"]

Row = Mapping[str, Any]
"""A candidate as it stands in a table (see ``boxpen.build.discourse.mine.SCHEMA``)."""


def lot(seed: int, name: str) -> int:
    """Return a number that a seed and a name decide, in whatever order lots are drawn."""
    digest = hashlib.blake2b(f"{seed}\t{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


class Pool:
    """Keeps so many candidates of every class: those with the best scores, each text once.

    Of several candidates with the same text the best stays. Lots decide between equals, so that
    neither the order of the candidates nor the place of their documents matters.

    Args:
        size: Candidates of a class.
        seed: Decides the lots.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._kept: dict[str, dict[str, tuple[_Merit, Row]]] = {}
        self._least: dict[str, _Merit] = {}
        self.duplicates = 0
        """Candidates whose text was in the pool when they came."""

    def add(self, row: Row) -> None:
        """Keep a candidate, unless there are enough better ones."""
        cls, text = row["class"], row["text"]
        merit = (-row["score"], lot(self._seed, row["id"]), row["document"], row["line"])
        kept = self._kept.setdefault(cls, {})
        before = kept.get(text)
        if before is not None:
            self.duplicates += 1
        if before is not None and before[0] <= merit:
            return
        if cls in self._least and merit > self._least[cls]:
            return
        kept[text] = (merit, row)
        if len(kept) >= 2 * self._size:  # seldom, so that it costs little
            self._cut(cls)

    def rows(self) -> list[Row]:
        """Return what was kept: classes in the order of their names, the best first."""
        for cls in self._kept:
            self._cut(cls)
        return [row for cls in sorted(self._kept) for _, row in self._kept[cls].values()]

    def _cut(self, cls: str) -> None:
        best = sorted(self._kept[cls].items(), key=lambda entry: entry[1][0])[: self._size]
        self._kept[cls] = dict(best)
        if len(best) == self._size:
            self._least[cls] = best[-1][1][0]


_Merit = tuple[float, int, str, int]
"""Less is better."""
