"""The best candidates of every class, out of any number, and a sample spread over documents."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from boxpen.build.tables import Row

__all__ = ["Pool", "Sampled", "lot", "sample_candidates"]

_Merit = tuple[float, int, str, int]
"""Less is better."""


def lot(seed: int, name: str) -> int:
    """Return a number that depends on a seed and a name alone, not on the order of lots."""
    digest = hashlib.blake2b(f"{seed}\t{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


class Pool:
    """Keeps the best candidates of every class, each text once, in bounded memory.

    Lots decide between equals, so that neither the order of the candidates nor the place of their
    documents matters.

    Args:
        size: Candidates per class.
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
            if before[0] <= merit:
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


@dataclass(frozen=True)
class Sampled:
    """What was drawn.

    Attributes:
        rows: The candidates, classes in the order in which they are wanted, first drawn first.
        short: Classes with fewer than were wanted, and how many they have.
        left_out: How many were passed over for a "document" or a "sentence" that had its share.
        dropped: All others, with the reason.
    """

    rows: list[Row] = field(default_factory=list)
    short: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=lambda: {"document": 0, "sentence": 0})
    dropped: list[tuple[Row, str]] = field(default_factory=list)


def sample_candidates(
    rows: Sequence[Row],
    wanted: Mapping[str, int],
    seed: int,
    *,
    per_document: int = 2,
    per_sentence: int = 1,
    by: Literal["score", "random"] = "score",
) -> Sampled:
    """Draw candidates of every class.

    A candidate's lot depends on the seed and its id alone, so that neither the order of the rows
    nor other classes change what is drawn.

    Args:
        rows: Candidates.
        wanted: Number per class.
        seed: Decides the lots.
        per_document: Maximum candidates of a class from one document.
        per_sentence: How often a class may have the same current sentence, after other contexts.
        by: What comes first: the best, lots deciding between equals; or the first lot.
    """

    def place(row: Row) -> tuple[float, int, str]:
        return (-row["score"] if by == "score" else 0.0, lot(seed, row["id"]), row["id"])

    out = Sampled()
    out.dropped.extend(
        (row, "the class is not wanted") for row in rows if not wanted.get(row["class"])
    )
    for name, count in wanted.items():
        documents: Counter[str] = Counter()
        sentences: Counter[str] = Counter()
        taken: list[Row] = []
        for row in sorted((row for row in rows if count and row["class"] == name), key=place):
            sentence = row["text"].partition("\t")[2]
            if len(taken) == count:
                out.dropped.append((row, f"the class has {count} already"))
            elif sentences[sentence] == per_sentence:
                out.left_out["sentence"] += 1
                out.dropped.append((row, "the sentence was drawn before"))
            elif documents[row["document"]] == per_document:
                out.left_out["document"] += 1
                reason = f"the document has {per_document} of the class already"
                out.dropped.append((row, reason))
            else:
                sentences[sentence] += 1
                documents[row["document"]] += 1
                taken.append(row)
        out.rows.extend(taken)
        if len(taken) < count:
            out.short[name] = len(taken)
    return out
