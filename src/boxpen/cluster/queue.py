"""Who does which unit: claims, failures and signs of life, agreed on in the store alone.

    claims/<unit>.<n>     who does it; n counts the failures before
    failures/<unit>.<n>   how the nth attempt ended: an error, or its worker died
    workers/<id>          changes as long as the worker lives
    loading/<group>.<id>  there while a worker loads what a group shares

Every step creates an object that must not be there yet, so of several workers one succeeds. Clocks
of machines are never compared: a worker is dead if its sign of life has not changed for a whole
lease *while somebody watched*, by the watcher's own clock.

Two workers may still do one unit, if one of them was only very slow. That costs time, nothing else:
the first result is kept, and they do not differ.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from boxpen.cluster.store import Store
from boxpen.cluster.units import Job, Result, Row, done_key

__all__ = ["ERRORS", "Failure", "Queue", "Watch"]

ERRORS = 3
"""How often a unit may end in an error, or loading in a death, before it is given up."""
_DEATHS = 6
"""How often it may fail in all: the death of a worker is seldom the unit's fault."""


@dataclass(frozen=True)
class Failure:
    """How an attempt ended: with an error, or, if that is empty, with the worker's death."""

    worker: str
    error: str


@dataclass
class Watch:
    """Tells which workers are alive, from signs that change.

    Args:
        store: Where the signs are.
        lease: Seconds without a change after which a worker counts as dead.
    """

    store: Store
    lease: float
    _seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)

    def alive(self, worker: str) -> bool:
        """Whether a worker may still be at work; call it again and again."""
        sign = self.store.get(f"workers/{worker}")
        if sign is None:
            return False
        now = time.monotonic()
        before, since = self._seen.get(worker, (b"", now))
        if sign != before:
            since = now
        self._seen[worker] = sign, since
        return now - since < self.lease

    def groups(self, but: str) -> Counter[str]:
        """Count the other workers that say they are at work on each group.

        Args:
            but: The worker who asks.
        """
        counts: Counter[str] = Counter()
        for worker in self.store.names("workers/"):
            sign = self.store.get(f"workers/{worker}") if worker != but else None
            if sign is not None:
                counts[str(_read(sign).get("group"))] += 1
        return counts

    def fatal(self, but: str = "") -> set[str]:
        """Return the groups that several workers died of while they loaded them.

        Args:
            but: The worker who asks.
        """
        deaths: Counter[str] = Counter()
        for name in self.store.names("loading/"):
            group, _, worker = name.partition(".")
            if worker != but and not self.alive(worker):
                deaths[group] += 1
        return {group for group, count in deaths.items() if count >= ERRORS}


