"""Samples of suites: some of the items, drawn by a seed, so that a quick number is a fair one.

Every set is represented by its share, and the items of a block stay together. What is drawn
depends on the ids and the seed alone, not on the order of the file; and a larger sample of the
same seed holds most of a smaller one, so that its scores are in the cache already.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from boxpen.errors import PolicyError
from boxpen.items import Item, Suite

__all__ = ["draw_sample"]

_STRATA = ("part", "set", "task")  # tags by which a suite is divided


def draw_sample(suite: Suite, count: int | None, seed: int = 0) -> Suite:
    """Return a sample of at most ``count`` items; the suite itself if it has no more.

    A sample never splits a block, so it may be a little smaller than ``count``; if not even the
    smallest block fits, it is one block.

    Raises:
        PolicyError: If the count is not positive or the seed is negative.
    """
    if count is not None and count < 1:
        raise PolicyError(f"limit is {count}, expected 1 or more")
    if seed < 0:
        raise PolicyError(f"seed is {seed}, expected 0 or more")
    if count is None or count >= len(suite):
        return suite
    waiting = {
        stratum: sorted(units, key=lambda unit: _rank(unit, seed), reverse=True)
        for stratum, units in _strata(suite).items()
    }
    quota = {
        stratum: count * sum(map(len, units)) / len(suite) for stratum, units in waiting.items()
    }
    smallest = min((unit for units in waiting.values() for unit in units), key=len)
    count = max(count, len(smallest))
    taken: set[str] = set()
    while waiting and len(taken) < count:
        stratum = max(waiting, key=lambda s: (quota[s], str(s)))  # furthest below its share
        unit = waiting[stratum].pop()
        if len(taken) + len(unit) <= count:
            taken.update(item.id for item in unit)
            quota[stratum] -= len(unit)
        if not waiting[stratum]:
            del waiting[stratum]
    drawn = suite.take([item for item in suite if item.id in taken])
    return replace(drawn, sample=f"{len(drawn)}/{len(suite)}@{seed}")


def _strata(suite: Suite) -> dict[tuple[str | None, ...], list[list[Item]]]:
    """Return the blocks of a suite, and the items without one, by what divides it."""
    units: dict[tuple[str, str], list[Item]] = {}
    for item in suite:
        key = ("item", item.id) if item.block is None else ("block", item.block)
        units.setdefault(key, []).append(item)
    out: dict[tuple[str | None, ...], list[list[Item]]] = {}
    for unit in units.values():
        out.setdefault(tuple(unit[0].tags.get(tag) for tag in _STRATA), []).append(unit)
    return out


def _rank(unit: list[Item], seed: int) -> bytes:
    name = unit[0].block if unit[0].block is not None else unit[0].id
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()
