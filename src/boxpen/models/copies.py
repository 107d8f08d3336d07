"""Scoring texts by copies of themselves: one for every hidden token.

Equal copies are run once for all the texts of a run. Two sentences that differ in one word become
equal when that word is masked, and ask the same copy for different tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from boxpen.models.base import Encoded, Scores

if TYPE_CHECKING:
    import torch

    from boxpen.models.hf import TransformersModel

__all__ = ["Copy", "run_copies"]

_WINDOW = 1 << 20  # tokens of copies that are made before they are run


class Copy(NamedTuple):
    """What the model reads, and the place that is hidden in it without a mask token, if any."""

    ids: tuple[int, ...]
    hidden: int = -1


Wanted = tuple[int, int, int]
"""Row of a batch, column, token."""


def run_copies(
    model: TransformersModel,
    encoded: Sequence[Encoded],
    copies: Callable[[Encoded], Iterable[tuple[Copy, Sequence[int]]]],
    run: Callable[[Sequence[Copy], Sequence[Wanted]], torch.Tensor],
) -> Iterator[Scores]:
    """Score requests by their copies, the longest first.

    Args:
        model: Counts and bounds what is run.
        encoded: The requests.
        copies: Yields the copies of a request, each with the numbers of the scored tokens that
            it answers for.
        run: Runs a batch of copies.
    """
    out = [np.zeros(len(e.scored), dtype=np.float32) for e in encoded]
    left = [len(e.scored) for e in encoded]
    for made in _windows(encoded, copies, model):
        distinct = list(made)

        def batch_run(
            few: Sequence[int], made: dict[Copy, list[tuple[int, int]]] = made,
            distinct: Sequence[Copy] = distinct,
        ) -> torch.Tensor:  # fmt: skip
            wanted = [
                (row, encoded[r].scored[n], encoded[r].ids[encoded[r].scored[n]])
                for row, i in enumerate(few)
                for r, n in made[distinct[i]]
            ]
            return run([distinct[i] for i in few], wanted)

        lengths = [len(copy.ids) for copy in distinct]
        model.tally.add(nodes=sum(lengths))
        for few, values in model.in_batches(range(len(distinct)), lengths, batch_run):
            asked = [pair for i in few for pair in made[distinct[i]]]
            done = []
            for (r, n), value in zip(asked, values.cpu().numpy(), strict=True):
                out[r][n] = value
                left[r] -= 1
                if left[r] == 0:
                    done.append((r, out[r]))
            yield done


def _windows(
    encoded: Sequence[Encoded],
    copies: Callable[[Encoded], Iterable[tuple[Copy, Sequence[int]]]],
    model: TransformersModel,
) -> Iterator[dict[Copy, list[tuple[int, int]]]]:
    """Yield distinct copies and who asks for them, all copies of one length in one window."""
    made: dict[Copy, list[tuple[int, int]]] = {}
    tokens = 0
    order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
    for place, r in enumerate(order):
        length = len(encoded[r].ids)
        if tokens > _WINDOW and length != len(encoded[order[place - 1]].ids):
            yield made
            made, tokens = {}, 0
        for copy, numbers in copies(encoded[r]):
            made.setdefault(copy, []).extend((r, n) for n in numbers)
            tokens += length
            model.tally.add(tokens=length)
    if made:
        yield made
