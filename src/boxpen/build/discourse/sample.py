"""A sample of candidates of every class, spread over documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from boxpen.build.discourse.pool import Row, lot

__all__ = ["Sampled", "sample_candidates"]


@dataclass(frozen=True)
class Sampled:
    """What was drawn.

    Attributes:
        rows: The candidates, classes in the order in which they are wanted, first drawn first.
        short: Classes with fewer than were wanted, and how many they have.
        left_out: How many were passed over, by reason; not counted are those behind the last
            one that was drawn.
        dropped: All others, with the reason.
    """

    rows: list[Row]
    short: dict[str, int]
    left_out: dict[str, int]
    dropped: list[tuple[Row, str]]


def sample_candidates(
    rows: Sequence[Row],
    wanted: Mapping[str, int],
    seed: int,
    *,
    per_document: int = 2,
    by: Literal["score", "random"] = "score",
) -> Sampled:
    """Draw candidates of every class.

    No current sentence appears twice in a class, whatever comes before it. A candidate's lot
    depends on the seed and its id alone, so that neither the order of the rows nor other classes
    change what is drawn.

    Args:
        rows: Candidates.
        wanted: How many of every class.
        seed: Decides the lots.
        per_document: Most candidates of a class from one document.
        by: Who comes first: the best, lots deciding between equals; or whoever has the first lot.
    """
    drawn: list[Row] = []
    short: dict[str, int] = {}
    left_out = Counter({"document": 0, "sentence": 0})
    dropped: list[tuple[Row, str]] = []
    by_class: dict[str, list[Row]] = {name: [] for name in wanted}
    for row in rows:
        if row["class"] in by_class:
            by_class[row["class"]].append(row)
        else:
            dropped.append((row, "the class is not wanted"))
    for name, count in wanted.items():
        taken = _taken(by_class[name], count, seed, per_document, by, left_out, dropped)
        drawn += taken
        if len(taken) < count:
            short[name] = len(taken)
    return Sampled(drawn, short, dict(left_out), dropped)


def _taken(
    rows: Sequence[Row],
    count: int,
    seed: int,
    per_document: int,
    by: str,
    left_out: Counter[str],
    dropped: list[tuple[Row, str]],
) -> list[Row]:
    def place(row: Row) -> tuple[float, int, str]:
        return (-row["score"] if by == "score" else 0.0, lot(seed, row["id"]), row["id"])

    documents: Counter[str] = Counter()
    sentences: set[str] = set()
    taken: list[Row] = []
    for row in sorted(rows, key=place):
        sentence = row["text"].partition("\t")[2]
        if len(taken) == count:
            dropped.append((row, f"the class has {count} already"))
        elif sentence in sentences:
            left_out["sentence"] += 1
            dropped.append((row, "the sentence was drawn before"))
        elif documents[row["document"]] == per_document:
            left_out["document"] += 1
            dropped.append((row, f"the document has {per_document} of the class already"))
        else:
            sentences.add(sentence)
            documents[row["document"]] += 1
            taken.append(row)
    return taken
