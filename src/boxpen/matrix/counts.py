"""What scoring would compute, counted without computing it; as ``Tally`` counts what was.

The counts are those of the engine: a prefix tree for a causal model, distinct copies for masked and
permuted ones, every source once for those with an encoder. What is not run by that engine shares
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from boxpen.models.base import Encoded, Model, ResolvedPolicy
from boxpen.models.hf import TransformersModel
from boxpen.models.masked import masked_copies
from boxpen.scoring.requests import Request
from boxpen.scoring.tree import Tree

__all__ = ["Counts", "count"]

_START = -1  # what a decoder reads first
_HIDDEN = -1
_CHUNK = 1 << 14  # requests that are tokenised at a time


class Counts(NamedTuple):
    """Positions: if every request were run alone, and with what is shared."""

    tokens: int = 0
    nodes: int = 0


def count(model: Model, requests: Sequence[Request], policy: ResolvedPolicy) -> Counts:
    """Count what scoring requests would compute.

    For a model whose tokens are not known, behind an API, that is nothing.
    """
    chunks = (requests[at : at + _CHUNK] for at in range(0, len(requests), _CHUNK))
    encoded = itertools.chain.from_iterable(model.encode(few, policy) for few in chunks)
    distinct = list(dict.fromkeys(one for one in encoded if one.scored))
    groups: Iterable[Sequence[Encoded]] = [distinct]
    if model.deterministic:
        groups = [[one] for one in distinct]  # every text by itself
    counts = [_counted(model, group, policy) for group in groups]
    return Counts(sum(c.tokens for c in counts), sum(c.nodes for c in counts))


def _counted(model: Model, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Counts:
    if not isinstance(model, TransformersModel):
        return _alone(encoded)
    if model.kind == "causal":
        # Nothing is predicted from the last token, so it is not read.
        tree = Tree([one.ids[: one.scored[-1]] for one in encoded])
        return Counts(tree.tokens, tree.nodes)
    if model.kind in ("masked", "permuted"):
        return _copies(model, encoded, policy)
    if model.kind == "seq2seq" and not any(one.context or one.aside for one in encoded):
        return _decoded(encoded)
    return _alone(encoded)


def _alone(encoded: Sequence[Encoded]) -> Counts:
    tokens = sum(len(e.ids) + len(e.source) + len(e.context) + len(e.aside) for e in encoded)
    return Counts(tokens, tokens)


def _copies(model: Model, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Counts:
    tokens = nodes = 0
    lengths = sorted(encoded, key=lambda one: len(one.ids))
    for length, members in itertools.groupby(lengths, key=lambda one: len(one.ids)):
        seen: set[int] = set()  # hashes: copies are many, and all in memory
        made = 0
        for one in members:
            for copy in _copies_of(model, one, policy):
                seen.add(hash(copy))
                made += 1
        tokens += made * length
        nodes += len(seen) * length
    return Counts(tokens, nodes)


def _copies_of(model: Model, one: Encoded, policy: ResolvedPolicy) -> Iterator[object]:
    if model.kind == "permuted":
        yield from ((one.ids, place) for place in one.scored)
    elif policy.pll == "unmasked":
        yield one.ids
    else:
        yield from masked_copies(one, _HIDDEN, whole_word=bool(one.words))


def _decoded(encoded: Sequence[Encoded]) -> Counts:
    targets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for one in encoded:
        read = (_START, *one.ids)[: one.scored[-1] + 1]
        targets.setdefault(one.source, []).append(read)
    tokens = sum(len(read) + len(source) for source, few in targets.items() for read in few)
    nodes = sum(len(source) + Tree(few).nodes for source, few in targets.items())
    return Counts(tokens, nodes)
