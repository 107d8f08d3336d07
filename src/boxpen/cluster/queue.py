"""Who does which unit: claims, failures and signs of life, agreed on in the store alone.

    claims/<group>/<unit>.<n>     who does it; n counts the failures before
    failures/<group>/<unit>.<n>   how the nth attempt ended: an error, or its worker died
    workers/<id>                  changes as long as the worker lives
    loading/<group>.<id>          there while a worker loads what a group shares
    refused/<group>.<id>          why a worker leaves a group to others

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
_WATCHED = 64  # claims at a time that one worker watches
_LOADING = 8  # workers at a time that are watched while they load one group
_LOOKS = 4  # per lease


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
    _seen: dict[str, tuple[bytes, float, float]] = field(default_factory=dict)

    def dead(self, workers: Iterable[str]) -> set[str]:
        """Return the workers that are no longer at work; call it again and again."""
        signs = self.store.names("workers/")
        return {name for name in workers if name not in signs or not self._changes(name)}

    def loading(self) -> dict[str, list[str]]:
        """Return who is loading each group, or died of it."""
        return self._by_group("loading/")

    def refused(self) -> dict[str, list[str]]:
        """Return who leaves each group to others."""
        return self._by_group("refused/")

    def refuse(self, group: str, worker: str, why: str) -> None:
        """Leave a group to others, and tell why."""
        self.store.put(f"refused/{group}.{worker}", _written(error=why))

    def why(self, group: str, worker: str) -> str:
        """Return why a worker leaves a group to others."""
        found = _read(self.store.get(f"refused/{group}.{worker}") or b"{}")
        return str(found.get("error", ""))

    def living(self) -> set[str]:
        """Return the workers that have signs of life, or had one lately."""
        signs = self.store.names("workers/")
        return signs - self.dead(signs)

    def fatal(self, loading: Iterable[str]) -> bool:
        """Whether several of those who load a group died of it."""
        few = list(loading)[:_LOADING]
        return len(few) >= ERRORS and len(self.dead(few)) >= ERRORS

    def _by_group(self, prefix: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self.store.names(prefix)):
            group, _, worker = name.partition(".")
            found.setdefault(group, []).append(worker)
        return found

    def _changes(self, worker: str) -> bool:
        """Whether a sign of life has changed within a lease; reads it a few times per lease."""
        now = time.monotonic()
        before, since, looked = self._seen.get(worker, (b"", now, now - self.lease))
        if now - looked >= self.lease / _LOOKS:
            sign = self.store.get(f"workers/{worker}")
            if sign is None:
                return False
            since = since if sign == before else now
            self._seen[worker] = sign, since, now
        return now - since < self.lease


class Queue:
    """The units of a job as one worker, or the one who waits for them, sees them.

    What others did since is learned from ``refresh`` and ``look``, or when a claim fails.

    Attributes:
        done: Units with a result.
        given_up: Units that failed too often.
        cost: How many seconds the last ``refresh`` took.
        gone: Whether the job is over, and has been removed.

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
        self.cost = 0.0
        self.gone = False
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
        started = time.monotonic()
        self.gone = not self.there()  # first: a job is only removed when all is done
        done = {name.rpartition("/")[2] for name in self.store.names("done/")} & self.rows.keys()
        if self.gone:  # and with it claims and failures
            self.done |= done
        else:
            self.done = done
            self._claimed, self._failed = {}, Counter()
            self._learn("claims/", "failures/")
        self.cost = time.monotonic() - started

    def there(self) -> bool:
        """Whether the job is still wanted."""
        return self.job.id in self.store.names("jobs/")

    def look(self, group: int) -> None:
        """Learn which units of one group others have claimed: two requests, however many."""
        self._learn(f"claims/{self.group_ids[group]}/", f"failures/{self.group_ids[group]}/")

    def open(self) -> dict[int, list[Row]]:
        """Return the units that nobody does, by group: the longest first, then those that failed.

        They are as of the last ``refresh`` or ``look``.
        """
        found: dict[int, list[Row]] = {}
        for row in self.left:
            if self._free(row.id):
                found.setdefault(row.group, []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (self._failed[row.id], -row.weight))
        return found

    def busy(self) -> Counter[int]:
        """Count the units of each group that somebody does, as of the last ``refresh``."""
        return Counter(row.group for row in self.left if not self._free(row.id))

    def loaded(self) -> set[int]:
        """Return the groups of which somebody has done a unit, as far as is known."""
        return {self.rows[unit].group for unit in self.done}

    def claim(self, row: Row, worker: str) -> bool:
        """Try to become the one who does a unit."""
        attempt = self._failed[row.id]
        won = self.store.put_new(self._claim(row.id, attempt), _written(worker=worker))
        self._claimed[row.id] = attempt
        return won

    def release(self, row: Row) -> None:
        """Give a claimed unit back, so that somebody else does it at once."""
        attempt = self._claimed.pop(row.id, None)
        if attempt is not None:
            self.store.delete(self._claim(row.id, attempt))

    def commit(self, row: Row, result: Result) -> None:
        """Keep a result, unless there is one already."""
        self.store.put_new(done_key(row.id), result.to_bytes())
        self.done.add(row.id)

    def fail(self, row: Row, worker: str, error: str) -> None:
        """Note that an attempt ended in an error, or, if it is empty, with a worker's death."""
        attempt = self._claimed.get(row.id, self._failed[row.id])
        key = self._key("failures", row.id, attempt)
        self.store.put_new(key, _written(worker=worker, error=error))
        self._failed[row.id] = attempt + 1
        if self._hopeless(row.id):
            self.given_up.add(row.id)

    def discard(self, unit: str) -> None:
        """Throw a damaged result away, so that the unit is done again."""
        self.store.delete(done_key(unit))
        self.done.discard(unit)
        for attempt in range(self._claimed.pop(unit, -1) + 1):
            self.store.delete(self._claim(unit, attempt))

    def take_from_the_dead(self, watch: Watch, first: int = 0) -> bool:
        """Free units that dead workers had claimed; return whether there were any.

        Args:
            watch: Tells who is dead.
            first: Any number. Workers with different ones begin with different claims, as none
                watches more than a few.
        """
        under_way = [row.id for row in self.left if not self._free(row.id)]
        first %= max(1, len(under_way))
        watched = (under_way[first:] + under_way[:first])[:_WATCHED]
        owners = {unit: self._owner(self._claim(unit, self._claimed[unit])) for unit in watched}
        dead = watch.dead({owner for owner in owners.values() if owner is not None})
        freed = False
        for unit, owner in owners.items():
            if owner is None or owner not in dead:
                continue
            if self.store.get(done_key(unit)) is not None:  # it committed, and then left
                self.done.add(unit)
                continue
            claim = self._claim(unit, self._claimed[unit])
            del self._owners[claim]
            if self._owner(claim) != owner:  # it was given back, and somebody else has it now
                continue
            self.fail(self.rows[unit], owner, "")
            self.store.delete(f"workers/{owner}")
            freed = True
        return freed

    def why(self, unit: str) -> str:
        """Return how a unit failed last: the newest error, or that its workers died."""
        last = ""
        for attempt in range(self._failed[unit]):
            error = self._failure(self._key("failures", unit, attempt)).error
            last = error or last
        return last or f"{self._failed[unit]} workers died on it"

    def retry(self) -> None:
        """Forget how units failed that were given up, so that they are tried again."""
        for unit in self.given_up:
            for attempt in range(self._failed[unit]):
                self.store.delete(self._key("failures", unit, attempt))
                self.store.delete(self._claim(unit, attempt))
        self._failures, self._owners = {}, {}
        self.refresh()

    def clear(self) -> None:
        """Remove what was only needed while the job ran; results stay."""
        for kind in ("claims/", "failures/"):
            for group in self.group_ids:
                for name in self.store.names(f"{kind}{group}/"):
                    if name.rpartition(".")[0] in self.rows:
                        self.store.delete(f"{kind}{group}/{name}")
        self.job.remove(self.store)

    def _key(self, kind: str, unit: str, attempt: int) -> str:
        return f"{kind}/{self.group_ids[self.rows[unit].group]}/{unit}.{attempt}"

    def _claim(self, unit: str, attempt: int) -> str:
        return self._key("claims", unit, attempt)

    def _free(self, unit: str) -> bool:
        return self._claimed.get(unit, -1) < self._failed[unit]

    def _hopeless(self, unit: str) -> bool:
        if self._failed[unit] < ERRORS:
            return False
        if self._failed[unit] >= _DEATHS:
            return True
        attempts = range(self._failed[unit])
        failures = (self._failure(self._key("failures", unit, n)) for n in attempts)
        return sum(bool(failure.error) for failure in failures) >= ERRORS

    def _failure(self, key: str) -> Failure:
        if key not in self._failures:
            found = _read(self.store.get(key) or b"{}")
            self._failures[key] = Failure(found.get("worker", ""), found.get("error", ""))
        return self._failures[key]

    def _owner(self, claim: str) -> str | None:
        """Return who has a claim; None if it has just been given back."""
        if claim not in self._owners:
            data = self.store.get(claim)
            if data is None:
                return None
            self._owners[claim] = str(_read(data).get("worker", ""))
        return self._owners[claim]

    def _learn(self, claims: str, failures: str) -> None:
        for unit, attempt in self._attempts(claims):
            self._claimed[unit] = max(attempt, self._claimed.get(unit, -1))
        for unit, attempt in self._attempts(failures):
            self._failed[unit] = max(attempt + 1, self._failed[unit])
        self.given_up = {unit for unit in self._failed if self._hopeless(unit)} - self.done

    def _attempts(self, prefix: str) -> Iterable[tuple[str, int]]:
        for name in self.store.names(prefix):
            unit, _, attempt = name.rpartition("/")[2].rpartition(".")
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
