"""The prefix tree: what many token sequences have in common is computed once.

Sorted, sequences that begin alike are neighbours, and what each shares with the one before it says
all there is to know about the tree: a sequence adds one node for every token past that. Depth
first, a node stands before all its descendants, and they stand together:

    the box is in        node    0    1    2    3    4    5
    the box was          token   the  box  is   in   was  pen
    the pen              depth   0    1    2    3    2    1
                         exit    6    5    4    4    5    6

so that the node at ``q`` may look at the node at ``k`` if and only if ``k <= q < exit[k]``.

The tree is cut into rows, each small enough for one attention matrix, at places where little is
shared, for what is shared across a cut is computed once in each row. Where very many sequences
share a long beginning (a prompt with examples in it), that *stem* is cut off instead: it is run
once, and the rows below it take up its keys and values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Row", "Span", "Tree"]

Ints = NDArray[np.int64]

_DEAR = 4  # a cut that shares more than 1/4 of a row's width is put off, up to the limit
_WORTH = 1024  # nodes that a stem must save; fewer are sooner computed again


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring sequences that are run as one row.

    Attributes:
        start: Number of the first one, in the order of the tree.
        stop: One past the last.
        stem: How many tokens, shared by all, are cut off and run once beforehand.
        nodes: How many nodes the row has, without the stem.
    """

    start: int
    stop: int
    stem: int
    nodes: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Row:
    """The nodes of one span, depth first, and the way down to the end of every sequence.

    Attributes:
        tokens: The token of every node.
        depths: Its position in its sequences, counted from the root; the stem counts.
        exits: One past its last descendant.
        paths: For every sequence of the span, the nodes from the stem down to its end.
    """

    tokens: Ints
    depths: Ints
    exits: Ints
    paths: tuple[Ints, ...]


