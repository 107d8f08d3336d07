"""How fast and how far a client may go: requests in flight, and the cost of all of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from boxpen.errors import ModelError

__all__ = ["Budget", "Pace", "RetryError", "Usage"]

_START = 4  # requests in flight at first


@dataclass
class Usage:
    """What was sent, made and paid for so far, in tokens; for a translator, in characters."""

    requests: int = 0
    retries: int = 0
    sent: int = 0
    made: int = 0
    cost: float = 0.0


@dataclass
class Budget:
    """A limit on the cost of all clients that share it.

    What is in flight counts with the most that it can cost, so that the limit is never exceeded.
    """

    limit: float
    spent: float = 0.0
    _reserved: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reserve(self, cost: float) -> None:
        """Set aside the cost of a request.

        Raises:
            ModelError: If it could exceed the limit.
        """
        with self._lock:
            if self.spent + self._reserved + cost > self.limit:
                raise ModelError(
                    f"stopped at a cost of {self.spent:.4g}, before --max-cost {self.limit:g} "
                    "would be exceeded; all answers are kept, so rerun with a higher --max-cost "
                    "to resume"
                )
            self._reserved += cost

    def settle(self, reserved: float, cost: float) -> None:
        """Replace what was set aside with the actual cost."""
        with self._lock:
            self._reserved -= reserved
            self.spent += cost


class RetryError(Exception):
    """A try failed; another may succeed."""

    def __init__(self, reason: str, *, after: float | None = None, limited: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.limited = limited


class Pace:
    """How many requests may be in flight: one more per round of success, half after trouble."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(min(_START, most))
        self._busy = 0
        self._resume = 0.0
        self._slowed = 0.0
        self._free = threading.Condition()

    @contextlib.contextmanager
    def turn(self, stop: threading.Event) -> Iterator[None]:
        """Wait for a place."""
        with self._free:
            while not stop.is_set():
                wait = self._resume - time.monotonic()
                if wait <= 0 and self._busy < int(self._limit):
                    break
                self._free.wait(wait if wait > 0 else None)
            if stop.is_set():
                raise RetryError("interrupted")
            self._busy += 1
        try:
            yield
        finally:
            with self._free:
                self._busy -= 1
                self._free.notify_all()

    def speed_up(self) -> None:
        """Allow one more after a round of success."""
        with self._free:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._free.notify()

    def slow_down(self, pause: float) -> None:
        """Halve what is allowed, after a pause in seconds."""
        now = time.monotonic()
        with self._free:
            if now - self._slowed > 1.0:  # what failed together counts once
                self._limit = max(1.0, self._limit / 2)
                self._slowed = now
            self._resume = max(self._resume, now + pause)

    def wake(self) -> None:
        """Let all who wait look at their stop event."""
        with self._free:
            self._free.notify_all()
