"""Tree attention on a GPU: FlexAttention skips blocks in which no node sees another.

A row of many thousand nodes has far too large a mask to be stored, and nearly all of it is empty.
In depth-first order a block of keys is seen by a block of queries only if a node of the one has a
descendant in the other, which the exits of its nodes tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boxpen.scoring.tree import Ints

if TYPE_CHECKING:
    import torch

__all__ = ["BLOCK", "block_mask", "blocks"]

BLOCK = 128


def blocks(exits: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which blocks of keys are seen by which of queries: in part, and whole.

    Args:
        exits: (nodes,), a multiple of the block size.
    """
    grouped = exits.reshape(-1, BLOCK)
    starts = np.arange(0, len(exits), BLOCK)
    before = starts[None, :] < starts[:, None]  # (queries, keys)
    some = before & (grouped.max(axis=1)[None, :] > starts[:, None])
    whole = before & (grouped.min(axis=1)[None, :] >= starts[:, None] + BLOCK)
    part = (some & ~whole) | np.eye(len(starts), dtype=bool)
    return part, whole


def block_mask(exits: Ints, device: torch.device) -> Any:
    """Return FlexAttention's mask of one row, in which ``q`` sees ``k <= q < exits[k]``."""
    import torch
    from torch.nn.attention.flex_attention import BlockMask

    ends = torch.from_numpy(exits).to(device, non_blocking=True)

    def sees(batch: Any, head: Any, q: Any, k: Any) -> Any:  # noqa: ARG001
        return (k <= q) & (q < ends[k])

    def listed(mask: NDArray[np.bool_]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return how many blocks each line sees, and their numbers, which come first in it."""
        counts = mask.sum(axis=1)[None, None].astype(np.int32)
        numbers = np.argsort(~mask, axis=1, kind="stable")[None, None].astype(np.int32)
        return torch.from_numpy(counts).to(device), torch.from_numpy(numbers).to(device)

    part, whole = blocks(exits)
    length = (len(exits), len(exits))
    return BlockMask.from_kv_blocks(
        *listed(part), *listed(whole), BLOCK_SIZE=BLOCK, mask_mod=sees, seq_lengths=length
    )
