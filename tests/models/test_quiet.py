"""Loading without noise, from several threads at once."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import pytest

from at_once import at_once
from boxpen.models.engine.quiet import quiet

logging = pytest.importorskip("transformers.utils.logging")
hub_logging = pytest.importorskip("huggingface_hub.utils.logging")


def state() -> tuple[object, ...]:
    """What is the same for all threads."""
    levels = logging.get_verbosity(), hub_logging.get_verbosity()
    return (*levels, logging.is_progress_bar_enabled(), sys.stderr)


def test_who_leaves_first_takes_nothing_from_the_other() -> None:
    before = state()
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(quiet())
        hushed = state()
        assert all(now != then for now, then in zip(hushed, before, strict=True))
        second.enter_context(quiet())
        first.close()
        assert state() == hushed
    assert state() == before


def test_stderr_is_let_through_as_soon_as_nobody_wants_it_silent() -> None:
    before = state()
    with quiet(silent=False):
        assert state()[-1] is before[-1]
        hushed = state()[:-1]
        with quiet():
            assert state()[-1] is not before[-1]
        assert state() == (*hushed, before[-1])
    assert state() == before


def test_many_threads_leave_all_as_it_was() -> None:
    before = state()
    wrong: list[object] = []

    def load() -> None:
        for _ in range(100):
            with quiet():
                if state()[:3] == before[:3] or state()[-1] is before[-1]:
                    wrong.append(state())

    at_once(load, 4)
    assert (state(), wrong) == (before, [])