class Tree:
    """The prefix tree of some sequences, kept as their sorted order.

    Args:
        sequences: Tokens; equal ones and ones that begin another are welcome.

    Attributes:
        order: For every place in the tree's order, the number of the sequence as given.
        nodes: How many nodes the tree has.
        tokens: How many tokens the sequences have together.
    """

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        self.order = sorted(range(len(sequences)), key=lambda i: tuple(sequences[i]))
        self._sequences = [np.array(sequences[i], dtype=np.int64) for i in self.order]
        self._lengths = np.array([len(s) for s in self._sequences], dtype=np.int64)
        # What each shares with the one before it; the first shares nothing.
        self._shared = _shared(self._sequences, self._lengths)
        # Nodes of the sequences up to each, so that a range is one subtraction.
        self._upto = np.concatenate([[0], np.cumsum(self._lengths - self._shared)])
        self.nodes = int(self._upto[-1])
        self.tokens = int(self._lengths.sum())

    def spans(
        self, *, width: int, limit: int, size: int | None = None, stems: bool = True
    ) -> list[Span]:
        """Cut the tree into rows.

        Args:
            width: Nodes of a row, wanted; a dear cut makes a row longer.
            limit: Most nodes of a row, unless a single sequence has more.
            size: Most sequences of a row.
            stems: Whether long shared beginnings are cut off.
        """
        width = min(width, limit)
        cuts = _Cuts(width, limit, size, stems)
        if not self.order:
            return []
        if stems and size is None:
            return list(self._with_stems(0, len(self.order), 0, cuts))
        return list(self._rows(0, len(self.order), 0, cuts))

    def row(self, span: Span) -> Row:
        """Return the nodes of a span."""
        tokens = np.empty(span.nodes, dtype=np.int64)
        depths = np.empty(span.nodes, dtype=np.int64)
        exits = np.empty(span.nodes, dtype=np.int64)
        longest = int(self._lengths[span.start : span.stop].max())
        path = np.empty(max(0, longest - span.stem), dtype=np.int64)  # the way to the last node
        paths, count, deep = [], 0, 0
        for i in range(span.start, span.stop):
            sequence = self._sequences[i]
            kept = int(self._shared[i]) - span.stem if i > span.start else 0
            exits[path[kept:deep]] = count  # these have no more descendants
            deep = len(sequence) - span.stem
            new = slice(count, count + deep - kept)
            tokens[new] = sequence[span.stem + kept :]
            depths[new] = np.arange(span.stem + kept, len(sequence))
            path[kept:deep] = np.arange(new.start, new.stop)
            paths.append(path[:deep].copy())
            count = new.stop
        exits[path[:deep]] = count
        assert count == span.nodes
        return Row(tokens, depths, exits, tuple(paths))

    def stem(self, span: Span) -> Ints:
        """Return the tokens of a span's stem."""
        return self._sequences[span.start][: span.stem]

    def _nodes(self, start: int, stop: int, stem: int) -> int:
        """Count the nodes of some neighbours below a stem."""
        below = self._upto[stop] - self._upto[start + 1]
        return int(below + self._lengths[start] - stem)

    def _with_stems(self, start: int, stop: int, stem: int, cuts: _Cuts) -> Iterator[Span]:
        """Cut off the stems of groups too large for a row, and cut the rest into rows."""
        # A group shares so much that computing it again in every row would be dear.
        far = stem + max(1, cuts.limit // (2 * _DEAR))
        edges = np.flatnonzero(self._shared[start + 1 : stop] < far) + start + 1
        bounds = [start, *edges.tolist(), stop]
        done = start
        for low, high in itertools.pairwise(bounds):
            nodes = self._nodes(low, high, stem)
            if high - low < 2 or nodes <= cuts.limit:
                continue
            # Every sequence keeps a node of its own below the stem.
            common = int(min(self._shared[low + 1 : high].min(), self._lengths[low:high].min() - 1))
            if _again(high - low, common - stem, nodes, cuts.limit) < _WORTH:
                continue
            yield from self._rows(done, low, stem, cuts)
            yield from self._with_stems(low, high, common, cuts)
            done = high
        yield from self._rows(done, stop, stem, cuts)

    def _rows(self, start: int, stop: int, stem: int, cuts: _Cuts) -> Iterator[Span]:
        """Cut neighbours into rows."""
        while start < stop:
            end, above = stop, stem
            below = int(self._lengths[start]) - stem
            if below > cuts.limit and cuts.stems:
                # Deeper than a row: most of it becomes a stem, for those that share it.
                above = stem + (below - 1) // cuts.limit * cuts.limit
                apart = np.flatnonzero(self._shared[start + 1 : stop] < above)
                end = start + 1 + int(apart[0]) if len(apart) else stop
            cut = self._cut(start, end, above, cuts)
            yield Span(start, cut, above, self._nodes(start, cut, above))
            start = cut

    def _cut(self, start: int, stop: int, stem: int, cuts: _Cuts) -> int:
        """Return where a row that starts here ends: where the least is shared."""
        count = int(self._lengths[start]) - stem
        cut, cheapest, cost = 0, 0, 0.0
        for end in range(start + 1, stop):
            if end - start == cuts.size:
                return end
            shared = int(self._shared[end]) - stem
            # A row that is half full may be closed; what is computed again is weighed against it.
            if 2 * count >= cuts.width and (not cut or shared <= cost * count):
                cut, cheapest, cost = end, shared, shared / count
            count += int(self._lengths[end] - self._shared[end])
            cheap = cut and _DEAR * cheapest <= cuts.width
            if count > cuts.limit or (count > cuts.width and cheap):
                return cut or end
        return stop


@dataclass(frozen=True, slots=True)
class _Cuts:
    """How a tree is cut: see ``Tree.spans``."""

    width: int
    limit: int
    size: int | None
    stems: bool


def _again(members: int, common: int, nodes: int, limit: int) -> int:
    """Count the nodes computed again if every row of a group repeats what all share."""
    room = limit - common
    rows = -(-(nodes - common) // room) if room > 0 else members
    return (rows - 1) * common


def _shared(sequences: Sequence[Ints], lengths: Ints) -> Ints:
    """Return how many tokens each sequence begins with in common with the one before it."""
    out = np.zeros(len(sequences), dtype=np.int64)
    start = 1
    while start < len(sequences):
        # As many as make a table of a few million entries.
        longest = max(1, int(lengths[start - 1 :].max()))
        stop = min(len(sequences), start + max(1, (1 << 22) // longest))
        table = np.full((stop - start + 1, longest), -1, dtype=np.int64)
        for row, sequence in zip(table, sequences[start - 1 : stop], strict=True):
            row[: len(sequence)] = sequence
        same = table[1:] == table[:-1]
        same &= (
            np.arange(longest)
            < np.minimum(lengths[start:stop], lengths[start - 1 : stop - 1])[:, None]
        )
        out[start:stop] = np.where(same.all(axis=1), longest, np.argmin(same, axis=1))
        start = stop
    return out
