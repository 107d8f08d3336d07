"""SIGTERM, as job schedulers and containers send it, stops a command as Ctrl-C does."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["TerminatedError", "raise_on_sigterm"]


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end; what ends a command on Ctrl-C ends it then, too."""


@contextlib.contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise an exception in the body; a second one ends the process at once."""
    # torchrun ends its processes by SIGTERM while they wait for each other in native code.
    if threading.current_thread() is not threading.main_thread() or "LOCAL_RANK" in os.environ:
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise TerminatedError
