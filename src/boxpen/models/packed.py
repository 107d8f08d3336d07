"""Decoders run on prefix trees: no token is padded, no shared beginning computed twice.

A pack is a few rows of a tree side by side. Position ids are depths, and the attention mask lets
every node see its ancestors only, so that each path down the tree is computed as if it were alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxpen.models.base import Scores
from boxpen.models.flex import BLOCK, block_mask
from boxpen.models.head import Head
from boxpen.models.norms import fused_norms, norms_of
from boxpen.scoring.tree import Ints, Row, Tree

if TYPE_CHECKING:
    import torch

__all__ = ["Pack", "PackedDecoder", "Reading", "pack_of", "packs"]

_WIDTH = 192  # nodes of a row: wider, and attention costs more than shared beginnings save
_WAITING = 3  # packs whose rows may wait for others of their width
_FLEX = 2048  # nodes of a row beyond which a dense mask is dear, and FlexAttention pays on a GPU


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
        ids: (rows, width), filled up on the right.
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
        tokens: Most nodes of a pack.
        width: Wanted nodes of a row.
        limit: Most nodes of a row; as many as a pack may have, if None.
        size: Most requests of a pack.
        stems: Whether stems are cut off.
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
    """Return how much of a pack would be no filling."""
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
    align = BLOCK if wide > _FLEX else align
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


class PackedDecoder:
    """A decoder that takes position ids and attention masks, run on packs.

    Args:
        body: The module without its output layer.
        head: Its output layer.
        device: Where it computes.
        dtype: Its floating-point type.
        flex: Whether very wide rows take FlexAttention.

    Attributes:
        computed: How many positions were computed so far, stems and filling included.
    """

    def __init__(
        self,
        body: Any,
        head: Head,
        device: torch.device,
        dtype: torch.dtype,
        *,
        flex: bool = False,
    ) -> None:
        self._body = body
        self._flex = flex
        self._head = head
        self._device = device
        self._dtype = dtype
        self._stem: _Stem | None = None
        self.computed = 0
        self._compiled = hasattr(body, "_orig_mod")  # and fused already
        self._norms = norms_of(body) if device.type == "cuda" and not self._compiled else []

    def run(self, pack: Pack, *, chunk: int, **more: Any) -> torch.Tensor:
        """Return the log-probabilities of a pack's targets.

        Args:
            pack: What to run.
            chunk: Most tokens of a stem that are run at a time.
            **more: What the body is given besides.
        """
        import torch

        with torch.inference_mode():
            stem = self._stem_of(pack.stem, chunk) if len(pack.stem) else None
            if stem is not None:
                more = {**more, "past_key_values": stem.cache()}
            hidden = self.forward(
                self._moved(pack.ids), self._moved(pack.depths), self._mask(pack), **more
            ).flatten(0, 1)  # (positions, width)
            wanted = pack.wanted - len(pack.stem)
            below = wanted >= 0
            if below.all():
                return self._values(hidden, wanted, pack.targets)
            assert stem is not None
            out = torch.empty(len(wanted), device=self._device)
            out[self._moved(below)] = self._values(hidden, wanted[below], pack.targets[below])
            out[self._moved(~below)] = stem.values(self, pack.wanted[~below], pack.targets[~below])
            return out

    def forward(
        self, ids: torch.Tensor, depths: torch.Tensor, mask: Any, **more: Any
    ) -> torch.Tensor:
        """Return the hidden states of rows."""
        import torch

        self.computed += ids.numel()
        more.setdefault("use_cache", "past_key_values" in more)
        dense = isinstance(mask, torch.Tensor)
        with self._attention(dense=dense), fused_norms(self._norms), self._quick_start():
            hidden: torch.Tensor = self._body(
                input_ids=ids, position_ids=depths, attention_mask=mask, **more
            )[0]
        return hidden

    @contextlib.contextmanager
    def _attention(self, *, dense: bool) -> Iterator[None]:
        """Take FlexAttention for a while, if the mask is not dense."""
        if dense:
            yield
            return
        before = self._body.config._attn_implementation
        self._body.set_attn_implementation("flex_attention")
        try:
            yield
        finally:
            self._body.set_attn_implementation(before)

    @contextlib.contextmanager
    def _quick_start(self) -> Iterator[None]:
        """Keep cuDNN's attention out for a while: it is planned anew for every shape."""
        import torch

        flags: Any = torch.backends.cuda
        if self._device.type != "cuda" or self._compiled or not flags.cudnn_sdp_enabled():
            yield
            return
        flags.enable_cudnn_sdp(False)
        try:
            yield
        finally:
            flags.enable_cudnn_sdp(True)

    def forget(self) -> None:
        """Let go of the stem that was kept, and of the memory it takes."""
        self._stem = None

    def _values(self, hidden: torch.Tensor, rows: Ints, targets: Ints) -> torch.Tensor:
        return self._head.log_probabilities(hidden, rows, targets)

    def _stem_of(self, tokens: Ints, chunk: int) -> _Stem:
        """Return the keys, values and hidden states of a stem; the last one is kept."""
        if self._stem is None or not np.array_equal(self._stem.tokens, tokens):
            self._stem = None  # frees its memory first
            self._stem = _Stem(tokens, *self._run_stem(tokens, chunk))
        return self._stem

    def _run_stem(self, tokens: Ints, chunk: int) -> tuple[list[Any], torch.Tensor]:
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        hidden = []
        for start in range(0, len(tokens), chunk):
            part = tokens[start : start + chunk]
            places = np.arange(start, start + len(part))
            seen = np.arange(start + len(part))[None, :] <= places[:, None]
            mask = self._additive(self._moved(seen[None, None]))
            ids, depths = self._moved(part[None]), self._moved(places[None])
            hidden.append(self.forward(ids, depths, mask, past_key_values=cache)[0])
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        return layers, torch.cat(hidden)

    def _mask(self, pack: Pack) -> Any:
        """Return which node sees which: (rows, 1, width, stem + width), to be added."""
        import torch

        if self._flex and pack.ids.shape[1] > _FLEX and len(pack.ids) == 1 and not len(pack.stem):
            return block_mask(pack.exits[0], self._device)

        width = pack.ids.shape[1]
        places = torch.arange(width, device=self._device)
        exits = self._moved(pack.exits)
        q, k = places[None, :, None], places[None, None, :]
        seen = (k <= q) & (q < exits[:, None, :])  # (rows, width, width)
        if len(pack.stem):
            stem = seen.new_ones(len(seen), width, len(pack.stem))
            seen = torch.cat([stem, seen], dim=-1)
        return self._additive(seen[:, None])

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        import torch

        zero = torch.zeros((), dtype=self._dtype, device=self._device)
        return torch.where(seen, zero, torch.finfo(self._dtype).min)

    def _moved(self, array: NDArray[Any]) -> torch.Tensor:
        import torch

        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":  # or else the GPU would be waited for
            tensor = tensor.pin_memory()
        return tensor.to(self._device, non_blocking=True)


class _Stem:
    """What the rows below a stem need of it."""

    def __init__(self, tokens: Ints, layers: list[Any], hidden: torch.Tensor) -> None:
        self.tokens = tokens
        self._layers = layers
        self._hidden = hidden  # (stem, width)
        self._known: dict[tuple[int, int], float] = {}

    def cache(self) -> Any:
        """Return a cache that a forward pass may append to."""
        from transformers import DynamicCache

        return DynamicCache(self._layers)

    def values(self, decoder: PackedDecoder, rows: Ints, targets: Ints) -> torch.Tensor:
        """Return the log-probabilities of targets that the stem predicts, each computed once."""
        import torch

        pairs = list(zip(rows.tolist(), targets.tolist(), strict=True))
        new = list(dict.fromkeys(p for p in pairs if p not in self._known))
        if new:
            where, what = (np.array(side) for side in zip(*new, strict=True))
            found = decoder._values(self._hidden, where, what)
            self._known.update(zip(new, found.tolist(), strict=True))
        return torch.tensor([self._known[p] for p in pairs], device=self._hidden.device)
