"""Have a job done: submit it, start workers, wait, and read what has come of it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Protocol

from boxpen.cluster.queue import ERRORS, Queue, Watch
from boxpen.cluster.store import Store
from boxpen.cluster.units import Job, Result, Unit, done_key, read_result, submit
from boxpen.cluster.worker import LEASE
from boxpen.errors import ClusterError
from boxpen.printable import printable

__all__ = ["Executor", "Outcome", "have_done"]

Progress = Callable[..., None]
_log = logging.getLogger(__name__)
_POLL = 0.25  # seconds between looks at the store, at least
_AT_ONCE = 8  # results that are read at the same time
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
        units = [row.id for row in self.job.rows if row.id not in self.missing]
        for unit, found in _read(self.store, units):
            if found is None:  # have_done() has read it
                raise ClusterError(
                    f"a result vanished from {self.store.url}; run the same command again"
                )
            yield unit, found

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
    queue.retry()  # what was given up
    shown = _Shown(queue, progress)
    refusals = _Refusals(queue, LEASE)
    while True:
        _wait(queue, executor, shown, refusals)
        damaged = [unit for unit, result in _read(store, queue.done) if result is None]
        if not damaged:
            break
        for unit in damaged:
            queue.discard(unit)
    reasons = refusals.reasons()
    missing = {
        row.id: queue.why(row.id)
        if row.id in queue.given_up
        else reasons.get(queue.group_ids[row.group])
        or ("another command removed the job; run this again" if queue.gone else "")
        or next(iter(executor.problems), "no worker was left to do it")
        for row in job.rows
        if row.id not in queue.done
    }
    return Outcome(store, job, missing, queue.lost)


def _read(store: Store, units: Iterable[str]) -> Iterator[tuple[str, Result | None]]:
    """Yield results, read several at a time, as a store may be far away."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = iter(units)
        while some := list(islice(waiting, _AT_ONCE)):
            yield from zip(some, pool.map(partial(read_result, store), some), strict=True)


def _wait(queue: Queue, executor: Executor, shown: _Shown, refusals: _Refusals) -> None:
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
            refusals.look()
            if queue.finished or queue.gone or not working or refusals.final:
                return
            looked = time.monotonic() - started
            time.sleep(min(max(_POLL, _SHARE * looked), LEASE))
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


class _Refusals:
    """Groups that workers cannot load, or whose units only fail.

    Attributes:
        final: Whether all that is left is refused, and nobody can be expected to do it.
    """

    def __init__(self, queue: Queue, lease: float) -> None:
        self.final = False
        self._queue, self._lease = queue, lease
        self._watch = Watch(queue.store, lease)
        self._told: set[str] = set()
        self._since: float | None = None
        for kind in ("refused/", "loading/"):  # of an earlier command: it is tried again
            for name in queue.store.names(kind):
                if name.partition(".")[0] in queue.group_ids:
                    queue.store.delete(kind + name)

    def look(self) -> None:
        """See what workers refuse, and tell what is new."""
        self.final = False
        refused, fatal = self._watch.refused(), self._fatal()
        for group in self._queue.job.groups:
            if group.id in refused and group.id not in self._told:
                self._told.add(group.id)
                name = group.label or group.id[:8]
                why = self._watch.why(group.id, refused[group.id][0])
                _log.warning("%s", printable(f"{name}: {why}"))
        left = {row.group for row in self._queue.left}
        ids = {self._queue.group_ids[group] for group in left}
        if left and ids <= fatal:
            self.final = True
        elif left and ids <= fatal | refused.keys() and not self._willing(ids - fatal, refused):
            self._since = self._since or time.monotonic()  # another worker may come
            self.final = time.monotonic() - self._since >= self._lease
        else:
            self._since = None

    def _willing(self, groups: set[str], refused: dict[str, list[str]]) -> bool:
        """Whether any living worker has not refused one of some groups."""
        living = self._watch.living()
        return any(living - set(refused[group]) for group in groups)

    def reasons(self) -> dict[str, str]:
        """Return why groups are refused."""
        found = {group: self._watch.why(group, workers[0])
                 for group, workers in self._watch.refused().items()}  # fmt: skip
        why = f"{ERRORS} workers died while they loaded it; is there enough memory?"
        return dict.fromkeys(self._fatal(), why) | found

    def _fatal(self) -> set[str]:
        """Return the groups that several workers died of while they loaded them."""
        loaded = {self._queue.group_ids[group] for group in self._queue.loaded()}
        loading = self._watch.loading()
        return {g for g in loading.keys() - loaded if self._watch.fatal(loading[g])}
