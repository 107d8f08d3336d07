"""Threads that take turns at the interpreter, of which there is one.

A thread that hands work to a GPU does so by many short calls, and gives the interpreter up in each
of them. Where others are waiting for it, every call waits in line, and what takes 15 ms takes 200:
the GPU runs dry. So the others work only while that thread has nothing to hand over.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["Turns"]


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
