"""Prefetching: run an iterator in its own thread while its results are used."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

from boxpen.scoring.turns import Turns

__all__ = ["Ahead", "ahead"]

T = TypeVar("T")
_DONE = object()
_PATIENCE = 10.0  # seconds


def ahead(things: Iterable[T], *, depth: int = 2, turns: Turns | None = None) -> Ahead[T]:
    """Iterate over an iterable up to ``depth`` steps ahead in another thread.

    If there are turns, each step is one, behind those that go first.

    The thread starts at once. What the iterable raises is raised to the one who asks for its next
    thing. When the result is closed, or no longer held, the thread ends at its next step.
    """
    return Ahead(things, depth, turns)


class Ahead(Iterator[T]):
    """An iterator whose results are computed in another thread."""

    def __init__(self, things: Iterable[T], depth: int, turns: Turns | None = None) -> None:
        self._made: queue.Queue[tuple[object, BaseException | None]] = queue.Queue(depth)
        self._stopped = threading.Event()
        # The thread holds no reference to this object, so that it can go away.
        work = (things, self._made, self._stopped, turns)
        self._thread = threading.Thread(target=_make, args=work, daemon=True)
        self._thread.start()

    def __next__(self) -> T:
        while True:
            if self._stopped.is_set():  # by another thread, perhaps, while this one waits
                raise StopIteration
            with contextlib.suppress(queue.Empty):
                thing, error = self._made.get(timeout=0.1)
                break
        if error is None and thing is not _DONE:
            return thing  # type: ignore[return-value]
        self.close()
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """End the thread at its next step, and wait for that a while."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)

    def __del__(self) -> None:
        self._stopped.set()


def _make(
    things: Iterable[object],
    made: queue.Queue[tuple[object, BaseException | None]],
    stopped: threading.Event,
    turns: Turns | None,
) -> None:
    def put(thing: object, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                made.put((thing, error), timeout=0.1)
                return

    try:
        steps = iter(things)
        while not stopped.is_set():
            with turns.behind() if turns else contextlib.nullcontext():
                thing = next(steps, _DONE)
            put(thing)
            if thing is _DONE:
                return
    except BaseException as error:
        put(_DONE, error)
