"""Temporary changes to global state: counted over threads, and undone while a generator waits."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

__all__ = ["only_inside", "refcounted"]

T = TypeVar("T")


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


def only_inside(
    change: Callable[[], AbstractContextManager[None]], steps: Iterator[T]
) -> Iterator[T]:
    """Yield what an iterator yields, with a change in place while it works, not while it waits."""
    with contextlib.closing(steps):  # type: ignore[type-var]
        while True:
            with change():
                step = list(itertools.islice(steps, 1))
            if not step:
                return
            yield step[0]
