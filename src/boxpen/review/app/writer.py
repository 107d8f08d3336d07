"""Judgements that arrive together are stored together: one transaction, one wait for the disk."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Row

from boxpen.review.app.store import Store

__all__ = ["Writer"]

_MOST = 500  # requests in one transaction


class Writer:
    """A thread that stores what requests hand in, in the order in which they do.

    Args:
        store: Where to.
        after: The last ``seq`` that is known.
        learn: Called in the event loop with every new row, before the requests go on.
    """

    def __init__(
        self, store: Store, after: int, learn: Callable[[Sequence[Row[Any]]], None]
    ) -> None:
        self.store, self.after, self.learn = store, after, learn
        self._waiting: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def save(self, rows: Sequence[dict[str, Any]]) -> None:
        """Store judgements; they are on disk when this returns."""
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="review-writer", daemon=True)
            self._thread.start()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.put((list(rows), loop, done))
        await done

    def close(self) -> None:
        """Store what is waiting, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while True:
            first = self._waiting.get()
            if first is None:
                return
            some, ending = [first], False
            while len(some) < _MOST and not self._waiting.empty():
                another = self._waiting.get()
                if another is None:
                    ending = True
                    break
                some.append(another)
            self._store(some)
            if ending:
                return

    def _store(self, some: Sequence[_Request]) -> None:
        fault: Exception | None = None
        new: Sequence[Row[Any]] = ()
        try:
            new = self.store.save([row for rows, _, _ in some for row in rows], self.after)
        except Exception as error:  # whatever it is, the requests must not wait for ever
            if len(some) > 1:  # one of them may be to blame: the others need not suffer
                for one in some:
                    self._store([one])
                return
            fault = error
        if new:
            self.after = new[-1].seq
        loops = {loop: [d for _, of, d in some if of is loop] for _, loop, _ in some}
        for number, (loop, waiting) in enumerate(loops.items()):
            loop.call_soon_threadsafe(self._tell, () if number else new, waiting, fault)

    def _tell(
        self,
        new: Sequence[Row[Any]],
        waiting: Sequence[asyncio.Future[None]],
        fault: Exception | None,
    ) -> None:
        self.learn(new)
        for done in waiting:
            if done.done():
                continue
            if fault is None:
                done.set_result(None)
            else:
                done.set_exception(fault)


_Request = tuple[list[dict[str, Any]], asyncio.AbstractEventLoop, "asyncio.Future[None]"]
