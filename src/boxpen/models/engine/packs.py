"""Packs: rows of prefix trees side by side, with what is wanted of each.

Position ids are depths, and the exits of the nodes say which of them a node may look at, so that
each path down a tree can be computed as if it were alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from boxpen.models.base import Scores
from boxpen.models.engine.flex import BLOCK
from boxpen.scoring.tree import Ints, Row, Tree

if TYPE_CHECKING:
    import torch

__all__ = ["FLEX", "Pack", "Reading", "pack_of", "packs"]

_WIDTH = 192  # nodes of a row: wider, and attention costs more than shared beginnings save
_WAITING = 3  # packs whose rows may wait for others of their width
FLEX = 2048  # nodes of a row beyond which a dense mask is dear, and FlexAttention pays on a GPU


class Reading(NamedTuple):
    """What a decoder reads of one request, and what is wanted of it.

    Attributes:
        tokens: What it reads.
        places: The positions whose logits are wanted.
        targets: The token that each of them predicts.
    """

    tokens: Sequence[int]
    places: Sequence[int]
    targets: Sequence[int]


@dataclass(frozen=True, slots=True)
class Pack:
    """Rows that are run together, and what is wanted of them.

    Positions are counted through: first the stem, if any, then row after row.

    Attributes:
        members: The requests that are scored here.
        stem: Tokens that were cut off above the (single) row.
        ids: (rows, width), padded on the right.
        depths: (rows, width).
        exits: (rows, width); what fills up a row sees itself only.
        wanted: The position that predicts each scored token of each member.
        targets: These tokens.
        ends: Where the tokens of each member end.
    """

    members: tuple[int, ...]
    stem: Ints
    ids: Ints
    depths: Ints
    exits: Ints
    wanted: Ints
    targets: Ints
    ends: Ints

    @property
    def computed(self) -> int:
        """How many positions are computed, filling included, the stem not."""
        return int(self.ids.size)

    def shared_out(self, values: torch.Tensor) -> Scores:
        """Return what belongs to each member."""
        every, ends = values.cpu().numpy(), self.ends.tolist()
        begins = [0, *ends[:-1]]
        return [(m, every[a:b]) for m, a, b in zip(self.members, begins, ends, strict=True)]


class _Line(NamedTuple):
    """A row that waits for a pack, and the requests that its paths belong to."""

    row: Row
    members: list[int]
    stem: Ints


def packs(
    readings: Sequence[Reading],
    trees: Iterable[tuple[Sequence[int], Tree]],
    tokens: int,
    *,
    width: int = _WIDTH,
    limit: int | None = None,
    size: int | None = None,
    stems: bool = True,
    align: int = 1,
) -> Iterator[Pack]:
    """Put requests into packs, the widest rows first.

    Rows of several trees share packs: some wait for others of their width, but those of the first
    tree do not, so that there is something to run.

    Args:
        readings: What is read of all requests.
        trees: Some of them, and what is read of them as a tree.
        tokens: Maximum nodes per pack.
        width: Target number of nodes per row.
        limit: Maximum nodes per row; ``tokens`` if None.
        size: Maximum requests per pack.
        stems: Whether to cut off stems.
        align: What the width of a pack is a multiple of.
    """
    limit = tokens if limit is None else min(tokens, limit)
    waiting: list[_Line] = []
    made = 0
    for members, tree in trees:
        spans = tree.spans(width=width, limit=limit, size=size, stems=stems)
        lines = [
            _Line(row, [members[m] for m in tree.order[s.start : s.stop]], tree.stem(s))
            for s, row in zip(spans, tree.rows(spans), strict=True)
        ]
        waiting = sorted(
            [*waiting, *(line for line in lines if not len(line.stem))],
            key=lambda line: -len(line.row.tokens),
        )
        groups = _grouped(waiting, tokens, size)
        if made:  # the fullest go; the others may find rows of their width
            groups[:-1] = sorted(groups[:-1], key=_filled, reverse=True)
            kept = 1 + min(_WAITING, made // 4)
            groups, late = groups[:-kept], groups[-kept:]
            waiting = [line for few in late for line in few]
        else:
            waiting = []
        groups += [[line] for line in lines if len(line.stem)]  # in their order, each by itself
        for few in filter(None, groups):
            yield _pack(few, readings, align)
            made += 1
    waiting.sort(key=lambda line: -len(line.row.tokens))
    for few in filter(None, _grouped(waiting, tokens, size)):
        yield _pack(few, readings, align)


def _grouped(lines: Sequence[_Line], tokens: int, size: int | None) -> list[list[_Line]]:
    """Cut lines into groups that fill a pack each; the last one may not."""
    groups: list[list[_Line]] = [[]]
    held = 0
    for line in lines:
        few = groups[-1]
        if few and (
            (len(few) + 1) * len(few[0].row.tokens) > tokens
            or (size is not None and held + len(line.members) > size)
        ):
            groups.append([])
            held = 0
        groups[-1].append(line)
        held += len(line.members)
    return groups


def _filled(lines: Sequence[_Line]) -> float:
    """Return the share of a pack that would not be padding."""
    widths = [len(line.row.tokens) for line in lines]
    return sum(widths) / (len(widths) * max(widths))


def _pack(lines: Sequence[_Line], readings: Sequence[Reading], align: int) -> Pack:
    rows, members = [line.row for line in lines], [line.members for line in lines]
    return pack_of(rows, members, readings, lines[0].stem, align=align)


def pack_of(
    rows: Sequence[Row],
    members: Sequence[Sequence[int]],
    readings: Sequence[Reading],
    stem: Ints | None = None,
    *,
    align: int = 1,
) -> Pack:
    """Put rows side by side.

    Args:
        rows: The rows.
        members: For every row, the requests that its paths belong to.
        readings: What is read of all requests.
        stem: What was cut off above the (single) row.
        align: What the width is a multiple of.
    """
    stem = np.zeros(0, dtype=np.int64) if stem is None else stem
    wide = max(len(row.tokens) for row in rows)
    align = BLOCK if wide > FLEX else align
    wide = -(-wide // align) * align
    ids = np.zeros((len(rows), wide), dtype=np.int64)
    depths = np.zeros_like(ids)
    exits = np.tile(np.arange(1, wide + 1), (len(rows), 1))
    for r, row in enumerate(rows):
        count = len(row.tokens)
        ids[r, :count], depths[r, :count], exits[r, :count] = row.tokens, row.depths, row.exits

    everyone = [m for who in members for m in who]
    places = [readings[m].places for m in everyone]
    counts = [len(p) for p in places]
    place = np.fromiter(chain.from_iterable(places), dtype=np.int64, count=sum(counts))
    targets = np.fromiter(
        chain.from_iterable(readings[m].targets for m in everyone), np.int64, len(place)
    )
    # Where the path of each member begins, among all paths one after the other.
    paths = np.concatenate([row.paths + r * wide for r, row in enumerate(rows)])
    lengths = np.concatenate([np.diff(row.ends, prepend=0) for row in rows])
    begins = np.repeat(np.cumsum(lengths) - lengths, counts)
    below = place >= len(stem)
    wanted = place.copy()  # in the stem
    wanted[below] = paths[(begins + place - len(stem))[below]] + len(stem)
    return Pack(
        members=tuple(everyone),
        stem=stem,
        ids=ids,
        depths=depths,
        exits=exits,
        wanted=wanted,
        targets=targets,
        ends=np.cumsum(counts),
    )
