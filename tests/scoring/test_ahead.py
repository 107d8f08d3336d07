"""Work done ahead: the same things in the same order, a bounded number of them, and no thread left.

A thread that should end is given seconds; one that should wait is watched for a moment only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.ahead import ahead


def eventually(holds: Callable[[], bool], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()


class Counted:
    """Counts up, and remembers how far it was asked to and in which thread."""

    def __init__(self, stop: int = 1_000_000) -> None:
        self.made = 0
        self.thread: threading.Thread | None = None
        self.ended = False
        self._stop = stop

    def __iter__(self) -> Iterator[int]:
        self.thread = threading.current_thread()
        try:
            for number in range(self._stop):
                self.made = number + 1
                yield number
        finally:
            self.ended = True


@settings(max_examples=30, deadline=None)
@given(things=st.lists(st.none() | st.integers()), depth=st.integers(1, 5))
def test_all_things_in_their_order(things, depth):
    assert list(ahead(things, depth=depth)) == things


def test_it_works_in_another_thread():
    work = Counted(3)
    assert list(ahead(work)) == [0, 1, 2]
    assert work.thread is not threading.current_thread()


def test_it_starts_before_it_is_asked():
    work = Counted()
    things = ahead(work)
    assert eventually(lambda: work.made > 0)
    assert next(things) == 0
    things.close()


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_it_does_not_run_away(depth):
    """What lies ready is at most ``depth``, and one more is in the hands of the thread."""
    work = Counted()
    things = ahead(work, depth=depth)
    for taken in range(4):
        assert eventually(lambda: work.made >= taken + depth)  # noqa: B023
        time.sleep(0.15)
        assert work.made <= taken + depth + 1
        assert next(things) == taken
    things.close()


def test_an_error_comes_after_what_was_made_before_it():
    def work() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("the box is empty")

    things = ahead(work())
    assert [next(things), next(things)] == [1, 2]
    with pytest.raises(KeyError, match="the box is empty") as caught:
        next(things)
    assert "work" in [entry.name for entry in caught.traceback], "where it happened is shown"
    with pytest.raises(StopIteration):
        next(things)


def test_an_error_at_the_first_step():
    def work() -> Iterator[int]:
        raise MemoryError
        yield 1

    with pytest.raises(MemoryError):
        next(ahead(work()))


@pytest.mark.parametrize("taken", [1, 3])
def test_closing_early_ends_the_thread(taken):
    work = Counted()
    things = ahead(work, depth=1)
    for _ in range(taken):
        next(things)
    things.close()
    assert eventually(lambda: work.thread is not None and not work.thread.is_alive())
    assert work.made <= taken + 2


def test_an_error_of_the_consumer_ends_the_thread():
    work = Counted()

    def consume() -> None:
        for number in ahead(work):
            if number == 2:
                raise ValueError(number)

    with pytest.raises(ValueError):
        consume()
    assert eventually(lambda: work.thread is not None and not work.thread.is_alive())


def test_closing_before_the_first_step_ends_the_thread():
    work = Counted()
    things = ahead(work)
    assert eventually(lambda: work.made > 0)
    things.close()
    assert eventually(lambda: not work.thread.is_alive(), seconds=2)


def test_at_the_end_no_thread_is_left():
    work = Counted(5)
    assert list(ahead(work)) == [0, 1, 2, 3, 4]
    assert eventually(lambda: not work.thread.is_alive())
    assert work.ended


def test_one_that_waits_is_released_when_another_thread_closes_it():
    never = threading.Event()

    def slow():
        never.wait(30)
        yield 1

    inner = ahead(slow())
    outer = ahead(iter(lambda: next(inner, None), None))
    time.sleep(0.05)  # it waits for what never comes
    inner._stopped.set()
    assert eventually(lambda: not outer._thread.is_alive())
    never.set()
