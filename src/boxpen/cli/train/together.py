"""Commands that train in several processes report their errors only once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from boxpen.training.processes import Processes

__all__ = ["together"]


@contextlib.contextmanager
def together(device: str) -> Iterator[Processes]:
    """Yield the processes started by ``torchrun``; one of them reports errors."""
    from boxpen.training.device import check_device
    from boxpen.training.processes import Processes, ToldByChiefError

    processes = Processes(device)
    try:
        processes.each(lambda: check_device(device))
        yield processes
    except ToldByChiefError:
        time.sleep(1)  # the launcher kills the others when one exits; let the chief report first
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        if processes.chief:
            raise
        raise typer.Exit(130) from None
    finally:
        processes.part()
