"""Prefetching: run an iterator in its own thread while its results are used.

A thread that feeds a GPU does so by many short calls, and gives up the interpreter in each of them.
If other threads are waiting for it, a call that takes 15 ms takes 200, and the GPU runs dry. With
``Turns``, the others work only while that thread has nothing to hand over.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["Ahead", "Turns", "ahead"]

T = TypeVar("T")
_DONE = object()
_PATIENCE = 10.0  # seconds


class Turns:
    """One thread works at a time; one that must not wait goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._urgent = 0
        self._owner: int | None = None  # the thread whose turn it is

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """Work, as soon as whoever is working pauses."""
        with self._changed:
            self._urgent += 1
            try:
                self._changed.wait_for(lambda: not self._busy)
                self._take()
            finally:
                self._urgent -= 1
        try:
            yield
        finally:
            self._leave()

    @contextlib.contextmanager
    def behind(self) -> Iterator[None]:
        """Work, when no other does or wants to."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def pause(self) -> None:
        """Let others in, if it is the turn of this thread."""
        if self._owner != threading.get_ident():
            return
        self._leave()
        self._enter()

    def _enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._busy and not self._urgent)
            self._take()

    def _take(self) -> None:
        self._busy = True
        self._owner = threading.get_ident()

    def _leave(self) -> None:
        with self._changed:
            self._busy = False
            self._owner = None
            self._changed.notify_all()


def ahead(things: Iterable[T], *, depth: int = 2, turns: Turns | None = None) -> Ahead[T]:
    """Iterate over an iterable up to ``depth`` steps ahead in another thread.

    The thread starts at once; with turns, each of its steps is one. Errors of the iterable are
    raised by ``next``. When the result is closed or deleted, the thread ends at its next step.
    """
    return Ahead(things, depth, turns)


class Ahead(Iterator[T]):
    """An iterator whose results are computed in another thread."""

    def __init__(self, things: Iterable[T], depth: int, turns: Turns | None = None) -> None:
        self._made: queue.Queue[tuple[object, BaseException | None]] = queue.Queue(depth)
        self._stopped = threading.Event()
        # The thread holds no reference to this object, so that it can go away.
        work = (things, self._made, self._stopped, turns)
        self._thread = threading.Thread(target=_make, args=work, name="boxpen-ahead", daemon=True)
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
