"""Samples of suites: some of the items, drawn by a seed, so that a quick number is a fair one.

Every item has the same chance of being drawn, every set gets its share, and the items of a block
stay together. What is drawn depends on the items and the seed alone, not on the order of the file.
A larger sample of the same seed contains the smaller one, so its scores are cached already.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from boxpen.errors import PolicyError
from boxpen.items import Item, Suite

__all__ = ["QUICK", "draw_sample"]

QUICK = 300
"""Items of starter to run if no suite is named: a first result within a minute."""

_STRATA = ("part", "set", "task")  # tags by which a suite is divided


def draw_sample(suite: Suite, count: int | None, seed: int = 0) -> Suite:
    """Return a sample of at most ``count`` items; the suite itself if it has no more.

    Blocks are never split, so the sample may be smaller than ``count`` by less than one block; it
    is one block if that alone is larger.

    Raises:
        PolicyError: If the count is not positive, the seed is negative, or the suite is a sample.
    """
    if count is not None and count < 1:
        raise PolicyError(f"limit is {count}, expected 1 or more")
    if seed < 0:
        raise PolicyError(f"seed is {seed}, expected 0 or more")
    if count is None or count >= len(suite):
        return suite
    if suite.sample:
        raise PolicyError(f"suite '{suite.name}' is already a sample ({suite.sample})")
    taken: set[str] = set()
    for block in _drawing_order(suite, seed):
        if taken and len(taken) + len(block) > count:
            break
        taken.update(item.id for item in block)
    drawn = suite.take([item for item in suite if item.id in taken])
    return replace(drawn, sample=f"{len(drawn)}/{len(suite)}@{seed}")


def _drawing_order(suite: Suite, seed: int) -> list[list[Item]]:
    """Return all blocks, so that any first part of them is a fair sample.

    In each stratum the blocks are shuffled, and block k of n gets the place (k + u) / n, where u in
    [0, 1) is random but the same for the stratum. The place of a block is uniform in [0, 1), and
    the number of a stratum's blocks below any place is its share of them, rounded up or down.
    """
    strata: dict[str, dict[str, list[Item]]] = {}
    for name, block in _blocks(suite).items():
        tags = sorted({repr([item.tags.get(tag) for tag in _STRATA]) for item in block})
        strata.setdefault("\n".join(tags), {})[name] = block
    placed: list[tuple[float, str, list[Item]]] = []
    for stratum, blocks in strata.items():
        start = _random(seed, "stratum", stratum)
        shuffled = sorted(blocks, key=lambda name: _random(seed, "block", name))
        for k, name in enumerate(shuffled):
            placed.append(((k + start) / len(blocks), name, blocks[name]))
    return [block for *_, block in sorted(placed, key=lambda found: found[:2])]


def _blocks(suite: Suite) -> dict[str, list[Item]]:
    """Return the blocks of a suite; an item without one is a block of its own."""
    out: dict[str, list[Item]] = {}
    for item in suite:
        name = f"item {item.id}" if item.block is None else f"block {item.block}"
        out.setdefault(name, []).append(item)
    return out


def _random(seed: int, *names: str) -> float:
    """Return a number in [0, 1) that follows from the seed and the names."""
    digest = hashlib.sha256(repr((seed, *names)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
