"""How fast a model is on this device: a sample of its own work is done, and timed.

A sample is drawn evenly from the work in the order of length, so that it has the same mix of short
and long. What is asked in a row stays together in small blocks, since it shares beginnings. Samples
double until one takes long enough; the last one counts. Nothing of it is kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from boxpen.matrix.counts import count
from boxpen.models.cached import Ask, looked_up
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Request

__all__ = ["SECONDS", "Calibration", "Work", "calibrate", "work_of"]

SECONDS = 10.0
"""Maximum time to time a model for."""

_BLOCK = 8  # requests
_FIRST = 2  # blocks
_STEP = 0.618034  # of the distance between two blocks, so that every sample is another one


class Work(NamedTuple):
    """How much is to be done.

    Attributes:
        tokens: Positions to compute, if every text were scored alone.
        nodes: Positions to compute, with what is shared.
        characters: Of what is translated or answered.
    """

    tokens: int = 0
    nodes: int = 0
    characters: int = 0


@dataclass(frozen=True)
class Calibration:
    """How fast a model is.

    Attributes:
        load_seconds: How long it takes to load.
        speeds: Nodes per second for each task that scores, characters for each that generates.
        shares: Whether it computes what texts share only once, as was found when it was loaded.
    """

    load_seconds: float
    speeds: dict[str, float]
    shares: bool

    def done(self, work: Work) -> Work:
        """Return the work that is really done."""
        return work if self.shares else work._replace(nodes=work.tokens)

    def seconds(self, task: str, work: Work) -> float:
        """Return how long a task takes."""
        done = self.done(work)
        return (done.nodes or done.characters) / self.speeds[task]


def work_of(ask: Ask) -> Work:
    """Count the work of an ask."""
    if ask.makes_text:
        return Work(characters=sum(_size(item) + 1 for item in ask.items))
    if ask.task == "score":
        return Work(*count(ask.model, ask.items, ask.policy))
    chats = [(ask.model.chat_prompt(one.prompt), one.letters) for one in ask.items]
    requests = [Request(text=letter, prefix=chat) for chat, letters in chats for letter in letters]
    return Work(*count(ask.model, requests, ask.policy))


def calibrate(asks: Sequence[Ask], seconds: float = SECONDS) -> Calibration:
    """Load a model and time it on a sample of what it is asked.

    Args:
        asks: What one local model is asked.
        seconds: Maximum time, besides loading.

    Raises:
        BoxpenError: If the model cannot do it.
    """
    model = asks[0].model
    started = time.perf_counter()
    model.load()
    loaded = time.perf_counter() - started
    before = replace(model.tally)
    tasks = dict.fromkeys(ask.task for ask in asks)
    speeds: dict[str, float] = {
        task: _speed([ask for ask in asks if ask.task == task], seconds / len(tasks))
        for task in tasks
    }
    tokens, nodes = model.tally.tokens - before.tokens, model.tally.nodes - before.nodes
    return Calibration(loaded, speeds, shares=nodes < tokens)


class _Block(NamedTuple):
    ask: Ask
    items: Sequence[Any]


def _speed(asks: Sequence[Ask], limit: float) -> float:
    """Return how much is done per second."""
    blocks = _blocks(asks)
    size = min(_FIRST, len(blocks))
    _timed(_sample(blocks, size, 0))  # what is only slow once
    spent, number = 0.0, 1
    while True:
        work, taken = _timed(_sample(blocks, size, number))
        spent += taken
        # The next takes twice as long; and a few seconds are enough.
        if size == len(blocks) or taken > limit / 4 or spent + 2 * taken > limit:
            return work / max(taken, 1e-9)
        size, number = min(2 * size, len(blocks)), number + 1


def _blocks(asks: Sequence[Ask]) -> list[_Block]:
    """Cut asks into blocks, and sort them by their mean length."""
    blocks = []
    for ask in asks:
        size = _BLOCK if ask.task == "score" else 1
        starts = range(0, len(ask.items), size)
        blocks += [_Block(ask, ask.items[start : start + size]) for start in starts]
    blocks.sort(key=lambda block: sum(map(_size, block.items)) / len(block.items))
    return blocks


def _sample(blocks: Sequence[_Block], size: int, number: int) -> list[_Block]:
    """Draw blocks at equal distances."""
    shift = (0.5 + number * _STEP) % 1
    return [blocks[int((place + shift) * len(blocks) / size)] for place in range(size)]


def _timed(blocks: Sequence[_Block]) -> tuple[float, float]:
    """Do the work of blocks; return how much it was and how long it took."""
    asks: dict[int, list[Any]] = {}
    of = {id(block.ask): block.ask for block in blocks}
    for block in blocks:
        asks.setdefault(id(block.ask), []).extend(block.items)
    parts = [replace(of[key], items=tuple(items)) for key, items in asks.items()]
    taken = 0.0
    with ScoreCache(":memory:") as nowhere:
        for part in parts:
            started = time.perf_counter()
            looked_up(part, nowhere)
            taken += time.perf_counter() - started
    works = [work_of(part) for part in parts]
    return sum(work.nodes or work.characters for work in works), taken


def _size(item: Any) -> int:
    """Return the length of a request, a question, a prompt or a source with its context."""
    if isinstance(item, Request):
        return len(item.source or "") + len(item.prefix) + len(item.text)
    if isinstance(item, tuple):
        return sum(map(len, item))
    return len(item if isinstance(item, str) else item.prompt)
