"""Watching a module at work.

Boxpen evaluates what follows the body of a module by a forward pass of the whole in which the body
is passed over; such a pass is not the body's work and is not noted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


def _passed_over(part: Any) -> bool:
    return "forward" in vars(part)


@contextlib.contextmanager
def spied(*parts: Any) -> Iterator[list[dict[str, Any]]]:
    """Note what parts of a module are called with."""
    calls: list[dict[str, Any]] = []

    def note(part: Any, args: Any, named: dict[str, Any]) -> None:
        if not _passed_over(part):
            calls.append({"input_ids": args[0], **named} if args else named)

    handles = [p.register_forward_pre_hook(note, with_kwargs=True) for p in parts]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def listened(part: Any, hear: Callable[[Any], None]) -> Iterator[None]:
    """Pass on the first thing that a part gives."""

    def note(part: Any, args: Any, out: Any) -> None:
        if not _passed_over(part):
            hear(out[0])

    handle = part.register_forward_hook(note)
    try:
        yield
    finally:
        handle.remove()
