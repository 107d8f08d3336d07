"""The prefix tree: what many token sequences have in common is computed once.

Sorted, sequences that begin alike are neighbours, and what each shares with the one before it says
all there is to know about the tree: a sequence adds one node for every token past that. Depth
first, a node comes before all its descendants, and they are contiguous:

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
        paths: The nodes from the stem down to the end of each sequence, one after the other.
        ends: Where the path of each sequence ends.
    """

    tokens: Ints
    depths: Ints
    exits: Ints
    paths: Ints
    ends: Ints


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
        lengths = [len(sequences[i]) for i in self.order]
        self._lengths = np.array(lengths, dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        tokens = itertools.chain.from_iterable(sequences[i] for i in self.order)
        self._tokens = np.fromiter(tokens, dtype=np.int64, count=sum(lengths))
        # What each shares with the one before it; the first shares nothing.
        self._shared = _shared(self._tokens, self._lengths)
        # For the loop that cuts: the numbers of an array are slow to take one by one.
        self._plain_lengths, self._plain_shared = lengths, self._shared.tolist()
        # Nodes of the sequences up to each, so that a range is one subtraction.
        self._upto = np.concatenate([[0], np.cumsum(self._lengths - self._shared)])
        self.nodes = int(self._upto[-1])
        self.tokens = int(self._lengths.sum())

    def spans(
        self, *, width: int, limit: int, size: int | None = None, stems: bool = True
    ) -> list[Span]:
        """Cut the tree into rows.

        Args:
            width: Target number of nodes per row; rows get longer where a cut is expensive.
            limit: Maximum nodes per row, unless a single sequence has more.
            size: Maximum sequences per row.
            stems: Whether to cut off long shared prefixes.
        """
        width = min(width, limit)
        cuts = _Cuts(width, limit, size, stems)
        if not self.order:
            return []
        if stems and size is None:
            return list(self._with_stems(0, len(self.order), 0, cuts))
        return list(self._rows(0, len(self.order), 0, cuts))

    def rows(self, spans: Sequence[Span]) -> list[Row]:
        """Return the nodes of neighbouring spans."""
        if not spans:
            return []
        low, high = spans[0].start, spans[-1].stop
        sizes = [len(span) for span in spans]
        stem = np.repeat([span.stem for span in spans], sizes)
        kept = self._shared[low:high] - stem  # nodes of the sequence before that it passes again
        kept[[span.start - low for span in spans]] = 0
        length = self._lengths[low:high] - stem

        # One entry for every token below a stem: whose it is, and how deep.
        whose = np.repeat(np.arange(high - low), length)
        begins = np.cumsum(length) - length
        depth = np.arange(len(whose)) - begins[whose]
        new = depth >= kept[whose]
        passed = _passed(depth, new)
        count = np.cumsum(length - kept)  # nodes up to the end of each sequence
        exits = np.empty(int(count[-1]), dtype=np.int64)
        exits[passed] = count[whose]  # of all that pass a node, the last one stays

        tokens = self._tokens[(self._starts[low:high] + stem)[whose] + depth][new]
        depths = (depth + stem[whose])[new]
        out, node, entry, at = [], 0, 0, 0
        for span, size in zip(spans, sizes, strict=True):
            ends = begins[at : at + size] + length[at : at + size] - entry
            nodes = slice(node, node + span.nodes)
            path = passed[entry : entry + int(ends[-1])] - node
            out.append(Row(tokens[nodes], depths[nodes], exits[nodes] - node, path, ends))
            node, entry, at = nodes.stop, entry + int(ends[-1]), at + size
        assert node == len(exits)
        return out

    def stem(self, span: Span) -> Ints:
        """Return the tokens of a span's stem."""
        start = int(self._starts[span.start])
        return self._tokens[start : start + span.stem]

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
        count = self._plain_lengths[start] - stem
        cut, cheapest, cost = 0, 0, 0.0
        for end in range(start + 1, stop):
            if end - start == cuts.size:
                return end
            shared = self._plain_shared[end] - stem
            # A row that is half full may be closed; what is computed again is weighed against it.
            if 2 * count >= cuts.width and (not cut or shared <= cost * count):
                cut, cheapest, cost = end, shared, shared / count
            count += self._plain_lengths[end] - stem - shared
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


def _shared(tokens: Ints, lengths: Ints) -> Ints:
    """Return how many tokens each sequence begins with in common with the one before it.

    Args:
        tokens: Those of all sequences, one after the other.
        lengths: How many each has.
    """
    before = np.concatenate([[0], lengths[:-1]]) if len(lengths) else lengths
    starts = np.cumsum(lengths) - lengths
    depth = np.arange(len(tokens)) - np.repeat(starts, lengths)
    back = np.repeat(before, lengths)  # so far back stands the same depth of the one before
    other = (depth >= back) | (tokens != tokens[np.arange(len(tokens)) - back])
    first = np.where(other, depth, len(tokens))  # where the two part
    out = np.zeros(len(lengths), dtype=np.int64)
    some = lengths > 0
    if some.any():
        out[some] = np.minimum.reduceat(first, starts[some])
    shared: Ints = np.minimum(out, lengths)
    return shared


def _passed(depth: Ints, new: NDArray[np.bool_]) -> Ints:
    """Return the node that each entry passes, numbered in the order in which they are new.

    An entry that is not new passes the last new node of its depth: what a sequence shares with the
    one before it, it passes where that one does.
    """
    node = np.where(new, np.cumsum(new) - 1, -1)
    small = depth.astype(np.uint16) if depth.max(initial=0) < 1 << 16 else depth
    order = np.argsort(small, kind="stable")
    layer = depth[order] * len(depth)  # keeps the depths apart
    out = np.empty_like(node)
    out[order] = np.maximum.accumulate(node[order] + layer) - layer
    return out