class Queue:
    """The units of a job as one worker, or the one who waits for them, sees them.

    What others did since is learned from ``refresh``, or when a claim fails.

    Attributes:
        done: Units with a result.
        given_up: Units that failed too often.

    Args:
        store: Where the job is.
        job: The job.
    """

    def __init__(self, store: Store, job: Job) -> None:
        self.store, self.job = store, job
        self.rows = {row.id: row for row in job.rows}
        self.group_ids = [group.id for group in job.groups]
        self.done: set[str] = set()
        self.given_up: set[str] = set()
        self._claimed: dict[str, int] = {}  # the newest attempt of each
        self._failed: Counter[str] = Counter()
        self._failures: dict[str, Failure] = {}
        self._owners: dict[str, str] = {}

    @property
    def finished(self) -> bool:
        """Whether every unit is done or given up, as far as is known."""
        return len(self.done) + len(self.given_up) >= len(self.rows)

    @property
    def left(self) -> list[Row]:
        """The units that are neither done nor given up, as far as is known."""
        over = self.done | self.given_up
        return [row for row in self.job.rows if row.id not in over]

    @property
    def lost(self) -> int:
        """How many attempts ended in an error or a death, as far as is known."""
        return sum(self._failed.values())

    def refresh(self) -> None:
        """Learn what others did."""
        done = {name.rpartition("/")[2] for name in self.store.names("done/")}
        self.done = done & self.rows.keys()
        self._claimed = {}
        for unit, attempt in self._attempts("claims/"):
            self._claimed[unit] = max(attempt, self._claimed.get(unit, -1))
        self._failed = Counter()
        for unit, attempt in self._attempts("failures/"):
            self._failed[unit] = max(attempt + 1, self._failed[unit])
        self.given_up = {unit for unit in self._failed if self._hopeless(unit)} - self.done

    def open(self) -> dict[int, list[Row]]:
        """Return the units that nobody does, by group: the longest first, then those that failed.

        They are as of the last ``refresh``.
        """
        found: dict[int, list[Row]] = {}
        for row in self.left:
            if self._free(row.id):
                found.setdefault(row.group, []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (self._failed[row.id], -row.weight))
        return found

    def claim(self, row: Row, worker: str) -> bool:
        """Try to become the one who does a unit."""
        attempt = self._failed[row.id]
        key = f"{row.id}.{attempt}"
        won = self.store.put_new(f"claims/{key}", _written(worker=worker))
        self._claimed[row.id] = attempt
        return won

    def release(self, row: Row) -> None:
        """Give a claimed unit back, so that somebody else does it at once."""
        self.store.delete(f"claims/{row.id}.{self._claimed.pop(row.id)}")

    def commit(self, row: Row, result: Result) -> None:
        """Keep a result, unless there is one already."""
        self.store.put_new(done_key(row.id), result.to_bytes())
        self.done.add(row.id)

    def fail(self, row: Row, worker: str, error: str) -> None:
        """Note that an attempt ended in an error, or, if it is empty, with a worker's death."""
        attempt = self._claimed.get(row.id, self._failed[row.id])
        self.store.put_new(f"failures/{row.id}.{attempt}", _written(worker=worker, error=error))
        self._failed[row.id] = attempt + 1
        if self._hopeless(row.id):
            self.given_up.add(row.id)

    def discard(self, unit: str) -> None:
        """Throw a damaged result away, so that the unit is done again."""
        self.store.delete(done_key(unit))
        self.done.discard(unit)
        for name in [n for n in self.store.names("claims/") if n.startswith(f"{unit}.")]:
            self.store.delete(f"claims/{name}")

    def take_from_the_dead(self, watch: Watch) -> bool:
        """Free the units that dead workers had claimed; return whether there were any."""
        freed = False
        for unit, attempt in list(self._claimed.items()):
            if unit not in self.rows or unit in self.done or unit in self.given_up:
                continue
            if attempt < self._failed[unit]:
                continue
            owner = self._owner(f"{unit}.{attempt}")
            if owner is None or watch.alive(owner):
                continue
            if self.store.get(done_key(unit)) is not None:  # it committed, and then left
                self.done.add(unit)
                continue
            self.fail(self.rows[unit], owner, "")
            freed = True
        return freed

    def why(self, unit: str) -> str:
        """Return how a unit failed last: the newest error, or that its workers died."""
        last = ""
        for attempt in range(self._failed[unit]):
            error = self._failure(f"{unit}.{attempt}").error
            last = error or last
        return last or f"{self._failed[unit]} workers died on it"

    def clear(self, *, failures_only: bool = False) -> None:
        """Remove what was only needed while the job ran; results stay."""
        for kind in ("failures/",) if failures_only else ("claims/", "failures/"):
            for name in self.store.names(kind):
                unit = name.rpartition(".")[0]
                if unit in self.rows and (not failures_only or unit in self.given_up):
                    self.store.delete(kind + name)
        if failures_only:
            for name in self.store.names("claims/"):
                if name.rpartition(".")[0] in self.given_up:
                    self.store.delete(f"claims/{name}")
            self._failures, self._owners = {}, {}
            self.refresh()
            return
        self.store.delete(f"jobs/{self.job.id}")
        used = self._used_by_others()
        for sheet in {row.sheet for row in self.job.rows} - used:
            self.store.delete(f"sheets/{sheet}")

    def _used_by_others(self) -> set[str]:
        others = (Job.read(self.store, name) for name in self.store.names("jobs/"))
        return {row.sheet for job in others if job is not None for row in job.rows}

    def _free(self, unit: str) -> bool:
        return self._claimed.get(unit, -1) < self._failed[unit]

    def _hopeless(self, unit: str) -> bool:
        if self._failed[unit] < ERRORS or unit not in self.rows:
            return False
        if self._failed[unit] >= _DEATHS:
            return True
        failures = (self._failure(f"{unit}.{n}") for n in range(self._failed[unit]))
        return sum(bool(failure.error) for failure in failures) >= ERRORS

    def _failure(self, name: str) -> Failure:
        if name not in self._failures:
            found = _read(self.store.get(f"failures/{name}") or b"{}")
            self._failures[name] = Failure(found.get("worker", ""), found.get("error", ""))
        return self._failures[name]

    def _owner(self, claim: str) -> str | None:
        """Return who has a claim; None if it has just been given back."""
        if claim not in self._owners:
            data = self.store.get(f"claims/{claim}")
            if data is None:
                return None
            self._owners[claim] = str(_read(data).get("worker", ""))
        return self._owners[claim]

    def _attempts(self, prefix: str) -> Iterable[tuple[str, int]]:
        for name in self.store.names(prefix):
            unit, _, attempt = name.rpartition(".")
            if unit in self.rows and attempt.isdigit():
                yield unit, int(attempt)


def _written(**facts: Any) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode()


def _read(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}  # half written, on a file system without links
    return found if isinstance(found, dict) else {}
