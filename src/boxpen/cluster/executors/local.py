"""Workers as processes of this machine: one for each GPU, or for each group of CPU cores."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from boxpen.cluster.store import Store
from boxpen.cluster.worker import LEASE
from boxpen.errors import ClusterError

__all__ = ["LocalExecutor", "cores", "gpus"]

_STARTS = 10  # of one slot, in a row, without a unit done by anybody in between
_GRACE = 20.0  # seconds for giving back what is under way
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # of CUDA, ROCm, and CUDA in WSL


def gpus() -> int:
    """Return how many GPUs can be used; torch is only loaded if there may be any."""
    if "torch" not in sys.modules and not any(Path(place).exists() for place in _DRIVERS):
        return 0
    try:
        import torch
    except ImportError:
        return 0
    return int(torch.cuda.device_count())


def cores() -> int:
    """Return how many CPU cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Slot:
    """A place for one worker at a time."""

    ordinal: int
    process: subprocess.Popen[bytes] | None = None
    name: str = ""
    said: IO[bytes] | None = None
    starts: int = 0
    done: int = -1  # units done by all when it was last started
    over: bool = False


@dataclass
class LocalExecutor:
    """Processes of this machine.

    A worker on a CPU has one thread unless told otherwise, and there are as many as cores: that
    uses them best, and results do not depend on how many workers there are.

    Attributes:
        workers: How many; one for each GPU, or else for ``threads`` cores, if None.
        threads: CPU threads of each.
        device: Where all of them compute; each on a GPU of its own, or on the CPU, if None.
        lease: Seconds without a sign of life after which a worker counts as dead.
        problems: Why workers stopped.
    """

    workers: int | None = None
    threads: int | None = None
    device: str | None = None
    lease: float = LEASE
    problems: list[str] = field(default_factory=list)
    _slots: list[_Slot] = field(default_factory=list)
    _store: Store | None = None
    _job: str = ""

    @property
    def count(self) -> int:
        """How many workers there are."""
        if self.workers is not None:
            return self.workers
        if self.device is not None and self.device != "cpu":
            return 1
        return (not self.device and gpus()) or max(1, cores() // (self.threads or 1))

    @property
    def pids(self) -> list[int]:
        """The processes that are running."""
        return [s.process.pid for s in self._slots if s.process and s.process.poll() is None]

    def start(self, store: Store, job: str) -> None:
        """Start the workers."""
        self._store, self._job = store, job
        self.problems.clear()
        self._slots = [_Slot(n) for n in range(self.count)]
        for slot in self._slots:
            self._launch(slot)

    def tend(self, done: int) -> bool:
        """Replace workers that died; return whether any is left."""
        for slot in self._slots:
            if slot.over or slot.process is None or slot.process.poll() is None:
                continue
            self._bury(slot)
            if slot.process.returncode == 0:
                slot.over = True
                continue
            if done > slot.done:
                slot.starts = 0
            slot.done = done
            if slot.starts >= _STARTS:
                slot.over = True
            else:
                self._launch(slot)
        return any(not slot.over for slot in self._slots)

    def stop(self) -> None:
        """Stop the workers; they give back what they have not finished."""
        running = [s for s in self._slots if s.process is not None]
        for slot in running:
            assert slot.process is not None
            if slot.process.poll() is None and slot.process.stdin:
                with contextlib.suppress(OSError):
                    slot.process.stdin.close()
        until = time.monotonic() + _GRACE
        for slot in running:
            assert slot.process is not None
            told = slot.process.returncode is None  # it ends because it is told to
            try:
                slot.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                slot.process.kill()
                slot.process.wait()
            self._bury(slot, told=told)
        self._slots = []

    def _launch(self, slot: _Slot) -> None:
        assert self._store is not None
        slot.starts += 1
        slot.name = f"local-{os.getpid()}-{slot.ordinal}-{secrets.token_hex(3)}"
        slot.said = tempfile.TemporaryFile()  # noqa: SIM115 (read when the worker has ended)
        command = [
            sys.executable, "-m", "boxpen", "worker", "--join", self._store.url,
            "--job", self._job, "--ordinal", str(slot.ordinal), "--name", slot.name,
            "--lease", str(self.lease), "--tied",
        ]  # fmt: skip
        try:
            slot.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=slot.said, stderr=slot.said,
                env=self._environment(slot.ordinal), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ClusterError(f"a worker cannot be started: {error.strerror}") from None

    def _environment(self, ordinal: int) -> dict[str, str]:
        """Return the environment of a worker: its GPU, or its share of the cores."""
        env = dict(os.environ)
        devices = gpus() if self.device is None else 0
        if self.device is not None:
            env["BOXPEN_DEVICE"] = self.device
        if devices:
            named = env.get("CUDA_VISIBLE_DEVICES", "")
            visible = [d for d in named.split(",") if d] or [str(n) for n in range(devices)]
            env["CUDA_VISIBLE_DEVICES"] = visible[ordinal % len(visible)]
        threads = self.threads or (max(1, cores() // self.count) if devices else 1)
        env |= dict.fromkeys(_THREADS, str(threads))
        return env

    def _bury(self, slot: _Slot, *, told: bool = False) -> None:
        """Let others know at once that a worker is dead, and keep what it said last.

        Args:
            slot: Its place.
            told: Whether it was told to end, and so has nothing to say.
        """
        assert self._store is not None
        with contextlib.suppress(ClusterError):
            self._store.delete(f"workers/{slot.name}")
        if slot.said is None:
            return
        slot.said.seek(0, os.SEEK_END)
        slot.said.seek(max(0, slot.said.tell() - 4096))
        lines = slot.said.read().decode("utf-8", "replace").splitlines()
        slot.said.close()
        slot.said = None
        code = slot.process.returncode if slot.process else 0
        last = next((line for line in reversed(lines) if line.strip()), "")
        last = last.removeprefix("boxpen: ")
        problem = f"a worker was killed by signal {-code}" if code < 0 else last
        if code and problem and not told and problem not in self.problems:
            self.problems.append(problem)
