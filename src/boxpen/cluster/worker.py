"""A worker: takes units of a job from a store, one after the other, until none is left.

It loads what the units of a group share (a model) once, and stays with the group while there is
work in it. Several workers need to know nothing of each other; see ``queue``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from boxpen.cluster.queue import Queue, Watch
from boxpen.cluster.store import Store
from boxpen.cluster.units import Group, Job, Result, Row
from boxpen.errors import BoxpenError, ClusterError
from boxpen.plugins import UNITS
from boxpen.printable import printable

__all__ = ["LEASE", "Told", "Work", "Worker"]

LEASE = 60.0
"""Seconds without a sign of life after which a worker counts as dead."""
_BEATS = 4  # signs of life per lease
_IN_A_ROW = 3  # units that fail one after the other: then something is wrong with the worker
_NEIGHBOURS = 4  # units that are tried at least before the list is read again

_log = logging.getLogger(__name__)


class Work(Protocol):
    """What runs the units of one group; made from what they share."""

    @property
    def place(self) -> dict[str, str]:
        """The hardware, as far as results depend on it."""
        ...

    def run(self, payload: Any) -> bytes:
        """Do one unit."""
        ...

    def close(self) -> None:
        """Free what was loaded."""
        ...


@dataclass
class Told:
    """What a worker has done.

    Attributes:
        units: How many units it did.
        loads: How many groups it loaded.
        working: Seconds spent in units.
        loading: Seconds spent loading.
        problem: Why it stopped early; empty if it did not.
        failed: Groups that cannot be loaded here, with reasons.
    """

    units: int = 0
    loads: int = 0
    working: float = 0.0
    loading: float = 0.0
    problem: str = ""
    failed: dict[str, str] = field(default_factory=dict)


class Worker:
    """Works on jobs of one store.

    Args:
        store: The store.
        ordinal: Which of several workers that start together this is; they begin with different
            groups.
        lease: Seconds without a sign of life after which others take over.
        name: Its name in the store.

    Attributes:
        stopping: Set it from anywhere to make the worker stop after giving back its unit.
    """

    def __init__(
        self, store: Store, *, ordinal: int = 0, lease: float = LEASE, name: str | None = None
    ) -> None:
        host = "".join(c if c.isalnum() or c == "-" else "-" for c in socket.gethostname())
        self.name = name or f"{host[:40]}-{os.getpid()}-{secrets.token_hex(3)}"
        self.store = store
        self.told = Told()
        self.stopping = threading.Event()
        self._ordinal = ordinal
        self._lease = lease
        self._watch = Watch(store, lease)
        self._work: Work | None = None
        self._group: str | None = None
        self._loading = 0.0
        self._row: tuple[Queue, Row] | None = None
        self._beat = 0
        self._lock = threading.Lock()
        self._chance = random.Random(self.name)

    def run(self, job: str | None = None, *, idle: float = 0.0) -> Told:
        """Work until a job is finished, or there has been nothing to do for some time.

        Args:
            job: The job; all jobs of the store if None.
            idle: How long to wait for work, in seconds.

        Returns:
            What was done.
        """
        pulse = threading.Thread(target=self._live, daemon=True)
        self._sign()
        pulse.start()
        try:
            waited_since = time.monotonic()
            while not self.stopping.is_set() and not self.told.problem:
                before = self.told.units
                for name in [job] if job else sorted(self.store.names("jobs/")):
                    found = Job.read(self.store, name)
                    if found is not None:
                        self._do(found)
                if self.told.units > before:
                    waited_since = time.monotonic()
                if time.monotonic() - waited_since >= idle:
                    break
                self.stopping.wait(min(5.0, max(0.2, idle / 20)))
        except ClusterError as error:
            self.told.problem = str(error)
        finally:
            self.leave()
            pulse.join(1.0)
        return self.told

    def leave(self) -> None:
        """Give back what was claimed, and say so."""
        self.stopping.set()
        with self._lock, contextlib.suppress(ClusterError):
            if self._row is not None:
                queue, row = self._row
                queue.release(row)
                self._row = None
        group = self._group
        self._unload()
        with contextlib.suppress(ClusterError):
            self.store.delete(f"loading/{group}.{self.name}")
            self.store.delete(f"workers/{self.name}")

    def _do(self, job: Job) -> None:
        """Work on one job until it is finished, or there is nothing in it that can be done here."""
        queue = Queue(self.store, job)
        queue.refresh()
        in_a_row, wait = 0, 0.05
        while not self.stopping.is_set():
            group = self._choose(queue)
            if group is None:
                queue.refresh()
                groups = {queue.group_ids[row.group] for row in queue.left}
                if groups <= self._hopeless(queue):
                    return
                if self._choose(queue) is None and not queue.take_from_the_dead(self._watch):
                    self.stopping.wait(wait)
                    wait = min(wait * 1.5, self._lease / _BEATS, 5.0)
                continue
            if not self._load(job.groups[group]):
                continue
            wait = 0.05
            for ended in self._units(queue, group):
                in_a_row = 0 if ended is None else in_a_row + 1
                if in_a_row >= _IN_A_ROW:
                    self.told.problem = f"{in_a_row} units failed in a row, the last with: {ended}"
                    return

    def _choose(self, queue: Queue) -> int | None:
        """Return the group to work on: the one that is loaded, or where most is left to do."""
        open_ = queue.open()
        for group in open_:
            if queue.group_ids[group] == self._group:
                return group
        hopeless = self._hopeless(queue) if open_ else set()
        open_ = {g: rows for g, rows in open_.items() if queue.group_ids[g] not in hopeless}
        if not open_:
            return None
        # Groups with the most work for each worker; those that start together spread.
        others = self._watch.groups(self.name)
        left = {group: sum(row.weight for row in rows) for group, rows in open_.items()}
        ranked = sorted(
            open_, key=lambda g: left[g] / (1 + others[queue.group_ids[g]]), reverse=True
        )
        free = [g for g in ranked if not others[queue.group_ids[g]]] or ranked
        return free[self._ordinal % len(free)] if self._group is None else free[0]

    def _hopeless(self, queue: Queue) -> set[str]:
        """Return the groups that cannot be loaded here, or that killed whoever tried."""
        loaded = {queue.group_ids[row.group] for row in queue.job.rows if row.id in queue.done}
        return self.told.failed.keys() | (self._watch.fatal(self.name) - loaded)

    def _units(self, queue: Queue, group: int) -> Any:
        """Do the open units of a group; yield an error for each, or None."""
        taken = 0  # units in a row that others had
        rows = queue.open().get(group, [])
        while rows and not self.stopping.is_set():
            longer = max(_NEIGHBOURS, len(rows) // 2)  # several workers seldom try the same one
            row = rows.pop(self._chance.randrange(min(longer, len(rows))))
            if queue.claim(row, self.name):
                taken = 0
                yield self._run(queue, row)
                continue
            taken += 1
            if taken > _NEIGHBOURS:  # most of the list is stale: a look costs many requests
                queue.refresh()
                rows, taken = queue.open().get(group, []), 0

    def _run(self, queue: Queue, row: Row) -> str | None:
        """Do one unit; return the error, or None."""
        assert self._work is not None
        self._row = queue, row
        started = time.perf_counter()
        try:
            data = self._work.run(queue.job.payload(self.store, row))
        except Exception as error:
            with self._lock:
                self._row = None
            if self.stopping.is_set():
                queue.release(row)
                return None
            queue.fail(row, self.name, _said(error))
            label = queue.job.labels[row.label]
            _log.warning("a unit of %s failed: %s", label or row.id[:8], _said(error))
            return _said(error)
        seconds = time.perf_counter() - started
        with self._lock:
            if self._row is None:  # given back by leave(), while it was being finished
                return None
            loading, self._loading = self._loading, 0.0
            queue.commit(row, Result(data, self._work.place, self.name, seconds, loading))
            self._row = None
        self.told.units += 1
        self.told.working += seconds
        return None

    def _load(self, group: Group) -> bool:
        """Load what a group shares, unless it is; return whether that worked."""
        if group.id == self._group:
            return True
        self._unload()
        self._group = group.id
        self._sign()
        self.store.put(f"loading/{group.id}.{self.name}", b"")  # stays there if this is fatal
        started = time.perf_counter()
        try:
            self._work = _class(group.kind)(group.shared)
        except Exception as error:
            self._group = None
            self.told.failed[group.id] = _said(error)
            name = f"{group.label}: " if group.label else ""
            _log.warning("%s", printable(f"{name}{_said(error)}"))
            self.store.put_new(
                f"unloadable/{group.id}.{self.name}",
                json.dumps({"error": _said(error)}).encode(),
            )
            return False
        finally:
            self.store.delete(f"loading/{group.id}.{self.name}")
        self._loading = time.perf_counter() - started
        self.told.loads += 1
        self.told.loading += self._loading
        return True

    def _unload(self) -> None:
        work, self._work, self._group = self._work, None, None
        if work is not None:
            with contextlib.suppress(Exception):
                work.close()

    def _sign(self) -> None:
        """Write a sign of life."""
        self._beat += 1
        facts = {"beat": self._beat, "group": self._group, "units": self.told.units}
        self.store.put(f"workers/{self.name}", json.dumps(facts).encode())

    def _live(self) -> None:
        while not self.stopping.wait(self._lease / _BEATS):
            with contextlib.suppress(ClusterError):  # the store may be out of reach for a moment
                self._sign()
        with contextlib.suppress(ClusterError):
            self.store.delete(f"workers/{self.name}")


def _class(kind: str) -> Callable[[Any], Work]:
    if ":" in kind:
        module, _, name = kind.partition(":")
        made: Callable[[Any], Work] = getattr(import_module(module), name)
        return made
    loaded: Callable[[Any], Work] = UNITS.load(kind)
    return loaded


def _said(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, BoxpenError) and text else f"{type(error).__name__}: {text}"
