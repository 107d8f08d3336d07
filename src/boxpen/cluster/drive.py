"""Have a job done: submit it, start workers, wait, and read what has come of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from boxpen.cluster.queue import ERRORS, Queue, Watch
from boxpen.cluster.store import Store
from boxpen.cluster.units import Job, Result, Unit, done_key, read_result, submit
from boxpen.cluster.worker import LEASE

__all__ = ["Executor", "Outcome", "have_done"]

Progress = Callable[..., None]
_POLL = 0.25  # seconds between looks at the store, at least
_SHARE = 20  # a look may take one part in so many of the time


class Executor(Protocol):
    """Starts workers of one job, and replaces those that die."""

    def start(self, store: Store, job: str) -> None:
        """Start the workers."""
        ...

    def tend(self, done: int) -> bool:
        """Replace workers that died; return whether any is left or may still come.

        Args:
            done: How many units are done; workers are not replaced for ever while none is.
        """
        ...

    def stop(self) -> None:
        """Stop the workers; they give back what they have not finished."""
        ...

    @property
    def problems(self) -> list[str]:
        """Why workers stopped, for readers."""
        ...


@dataclass(frozen=True)
class Outcome:
    """A job that ended.

    Attributes:
        job: The job.
    """

    store: Store
    job: Job
    missing: dict[str, str]
    lost: int = 0

    def results(self) -> Iterator[tuple[str, Result]]:
        """Yield the results by unit, in the order of the job."""
        for row in self.job.rows:
            if row.id not in self.missing:
                found = read_result(self.store, row.id)
                assert found is not None  # have_done() has read it
                yield row.id, found

    def forget(self, *, results: bool = False) -> None:
        """Remove everything from the store, or everything but the results."""
        Queue(self.store, self.job).clear()
        if results:
            for row in self.job.rows:
                self.store.delete(done_key(row.id))


def have_done(
    store: Store,
    units: Iterable[Unit],
    executor: Executor,
    progress: Progress | None = None,
) -> Outcome:
    """Have all units done, those excepted that fail again and again.

    Units that have a result are not done again, whoever did them. Call it again with the same
    units to go on where an earlier call was interrupted, from any machine.

    Args:
        store: Where units and results are kept.
        units: The units.
        executor: Who does them.
        progress: Called with a label, the number of its units that are done, and the total.
    """
    job = submit(store, units)
    queue = Queue(store, job)
    queue.refresh()
    queue.clear(failures_only=True)  # what was given up is tried again
    _forget_unloadable(store, queue)
    shown = _Shown(queue, progress)
    watch = Watch(store, LEASE)
    while True:
        _wait(queue, executor, shown, watch)
        damaged = [u for u in queue.done if read_result(store, u) is None]
        if not damaged:
            break
        for unit in damaged:
            queue.discard(unit)
    reasons = _unloadable(queue, watch)
    missing = {
        row.id: queue.why(row.id)
        if row.id in queue.given_up
        else reasons.get(queue.group_ids[row.group])
        or next(iter(executor.problems), "no worker was left to do it")
        for row in job.rows
        if row.id not in queue.done
    }
    return Outcome(store, job, missing, queue.lost)


def _wait(queue: Queue, executor: Executor, shown: _Shown, watch: Watch) -> None:
    """Return when all is done or given up, or nobody is left to do it."""
    shown()
    if queue.finished:
        return
    executor.start(queue.store, queue.job.id)
    try:
        while True:
            started = time.monotonic()
            working = executor.tend(len(queue.done))
            queue.refresh()
            shown()
            if queue.finished or not working or _hopeless(queue, watch):
                return
            time.sleep(max(_POLL, _SHARE * (time.monotonic() - started)))
    finally:
        executor.stop()


class _Shown:
    """Progress by label."""

    def __init__(self, queue: Queue, progress: Progress | None) -> None:
        self._queue, self._progress = queue, progress
        self._totals = Counter(row.label for row in queue.job.rows)
        self._last: dict[int, int] = {}

    def __call__(self) -> None:
        if self._progress is None:
            return
        over = self._queue.done | self._queue.given_up
        counts = Counter(row.label for row in self._queue.job.rows if row.id in over)
        for label, total in self._totals.items():
            if self._last.get(label) != counts[label]:
                self._last[label] = counts[label]
                self._progress(self._queue.job.labels[label], counts[label], total)


def _hopeless(queue: Queue, watch: Watch) -> bool:
    """Whether all that is left cannot be loaded anywhere."""
    loaded = {row.group for row in queue.job.rows if row.id in queue.done}
    left = {queue.group_ids[row.group] for row in queue.left if row.group not in loaded}
    if not left or any(row.group in loaded for row in queue.left):
        return False
    counts = Counter(name.partition(".")[0] for name in queue.store.names("unloadable/"))
    refused = {group for group, count in counts.items() if count >= ERRORS}
    return left <= refused or left <= refused | watch.fatal()


def _unloadable(queue: Queue, watch: Watch) -> dict[str, str]:
    """Return why groups could not be loaded."""
    store = queue.store
    found = dict.fromkeys(
        watch.fatal(), f"{ERRORS} workers died while they loaded it; is there enough memory?"
    )
    for name in store.names("unloadable/"):
        group = name.partition(".")[0]
        data = store.get(f"unloadable/{name}") if group in queue.group_ids else None
        if data is not None:
            found[group] = str(json.loads(data)["error"])
    return found


def _forget_unloadable(store: Store, queue: Queue) -> None:
    for kind in ("unloadable/", "loading/"):
        for name in store.names(kind):
            if name.partition(".")[0] in queue.group_ids:
                store.delete(kind + name)
