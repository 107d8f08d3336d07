"""Turns: one works at a time, the urgent one goes first, and nobody is forgotten."""

from __future__ import annotations

import threading
import time

from boxpen.ahead import Turns, ahead


def test_one_works_at_a_time():
    turns = Turns()
    working: list[int] = []
    together: list[int] = []

    def work(first: bool) -> None:
        for _ in range(50):
            with turns.first() if first else turns.behind():
                working.append(1)
                together.append(len(working))
                time.sleep(0)
                working.pop()

    threads = [threading.Thread(target=work, args=(i == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert together == [1] * 200


def test_the_urgent_one_goes_first_at_a_pause():
    turns = Turns()
    log: list[str] = []
    waiting = threading.Event()

    def urgent() -> None:
        waiting.set()
        with turns.first():
            log.append("urgent")

    with turns.behind():
        thread = threading.Thread(target=urgent)
        thread.start()
        waiting.wait(5)
        while not turns._urgent:  # it is in line now
            time.sleep(0.001)
        log.append("before")
        turns.pause()
        log.append("after")
    thread.join(5)
    assert log == ["before", "urgent", "after"]


def test_a_turn_ends_when_the_work_fails():
    turns = Turns()
    for way in (turns.first, turns.behind):
        try:
            with way():
                raise ValueError
        except ValueError:
            pass
    with turns.first():
        pass


def test_steps_made_ahead_are_turns():
    turns = Turns()
    with turns.first():
        things = ahead(iter(range(3)), turns=turns)
        time.sleep(0.05)
        assert things._made.empty()
    assert list(things) == [0, 1, 2]


def test_a_pause_of_one_whose_turn_it_is_not_changes_nothing():
    turns = Turns()
    with turns.first():
        other = threading.Thread(target=turns.pause)  # would wait for the turn, if it took one
        other.start()
        other.join(timeout=10)
        assert not other.is_alive()
