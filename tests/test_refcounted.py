"""A change that several threads want at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from at_once import at_once
from boxpen.refcounted import refcounted


class Place:
    """What is changed."""

    def __init__(self) -> None:
        self.value = "as it was"
        self.times = 0

    @contextlib.contextmanager
    def changed(self) -> Iterator[None]:
        before = self.value
        self.value = "changed"
        self.times += 1
        try:
            yield
        finally:
            self.value = before


def test_a_change_holds_from_the_first_entry_to_the_last_exit() -> None:
    place = Place()
    use = refcounted(place.changed)
    first, second = use(), use()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert place.value == "changed"
    second.__exit__(None, None, None)
    assert (place.value, place.times) == ("as it was", 1)
    with pytest.raises(ValueError, match="inside"), use(), use():
        raise ValueError("inside")
    assert (place.value, place.times) == ("as it was", 2)


def test_a_change_that_fails_is_not_counted() -> None:
    place, fail = Place(), [True]

    @refcounted
    @contextlib.contextmanager
    def use() -> Iterator[None]:
        if fail:
            raise ImportError("not there")
        with place.changed():
            yield

    with pytest.raises(ImportError), use():
        pass
    fail.clear()
    with use():
        assert place.value == "changed"
    assert place.value == "as it was"


def test_many_threads_leave_all_as_it_was() -> None:
    place = Place()
    use = refcounted(place.changed)
    wrong: list[str] = []

    def work() -> None:
        for _ in range(300):
            with use():
                if place.value != "changed":
                    wrong.append(place.value)

    at_once(work, 8)
    assert (place.value, wrong) == ("as it was", [])
