"""Reference-counted changes to global state: applied on first entry, undone after the last exit."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

__all__ = ["refcounted"]


def refcounted(
    change: Callable[[], AbstractContextManager[None]],
) -> Callable[[], AbstractContextManager[None]]:
    """Keep a global change in place while any thread is inside its context.

    If two threads overlap and each restores what it found, the second restores the change made by
    the first, which then never goes away.

    Args:
        change: Makes the change on entry and undoes it on exit.
    """
    lock = threading.Lock()
    inside: list[AbstractContextManager[None]] = []  # the change, per user

    @contextlib.contextmanager
    @functools.wraps(change)
    def entered() -> Iterator[None]:
        with lock:
            if inside:
                inside.append(inside[0])
            else:
                made = change()
                made.__enter__()
                inside.append(made)
        try:
            yield
        finally:
            with lock:
                made = inside.pop()
                if not inside:
                    made.__exit__(None, None, None)

    return entered
