"""A worker: takes units of a job from a store, one after the other, until none is left.

It loads what the units of a group share (a model) once, and stays with the group while there is
work in it. Several workers need to know nothing of each other; see ``queue``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from boxpen.cluster.queue import Queue, Watch
from boxpen.cluster.store import Store
from boxpen.cluster.units import Group, Job, JobGoneError, Result, Row
from boxpen.errors import BoxpenError, ClusterError
from boxpen.plugins import UNITS
from boxpen.printable import printable

__all__ = ["LEASE", "Told", "Work", "Worker"]

LEASE = 60.0
"""Seconds without a sign of life after which a worker counts as dead."""
_BEATS = 4  # signs of life per lease
_FIRST_WAIT = 0.05  # seconds
_IN_A_ROW = 3  # units that fail one after the other: then something is wrong with the worker
_NEIGHBOURS = 4  # units that are tried at least before the list is read again
_SHARE = 20  # who waits may spend one part in so many of the time on looking

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
        failed: Groups that cannot be done here, with reasons.
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
        self._queues: dict[str, Queue] = {}
        self._unreadable: set[str] = set()
        self._failing: dict[str, str] = {}  # groups, and how their units fail
        self._beat = 0
        self._lock = threading.Lock()
        self._chance = random.Random(self.name)
        self._place = self._chance.getrandbits(32)

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
            self._run_jobs(job, idle)
        except ClusterError as error:
            self.told.problem = str(error)
        finally:
            self.leave()
            pulse.join(1.0)
        return self.told

    def _run_jobs(self, job: str | None, idle: float) -> None:
        """Go round the jobs until there has been nothing to do for some time."""
        wait, since, queues = _FIRST_WAIT, time.monotonic(), list[Queue]()
        while not self.stopping.is_set():
            before = self.told.units
            queues = self._jobs(job)
            waiting = [self._do(queue) for queue in queues]
            if self.told.units > before:
                wait, since = _FIRST_WAIT, time.monotonic()
            elif any(waiting):  # others are at work on what is left, and may die
                since = time.monotonic()
            elif time.monotonic() - since >= idle:
                break
            cost = sum(queue.cost for queue in queues)
            self.stopping.wait(min(max(wait, _SHARE * cost), self._lease))
            wait = min(wait * 1.5, self._lease / _BEATS, 5.0)
        if job and not self.stopping.is_set():  # another process may do better
            ids = {queue.group_ids[row.group] for queue in queues for row in queue.left}
            self.told.problem = next((why for g, why in self._failing.items() if g in ids), "")

    def _jobs(self, job: str | None) -> list[Queue]:
        """Return the jobs of the store that can be read."""
        names = self.store.names("jobs/")
        names = names & {job} if job else names
        self._queues = {name: queue for name, queue in self._queues.items() if name in names}
        for name in sorted(names - self._queues.keys()):
            try:
                found = Job.read(self.store, name)
            except ClusterError as error:
                if job:
                    raise
                if name not in self._unreadable:
                    _log.warning("%s", printable(str(error)))
                self._unreadable.add(name)
                continue
            if found is not None:
                self._queues[name] = Queue(self.store, found)
        return list(self._queues.values())

    def leave(self) -> None:
        """Give back what was claimed, and say so."""
        self.stopping.set()
        with contextlib.suppress(ClusterError):
            self._give_back()
        group = self._group
        self._unload()
        with contextlib.suppress(ClusterError):
            self.store.delete(f"loading/{group}.{self.name}")
            self.store.delete(f"workers/{self.name}")

    def _give_back(self) -> None:
        """Give back the unit that is under way, if there is one."""
        with self._lock:
            if self._row is not None:
                queue, row = self._row
                self._row = None
                queue.release(row)

    def _do(self, queue: Queue) -> bool:
        """Do what is open in a job; return whether others are at work on the rest of it."""
        try:
            while not self.stopping.is_set():
                group = self._choose(queue)
                if group is None:
                    left = {row.group for row in queue.left}
                    if queue.gone or not self._doable(queue, left):
                        return False
                    if not queue.take_from_the_dead(self._watch, self._place):
                        return True
                elif self._load(queue.job.groups[group]):
                    self._do_group(queue, group)
        except JobGoneError:
            del self._queues[queue.job.id]  # another index may have taken its place
        return True

    def _do_group(self, queue: Queue, group: int) -> None:
        """Do the open units of a group, unless several fail one after the other."""
        in_a_row = 0
        for ended in self._units(queue, group):
            in_a_row = 0 if ended is None else in_a_row + 1
            if in_a_row >= _IN_A_ROW:
                why = f"{in_a_row} units failed in a row, the last with: {ended}"
                self._failing[queue.group_ids[group]] = why
                self._refuse(queue.job.groups[group], why)
                return

    def _choose(self, queue: Queue) -> int | None:
        """Return the group to work on: the one that is loaded, or where most is left to do."""
        for group in queue.open():
            if queue.group_ids[group] == self._group:
                return group
        queue.refresh()
        open_ = queue.open()
        if not open_ or queue.gone:
            return None
        # Groups with the most work for each worker; those that start together spread.
        loading, refused = self._watch.loading(), self._watch.refused()
        ids, busy = queue.group_ids, queue.busy()
        others = {g: busy[g] + len(loading.get(ids[g], ())) for g in open_}
        told = self.told
        if told.units and told.loading / told.loads > told.working / told.units:
            # Those who are at it will have done the rest before it is loaded here.
            few = {g for g, rows in open_.items() if len(rows) <= others[g]}
            dead = self._watch.dead({w for g in few for w in loading.get(ids[g], ())})
            for g in few:
                others[g] -= len(dead.intersection(loading.get(ids[g], ())))
            open_ = {group: rows for group, rows in open_.items() if len(rows) > others[group]}
        if not open_:
            return None
        left = {group: sum(row.weight for row in rows) for group, rows in open_.items()}
        ranked = sorted(open_, key=lambda g: left[g] / (1 + others[g]), reverse=True)
        free, taken = [g for g in ranked if not others[g]], [g for g in ranked if others[g]]
        if self._group is None:
            start = self._ordinal % len(free or taken)
            free, taken = free[start:] + free[:start], taken[start:] + taken[:start]
        # What made trouble for somebody comes last.
        best = sorted(free + taken, key=lambda g: ids[g] in refused)
        return next((g for g in best if self._doable(queue, {g}, loading, refused)), None)

    def _doable(
        self,
        queue: Queue,
        groups: set[int],
        loading: dict[str, list[str]] | None = None,
        refused: dict[str, list[str]] | None = None,
    ) -> bool:
        """Whether any group may be done here: it did not fail, nor kill those who loaded it."""
        loading = self._watch.loading() if loading is None else loading
        refused = self._watch.refused() if refused is None else refused
        loaded = queue.loaded()
        for group in groups:
            name = queue.group_ids[group]
            if self.name in refused.get(name, ()):
                continue
            if group in loaded or not self._watch.fatal(loading.get(name, ())):
                return True
        return False

    def _units(self, queue: Queue, group: int) -> Any:
        """Do the open units of a group; yield an error for each, or None."""
        taken = 0  # units in a row that others had
        checked = time.monotonic()
        rows = queue.open().get(group, [])
        while rows and not self.stopping.is_set():
            if time.monotonic() - checked > self._lease:
                checked = time.monotonic()
                if not queue.there():
                    raise JobGoneError(f"job {queue.job.id[:8]} was removed")
            longer = max(_NEIGHBOURS, len(rows) // 2)  # several workers seldom try the same one
            row = rows.pop(self._chance.randrange(min(longer, len(rows))))
            if queue.claim(row, self.name):
                taken = 0
                yield self._run(queue, row)
                continue
            taken += 1
            if taken > _NEIGHBOURS:  # most of the list is out of date
                queue.look(group)
                rows, taken = queue.open().get(group, []), 0

    def _run(self, queue: Queue, row: Row) -> str | None:
        """Do one unit; return the error, or None."""
        with self._lock:
            work = self._work
            if work is None or self.stopping.is_set():  # leave() was called meanwhile
                queue.release(row)
                return None
            self._row = queue, row
        started = time.perf_counter()
        try:
            data = work.run(queue.job.payload(self.store, row))
            place = work.place
        except JobGoneError:
            self._give_back()
            raise
        except Exception as error:
            if self.stopping.is_set():
                self._give_back()
                return None
            with self._lock:
                self._row = None
            queue.fail(row, self.name, _said(error))
            label = queue.job.labels[row.label]
            _log.warning("a unit of %s failed: %s", label or row.id[:8], _said(error))
            return _said(error)
        seconds = time.perf_counter() - started
        with self._lock:
            if self._row is None:  # given back by leave(), while it was being finished
                return None
            loading, self._loading = self._loading, 0.0
            queue.commit(row, Result(data, place, self.name, seconds, loading))
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
        self.store.put(f"loading/{group.id}.{self.name}", b"")  # stays there if this is fatal
        started = time.perf_counter()
        try:
            kind: Callable[[Any], Work] = UNITS.load(group.kind)
            self._work = kind(group.shared)
        except Exception as error:
            self._refuse(group, _said(error))
            return False
        finally:
            self.store.delete(f"loading/{group.id}.{self.name}")
        self._loading = time.perf_counter() - started
        self.told.loads += 1
        self.told.loading += self._loading
        return True

    def _refuse(self, group: Group, why: str) -> None:
        """Leave a group to others, and let them know why."""
        self._unload()
        self.told.failed[group.id] = why
        name = f"{group.label}: " if group.label else ""
        _log.warning("%s", printable(f"{name}{why}"))
        self._watch.refuse(group.id, self.name, why)

    def _unload(self) -> None:
        work, self._work, self._group = self._work, None, None
        if work is not None:
            with contextlib.suppress(Exception):
                work.close()

    def _sign(self) -> None:
        """Write a sign of life."""
        self._beat += 1
        self.store.put(f"workers/{self.name}", b"%d" % self._beat)

    def _live(self) -> None:
        while not self.stopping.wait(self._lease / _BEATS):
            with contextlib.suppress(ClusterError):  # the store may be out of reach for a moment
                self._sign()
        with contextlib.suppress(ClusterError):
            self.store.delete(f"workers/{self.name}")


def _said(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, BoxpenError) and text else f"{type(error).__name__}: {text}"
