"""What runs in an actor of Ray: a worker that somebody else may tell to leave."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

from boxpen.cluster.object_store import MARKER
from boxpen.cluster.store import open_store
from boxpen.cluster.worker import Worker
from boxpen.errors import ClusterError

__all__ = ["Actor", "Ended"]


@dataclass(frozen=True)
class Ended:
    """How the work of an actor ended.

    Attributes:
        problem: What went wrong; empty if nothing did.
        final: Whether another actor in its place would have nothing to do, or the same problem.
    """

    problem: str
    final: bool


class Actor:
    """A worker for one job.

    Args:
        name: Its name in the store.
        ordinal: Which of several workers that start together this is.
        url: The store.
        marker: What the store has to contain to be the one that the driver sees.
        job: The job.
        lease: Seconds without a sign of life after which a worker counts as dead.
        threads: CPU threads.
        folder: The folder of the driver, for relative paths; used if it is here, too.
        environment: Variables of the driver, for those that are not set here.
    """

    def __init__(
        self,
        *,
        name: str,
        ordinal: int,
        url: str,
        marker: bytes,
        job: str,
        lease: float,
        threads: int,
        folder: str,
        environment: dict[str, str],
    ) -> None:
        # Before anything that computes is imported.
        for variable in (
            "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS",
        ):  # fmt: skip
            os.environ[variable] = str(threads)
        for variable, value in environment.items():
            os.environ.setdefault(variable, value)
        with contextlib.suppress(OSError):
            os.chdir(folder)
        self._made = name, ordinal, lease
        self._url, self._marker, self._job = url, marker, job
        self._worker: Worker | None = None
        self._ended: Ended | None = None
        self._running = threading.Lock()
        self._leaving = False

    def run(self) -> Ended:
        """Work until the job is finished; a second call waits for the end of the first."""
        with self._running:
            if self._ended is None:
                self._ended = self._run()
        return self._ended

    def leave(self) -> None:
        """Give back what is under way, at once."""
        self._leaving = True
        if self._worker is not None:
            self._worker.leave()

    def _run(self) -> Ended:
        name, ordinal, lease = self._made
        try:
            # Where it is missing, opening it would create it.
            there = "://" in self._url or Path(self._url).is_dir()
            store = open_store(self._url) if there else None
            if store is None or store.get(MARKER) != self._marker:
                return Ended(
                    f"node {socket.gethostname()} does not see the store {self._url}; use a folder "
                    "that all nodes share, or s3://",
                    final=True,
                )
            self._worker = Worker(store, ordinal=ordinal, lease=lease, name=name)
            if self._leaving:
                return Ended("", final=True)
            told = self._worker.run(self._job)
        except ClusterError as error:
            return Ended(str(error), final=True)
        return Ended(told.problem, final=not told.problem)
