"""Changes to what all threads share: made for the first that needs one, undone after the last."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

__all__ = ["shared"]


def shared(
    change: Callable[[], AbstractContextManager[None]],
) -> Callable[[], AbstractContextManager[None]]:
    """Let a change hold for as long as anyone is inside, in whatever thread.

    Where two threads overlap and each puts back what it found, the one that came second puts back
    the change of the first, which then stays for good.

    Args:
        change: Makes the change, and undoes it at its exit, whatever happened meanwhile.
    """
    lock = threading.Lock()
    inside: list[AbstractContextManager[None]] = []  # of everyone, the change that holds

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
