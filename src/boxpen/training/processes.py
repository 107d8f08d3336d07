"""Processes that train together: results and errors of one are shared with the others.

``torchrun`` and ``accelerate launch`` start the same command several times. One process, the chief,
reads and writes files and prints messages. If one process fails, the others must be told, or they
would wait for it until they are killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from boxpen.errors import BoxpenError, TrainError

if TYPE_CHECKING:
    import torch

__all__ = ["Processes", "ToldByChiefError", "has_parted", "leave"]

T = TypeVar("T")
_LAUNCHED = ("LOCAL_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_PATIENCE = timedelta(hours=24)  # the others wait while the chief prepares a corpus
_parted = False


class ToldByChiefError(TrainError):
    """Raised in all processes but the chief, which raises and reports the error itself."""


class Processes:
    """The processes of one training; usually there is only one.

    Attributes:
        cpu: Whether they train on the CPU.
        count: How many there are.
        rank: Which of them this is, from 0.

    Args:
        device: ``auto``, ``cpu`` or ``cuda``.
    """

    def __init__(self, device: str) -> None:
        self.cpu = device == "cpu"
        self.count, self.rank = 1, 0
        if not any(name in os.environ for name in _LAUNCHED):
            return  # the usual case, and importing Accelerate takes a second
        try:
            import torch
            from accelerate import PartialState
        except ImportError as error:
            raise TrainError(
                f"training in several processes needs {error.name}; install it with: "
                "pip install 'boxpen[hf]'"
            ) from None
        # Without a GPU, Accelerate sees no other processes unless it is told to use the CPU.
        self.cpu = self.cpu or not torch.cuda.is_available()
        self._state = PartialState(cpu=self.cpu, timeout=_PATIENCE)
        self.count, self.rank = self._state.num_processes, self._state.process_index

    @property
    def chief(self) -> bool:
        """Whether this process reads and writes files and prints messages."""
        return self.rank == 0

    def once(self, work: Callable[[], T]) -> T:
        """Run a function in the chief, and return its result in all processes."""
        if self.count == 1:
            return work()
        from accelerate.utils import broadcast_object_list

        result, error = _tried(work) if self.chief else (None, None)
        told = [result, error is not None]
        broadcast_object_list(told, from_process=0)
        if error is not None:
            raise error
        if told[1]:
            raise ToldByChiefError("the first process has failed")
        return cast(T, told[0])

    def each(self, work: Callable[[], T]) -> T:
        """Run a function in every process; an error in one is raised in all."""
        result, error = _tried(work)
        failed = [(n, said) for n, said in enumerate(self.gathered(error and str(error))) if said]
        if failed:
            rank, said = failed[0]
            if not self.chief:
                raise ToldByChiefError(said)
            raise error or TrainError(f"process {rank}: {said}")
        return cast(T, result)

    def gathered(self, value: T) -> list[T]:
        """Return the values of all processes, in their order."""
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        found: list[T] = gather_object([value])
        return found

    @cached_property
    def device(self) -> torch.device:
        """Where this process trains."""
        import torch

        if self.count > 1:
            found: torch.device = self._accelerator.device
            return found
        return torch.device("cuda" if not self.cpu and torch.cuda.is_available() else "cpu")

    def shared(self, module: Any) -> Any:
        """Return a module whose gradients are the mean over all processes."""
        return self._accelerator.prepare_model(module) if self.count > 1 else module

    def unshared(self, module: Any) -> AbstractContextManager[Any]:
        """Return a context in which the gradients of a shared module are not synchronised."""
        if self.count == 1:
            return nullcontext()
        found: AbstractContextManager[Any] = self._accelerator.no_sync(module)
        return found

    def summed(self, value: torch.Tensor) -> torch.Tensor:
        """Return the sum of a number over all processes."""
        if self.count == 1:
            return value
        found: torch.Tensor = self._accelerator.reduce(value, "sum")
        return found

    @cached_property
    def _accelerator(self) -> Any:
        from accelerate import Accelerator

        # The learner sets the precision, whatever the configuration of Accelerate says.
        return Accelerator(cpu=self.cpu, mixed_precision="no")

    def part(self) -> None:
        """Close the connection; a process that exits without this is reported as failed."""
        global _parted
        if self.count > 1:
            self._state.destroy_process_group()
            _parted = True


def has_parted() -> bool:
    """Whether this process has trained together with others and has closed the connection."""
    return _parted


def leave(status: int | str | None) -> NoReturn:
    """Exit without finalising the interpreter; ``atexit`` handlers are not called.

    Threads of PyTorch's process groups may still hold tensors. If they release them while the
    interpreter is being finalised, the process aborts and the launcher reports a failed training.
    """
    if isinstance(status, str):
        print(status, file=sys.stderr)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _tried(work: Callable[[], Any]) -> tuple[Any, BoxpenError | None]:
    try:
        return work(), None
    except BoxpenError as error:
        return None, error
