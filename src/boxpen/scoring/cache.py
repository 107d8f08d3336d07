"""The score cache: one SQLite file in which nothing is ever scored twice.

The key is a hash of everything that can change a log-probability: the model's fingerprint
(weights, tokenizer, dtype), the resolved policy fields, and the request. Batches are committed as
they are scored, so a run that was killed resumes by being started again, and does over the last
few at most. Write-ahead logging lets several processes share one file.

Every row has a checksum. A damaged row is dropped and scored again; a database that SQLite cannot
read is set aside under another name and rebuilt from the rows that can still be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from boxpen.errors import CacheError
from boxpen.printable import printable
from boxpen.scoring.cache_file.aside import NotOursError, inode, recovered, set_aside
from boxpen.scoring.cache_file.schema import (
    CHECKSUMS,
    COLUMNS,
    NOT_A_ROW,
    batch_id,
    damage,
    prepare,
)
from boxpen.scoring.cache_file.upkeep import (
    Batch,
    Pruned,
    batches,
    disk_size,
    file_size,
    parse_size,
    prune,
    shrink,
)
from boxpen.scoring.requests import Record

__all__ = ["ScoreCache", "cache_key"]

_BUSY_SECONDS = 60.0
_PENDING = 2  # batches that may wait to be committed
_LOOKUP = 500  # keys per query, well under SQLite's limit on variables

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG}

_DAY = 86400
LIMIT = "BOXPEN_CACHE_LIMIT"
"""The environment variable with the size that a cache is pruned to after a command adds to it."""
_SMALLEST = 10**6  # bytes: a smaller limit is a mistake

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


SCORES = 1
"""Increased when a fix changes log-probabilities, so that old ones are not used."""


def cache_key(fingerprint: str, settings: Mapping[str, object], parts: Sequence[object]) -> bytes:
    """Return the key of one request (its fields) to one model under some settings."""
    text = json.dumps([SCORES, fingerprint, sorted(settings.items()), list(parts)])
    return hashlib.sha256(text.encode()).digest()


class ScoreCache:
    """A mapping from keys to records and translations on disk.

    Damage is logged as a warning, once, when the cache is closed.

    Args:
        path: The file, created if missing; ``:memory:`` keeps everything in memory.

    Attributes:
        refused: Why nothing will ever be found under some keys; not on disk, and usually empty.
        damaged: Number of damaged rows dropped so far.
        set_aside: Where damaged databases were moved.
        recovered: Number of rows taken over from them.

    Raises:
        CacheError: If the file cannot be opened, or is not a cache of this version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self.refused: dict[bytes, str] = {}
        self.damaged = 0
        self.set_aside: list[Path] = []
        self.recovered = 0
        self._unread: list[Path] = []  # databases set aside, not yet read
        self._used: set[int] = set()  # batches that rows were found in
        self._added = False
        limit = os.environ.get(LIMIT) if path != ":memory:" else None
        self._limit = parse_size(limit, LIMIT, _SMALLEST) if limit else None
        self._inode: tuple[int, int] | None = None
        self._lock = threading.RLock()  # one transaction at a time
        with self._guard("open"):
            if path != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._healed("open", self._open)

    def __enter__(self) -> ScoreCache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and log what was found damaged."""
        with contextlib.suppress(CacheError):  # only bookkeeping
            self._note_use()
            if self._added:
                self._keep_limit()
        self._added = False  # a cache may be closed twice
        self._db.close()
        path = printable(str(self.path))
        for place in self.set_aside:
            name = printable(place.name)
            _log.warning(
                f"the score cache {path} was damaged: moved to {name} and rebuilt with "
                f"{self.recovered:,} of its rows"
            )
        if self.damaged:
            _log.warning(f"{self.damaged} damaged row(s) dropped from the score cache {path}")
        self.damaged, self.recovered, self.set_aside = 0, 0, []

    def records(self, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records of those keys that are known."""
        found: dict[bytes, Record] = {}
        for row in self._rows("scores", keys):
            key, ids, logprobs, unscored, unknown, truncated, crossing, _, _ = row
            found[key] = Record(
                token_ids=np.frombuffer(ids, dtype="<i4"),
                logprobs=np.frombuffer(logprobs, dtype="<f4"),
                unscored=unscored,
                unknown=unknown,
                truncated=bool(truncated),
                crossing=bool(crossing),
            )
        return found

    def add_records(self, records: Iterable[tuple[bytes, Record]], model: str = "") -> None:
        """Commit records; those already there stay as they are.

        Args:
            records: Keys and records.
            model: The name of the model, for those who prune the cache.
        """
        rows = [
            (
                key,
                r.token_ids.astype("<i4").tobytes(),
                r.logprobs.astype("<f4").tobytes(),
                r.unscored,
                r.unknown,
                int(r.truncated),
                int(r.crossing),
            )
            for key, r in records
        ]
        self._insert("scores", rows, model)

    @contextlib.contextmanager
    def writing(
        self, model: str = ""
    ) -> Iterator[Callable[[Sequence[tuple[bytes, Record]]], None]]:
        """Yield a function that commits a batch of a model's records in the background.

        Errors are raised by a later call, or at the end, when everything is committed.
        """
        pending: deque[Future[None]] = deque()

        def write(records: Sequence[tuple[bytes, Record]]) -> None:
            pending.append(thread.submit(self.add_records, records, model))
            while pending and (pending[0].done() or len(pending) > _PENDING):
                pending.popleft().result()

        with ThreadPoolExecutor(max_workers=1) as thread:
            yield write
            while pending:
                pending.popleft().result()

    def translations(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the translations of those keys that are known."""
        return {key: text for key, text, *_ in self._rows("texts", keys)}

    def add_translations(self, translations: Iterable[tuple[bytes, str]], model: str = "") -> None:
        """Commit translations of a model; those already there stay as they are."""
        self._insert("texts", list(translations), model)

    def usage(self) -> list[Batch]:
        """Return what each model has in the cache, the least recently used first."""
        return self._healed("read", lambda: batches(self._db))

    def prune(
        self,
        *,
        keep: int | None = None,
        older_than: float | None = None,
        model: str | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove the least recently used, and give the space back to the disk if that is possible.

        Other processes may use the cache meanwhile; they score again what is gone.

        Args:
            keep: Stop when the file has no more than this many bytes.
            older_than: Only what was not used for this many seconds.
            model: Only scores of the model of this name.
            dry_run: Only count.

        Raises:
            CacheError: If there are no scores of this model.
        """
        choice: Any = {"older_than": older_than, "model": model, "dry_run": dry_run}
        self._note_use()
        done = self._healed("prune", lambda: prune(self._db, keep=keep, **choice))
        if dry_run:
            return done
        rows = done.rows
        for _ in range(3):  # sizes of rows are estimates
            shrunk = self._healed("prune", lambda: shrink(self._db))
            if keep is None or self._healed("prune", lambda: file_size(self._db)) <= keep:
                break
            more = self._healed("prune", lambda: prune(self._db, keep=keep, **choice)).rows
            rows += more
            if not more:
                break
        after = self._healed("prune", lambda: disk_size(self._db))
        return Pruned(rows, done.before, after, shrunk)

    def check(self) -> int:
        """Read every row, drop the damaged, and return how many are whole.

        A database that is damaged elsewhere is set aside and rebuilt.
        """

        def sound() -> None:
            (found,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise damage(found)

        self._healed("check", sound)
        whole = 0
        for table in CHECKSUMS:
            last = b""
            while keys := self._healed("check", self._next_keys(table, last)):
                whole += sum(1 for _ in self._rows(table, keys))
                last = keys[-1]
        self._used.clear()  # that was no use
        return whole

    def _next_keys(self, table: str, last: bytes) -> Callable[[], list[bytes]]:
        query = f"SELECT key FROM {table} WHERE key > ? ORDER BY key LIMIT {_LOOKUP}"
        return lambda: [key for (key,) in self._db.execute(query, (last,))]

    def _open(self) -> None:
        # Used by several threads, one at a time.
        self._db = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # Damaged text must reach the checksum instead of raising.
            self._db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            if self.path != ":memory:":
                self._inode = inode(self.path)
            with self._transaction():  # two processes may make or upgrade the file at once
                prepare(self._db, self.path)
            # Only now: it writes to the file, which might have been somebody else's.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            self._db.close()
            raise

    def _rows(self, table: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows with these keys, checksum and batch last; drop those that are damaged."""
        checksum = CHECKSUMS[table]
        for start in range(0, len(keys), _LOOKUP):
            damaged = []
            for row in self._healed("read", self._lookup(table, keys[start : start + _LOOKUP])):
                try:
                    whole = checksum(*row[:-2]) == row[-2]
                except NOT_A_ROW:
                    whole = False
                if whole:
                    self._used.add(row[-1])
                    yield row
                else:
                    damaged.append(row[:1])
            if damaged:
                self.damaged += len(damaged)
                self._write(f"DELETE FROM {table} WHERE key = ?", damaged)

    def _lookup(self, table: str, keys: Sequence[bytes]) -> Callable[[], list[tuple[Any, ...]]]:
        query = f"SELECT {COLUMNS[table]} FROM {table} WHERE key IN ({','.join('?' * len(keys))})"
        asked = set(keys)

        def work() -> list[tuple[Any, ...]]:
            rows = self._db.execute(query, keys).fetchall()
            if not asked.issuperset(row[0] for row in rows):
                raise damage("rows are out of place")
            return rows

        return work

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]], model: str) -> None:
        if not rows:
            return
        checksum = CHECKSUMS[table]
        name, now = printable(model), int(time.time())
        checked = [(*row, checksum(*row)) for row in rows]
        places = ", ".join("?" * len(checked[0]))

        def work() -> None:
            with self._transaction():  # asks for the id each time: the file may be a new one
                batch = batch_id(self._db, name, now - now % _DAY, now) if name else 0
                self._db.executemany(
                    f"INSERT OR IGNORE INTO {table} ({COLUMNS[table]}) VALUES ({places}, {batch})",
                    checked,
                )
            self._used.add(batch)
            self._added = True

        self._healed("write", work)

    def _note_use(self) -> None:
        """Write down which batches were used; once, as the cache is closed."""
        used = [(int(time.time()), one) for one in self._used if isinstance(one, int)]
        if used:
            self._write("UPDATE batches SET used = ? WHERE id = ?", used)
        self._used.clear()

    def _keep_limit(self) -> None:
        if self._limit is None:
            return
        if self._healed("read", lambda: file_size(self._db)) > self._limit:
            done = self.prune(keep=self._limit * 9 // 10)  # not at every run
            path = printable(str(self.path))
            _log.warning(f"the score cache {path} passed {LIMIT}: {done.rows:,} rows pruned")

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        def work() -> None:
            with self._transaction():
                self._db.executemany(statement, rows)

        self._healed("write", work)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def _healed(self, verb: str, work: Callable[[], _T]) -> _T:
        """Do the work; if the database is damaged, set it aside, rebuild it, and work again."""
        with self._lock, self._guard(verb):
            try:
                return work()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not (_is_damage(error) and self._move_aside()):
                    raise
                self._open()
                self._recover()
                return work() if verb != "open" else cast(_T, None)

    def _move_aside(self) -> bool:
        """Rename a damaged cache; return whether a new one can be opened in its place."""
        self._db.close()
        if self.path == ":memory:":
            return False
        try:
            place = set_aside(Path(self.path), self._inode)
        except NotOursError:
            return False
        if place is not None:
            self.set_aside.append(place)
            self._unread.append(place)
        return True

    def _recover(self) -> None:
        """Take over what can be read of a database that was just set aside."""
        self._used.clear()
        while self._unread:
            self.recovered += recovered(self._db, self._unread.pop())

    @contextlib.contextmanager
    def _guard(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise CacheError(f"{self.path} is not a boxpen cache; name another file") from None
            if "full" in str(error):
                raise CacheError(
                    f"the disk is full: {self.path} could not be written; earlier scores are kept, "
                    "so rerun the same command to resume"
                ) from None
            raise CacheError(f"cannot {verb} the cache {self.path}: {error}") from None
        except UnicodeDecodeError:
            raise CacheError(f"cannot {verb} the cache {self.path}: it is damaged") from None
        except OSError as error:
            raise CacheError(f"cannot {verb} the cache {self.path}: {error.strerror}") from None


def _is_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError):
        return True  # a message of SQLite's that quotes a damaged schema
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
