"""Units: pieces of work that are named after their content, done once, and kept.

A *job* is the list of units that somebody waits for. The payloads are packed into *sheets*, for a
store is slow to fetch many small objects, and neighbours are mostly run by one worker.

    jobs/<job>             the index: groups, labels, and where each unit is
    sheets/<index>.<n>     payloads of neighbouring units, of this index alone
    done/<ab>/<unit>       the result, whichever job asked for it
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from boxpen.cluster.store import Store
from boxpen.errors import ClusterError

__all__ = [
    "Group",
    "Job",
    "JobGoneError",
    "Result",
    "Row",
    "Unit",
    "done_key",
    "read_result",
    "submit",
]

FORMAT = 1
"""Raised when the same content must be computed again, as its results mean something else."""
_SHEET_UNITS = 64
_SHEET_BYTES = 1 << 20
_MOST = 1 << 30  # bytes of an unpacked index or sheet


class JobGoneError(ClusterError):
    """A job was removed, or replaced by another index of the same units."""


@dataclass(frozen=True)
class Group:
    """What units have in common, and a worker loads once.

    Attributes:
        kind: The name of what runs them, of ``plugins.UNITS``.
        shared: What it is made from, a JSON value.
        label: What it is called in messages.
    """

    kind: str
    shared: Any
    label: str = ""

    @property
    def id(self) -> str:
        """The digest of the content."""
        return _digest([self.kind, self.shared])


@dataclass(frozen=True)
class Unit:
    """A piece of work.

    Attributes:
        group: What it has in common with others.
        payload: What is to be done, a JSON value.
        weight: How long it takes, in any measure; longer ones are done first.
        label: What progress counts it under.
    """

    group: Group
    payload: Any
    weight: float = 1.0
    label: str = ""

    @property
    def id(self) -> str:
        """The digest of the content."""
        return _digest([FORMAT, self.group.kind, self.group.shared, self.payload])


@dataclass(frozen=True, slots=True)
class Row:
    """A unit in the index of a job: everything but its payload."""

    id: str
    group: int
    weight: float
    label: int
    sheet: int
    place: int


@dataclass(frozen=True)
class Job:
    """The index of a job.

    Attributes:
        id: The digest of its units.
        index: What distinguishes this index from others of the same units.
        rows: The units, in the order in which they came.
        groups: What the rows call by number.
        labels: The same.
    """

    id: str
    index: str
    rows: Sequence[Row]
    groups: Sequence[Group]
    labels: Sequence[str]
    _sheets: dict[int, list[Any]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, store: Store, name: str) -> Job | None:
        """Return a job; None if it is finished and gone."""
        data = store.get(f"jobs/{name}")
        if data is None:
            return None
        try:
            index = json.loads(_unzipped(data))
            if index["format"] != FORMAT:
                raise ClusterError(
                    f"job {name[:8]} in {store.url} is of another version of boxpen; use the same "
                    "version everywhere"
                )
            groups = [Group(*group) for group in index["groups"]]
            rows = [Row(*row) for row in index["rows"]]
            return cls(name, index["index"], rows, groups, index["labels"])
        except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error):
            raise ClusterError(
                f"job {name[:8]} in {store.url} is damaged; delete jobs/{name} there"
            ) from None

    def sheet_key(self, number: int) -> str:
        """Return where payloads are kept."""
        return f"sheets/{self.index}.{number}"

    def remove(self, store: Store) -> None:
        """Remove the sheets, and the index unless another has taken its place."""
        there = Job.read(store, self.id)
        if there is not None and there.index == self.index:
            store.delete(f"jobs/{self.id}")
        for number in {row.sheet for row in self.rows}:
            store.delete(self.sheet_key(number))

    def payload(self, store: Store, row: Row) -> Any:
        """Return what is to be done."""
        if row.sheet not in self._sheets:
            data = store.get(self.sheet_key(row.sheet))
            if data is None:
                raise JobGoneError(f"job {self.id[:8]} is gone from {store.url}")
            try:
                found = json.loads(_unzipped(data))
            except (ValueError, OSError, EOFError, zlib.error):
                raise ClusterError(
                    f"{self.sheet_key(row.sheet)} in {store.url} is damaged"
                ) from None
            self._sheets.clear()  # one is enough: neighbours come one after the other
            self._sheets[row.sheet] = found
        return self._sheets[row.sheet][row.place]


def submit(store: Store, units: Iterable[Unit]) -> Job:
    """Write the sheets and the index of a job; equal units become one.

    Sheets belong to one index: nothing that another job removes is missing here. An index of the
    same units, left by a driver that was killed, is replaced, and its sheets are removed.

    Args:
        store: Where to.
        units: Those that have something in common next to each other; they are not all held in
            memory.
    """
    rows: dict[str, Row] = {}
    groups: dict[str, tuple[int, Group]] = {}
    labels: dict[str, int] = {}
    known_groups: dict[int, tuple[Group, str]] = {}
    token = secrets.token_hex(8)
    for sheet_number, sheet in enumerate(_sheets(units, rows)):
        data = gzip.compress(_json([unit.payload for _, unit in sheet]), 3, mtime=0)
        store.put(f"sheets/{token}.{sheet_number}", data)
        for place, (id_, unit) in enumerate(sheet):
            group = unit.group
            if id(group) not in known_groups:  # kept there, so that no other gets its id
                known_groups[id(group)] = group, group.id
            number, _ = groups.setdefault(known_groups[id(group)][1], (len(groups), group))
            label = labels.setdefault(unit.label, len(labels))
            rows[id_] = Row(id_, number, unit.weight, label, sheet_number, place)
    job_id = hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()[:32]
    job = Job(job_id, token, list(rows.values()), [g for _, g in groups.values()], list(labels))
    index = {
        "format": FORMAT,
        "index": token,
        "groups": [[g.kind, g.shared, g.label] for g in job.groups],
        "labels": job.labels,
        "rows": [[r.id, r.group, r.weight, r.label, r.sheet, r.place] for r in job.rows],
    }
    before = None
    with contextlib.suppress(ClusterError):  # one that cannot be read
        before = Job.read(store, job_id)
    store.put(f"jobs/{job_id}", gzip.compress(_json(index), 3, mtime=0))
    if before is not None:
        before.remove(store)
    return job


def _sheets(units: Iterable[Unit], known: dict[str, Row]) -> Iterator[list[tuple[str, Unit]]]:
    """Yield runs of new units of one group, few enough for a sheet."""
    sheet: list[tuple[str, Unit]] = []
    size = 0
    seen: set[str] = set()
    for unit in units:
        id_ = unit.id
        if id_ in known or id_ in seen:
            continue
        if sheet and (
            sheet[-1][1].group is not unit.group
            or len(sheet) >= _SHEET_UNITS
            or size >= _SHEET_BYTES
        ):
            yield sheet
            sheet, size, seen = [], 0, set()
        sheet.append((id_, unit))
        seen.add(id_)
        size += len(_json(unit.payload))
    if sheet:
        yield sheet


@dataclass(frozen=True)
class Result:
    """What has come of a unit.

    Attributes:
        data: What its kind returned.
        place: The hardware it was computed on, as far as results depend on it.
        worker: Who did it.
        seconds: How long that took.
        loading: How long loading took before it, if this was the first unit of its group there.
    """

    data: bytes
    place: dict[str, str]
    worker: str
    seconds: float
    loading: float = 0.0

    def to_bytes(self) -> bytes:
        """Return the object that is kept in the store."""
        head = {
            "worker": self.worker, "place": self.place, "seconds": round(self.seconds, 4),
            "loading": round(self.loading, 4), "size": len(self.data), "sum": _sum(self.data),
        }  # fmt: skip
        return _json(head) + b"\n" + self.data


def done_key(unit: str) -> str:
    """Return where the result of a unit is kept."""
    return f"done/{unit[:2]}/{unit}"


def read_result(store: Store, unit: str) -> Result | None:
    """Return what has come of a unit; None if it is not done, or what is there is damaged."""
    data = store.get(done_key(unit))
    if data is None:
        return None
    try:
        first, _, rest = data.partition(b"\n")
        head = json.loads(first)
        if len(rest) != head["size"] or _sum(rest) != head["sum"]:
            return None
        return Result(rest, head["place"], head["worker"], head["seconds"], head["loading"])
    except (ValueError, KeyError, TypeError):
        return None


def _sum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _unzipped(data: bytes) -> bytes:
    """Decompress what a store holds, up to a size that no job has."""
    with gzip.open(io.BytesIO(data)) as stream:
        found = stream.read(_MOST + 1)
    if len(found) > _MOST:
        raise ValueError("it is too large")
    return found
