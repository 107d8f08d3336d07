"""The score cache: one SQLite file in which nothing is ever scored twice.

The key is a hash of everything that can change a log-probability: the model's fingerprint
(weights, tokenizer, dtype), the resolved policy fields, and the request. Batches are committed as
they are scored, so a run that was killed resumes by being started again, and does over the last
few at most. Write-ahead logging lets several processes share one file.

Every row has a checksum. A damaged row is dropped and scored again; a database that SQLite cannot
read is set aside under another name and rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import sqlite3
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from boxpen.errors import CacheError
from boxpen.printable import printable
from boxpen.scoring.requests import Record

__all__ = ["ScoreCache", "cache_key"]

APPLICATION_ID = 0x426F7850  # "BoxP"
SCHEMA_VERSION = 2
_BUSY_SECONDS = 60.0
_PENDING = 2  # batches that may wait to be committed
_LOOKUP = 500  # keys per query, well under SQLite's limit on variables

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG}

_TABLES = {
    "records": """CREATE TABLE records (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL, checksum BLOB NOT NULL
) WITHOUT ROWID""",
    "translations": """CREATE TABLE translations (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL
) WITHOUT ROWID""",
}

_NUMBERS = struct.Struct("<4q")
_NOT_A_ROW = (TypeError, ValueError, AttributeError, struct.error)  # of a checksum

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

    Raises:
        CacheError: If the file cannot be opened, or is not a cache of this version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self.refused: dict[bytes, str] = {}
        self.damaged = 0
        self.set_aside: list[Path] = []
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
        self._db.close()
        path = printable(str(self.path))
        for place in self.set_aside:
            name = printable(place.name)
            _log.warning(f"the score cache {path} was damaged: moved to {name} and rebuilt")
        if self.damaged:
            _log.warning(f"{self.damaged} damaged row(s) dropped from the score cache {path}")
        self.damaged, self.set_aside = 0, []

    def records(self, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records of those keys that are known."""
        found: dict[bytes, Record] = {}
        for row in self._rows("records", keys, _record_checksum):
            key, ids, logprobs, unscored, unknown, truncated, crossing, _ = row
            found[key] = Record(
                token_ids=np.frombuffer(ids, dtype="<i4"),
                logprobs=np.frombuffer(logprobs, dtype="<f4"),
                unscored=unscored,
                unknown=unknown,
                truncated=bool(truncated),
                crossing=bool(crossing),
            )
        return found

    def add_records(self, records: Iterable[tuple[bytes, Record]]) -> None:
        """Commit a batch of records; those already there stay as they are."""
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
        self._insert("records", [(*row, _record_checksum(*row)) for row in rows])

    @contextlib.contextmanager
    def writing(self) -> Iterator[Callable[[Sequence[tuple[bytes, Record]]], None]]:
        """Yield a function that commits a batch of records in the background.

        Errors are raised by a later call, or at the end, when everything is committed.
        """
        pending: deque[Future[None]] = deque()

        def write(records: Sequence[tuple[bytes, Record]]) -> None:
            pending.append(thread.submit(self.add_records, records))
            while pending and (pending[0].done() or len(pending) > _PENDING):
                pending.popleft().result()

        with ThreadPoolExecutor(max_workers=1) as thread:
            yield write
            while pending:
                pending.popleft().result()

    def translations(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the translations of those keys that are known."""
        rows = self._rows("translations", keys, _text_checksum)
        return {key: text for key, text, _ in rows}

    def add_translations(self, translations: Iterable[tuple[bytes, str]]) -> None:
        """Commit a batch of translations; those already there stay as they are."""
        rows = [(key, text, _text_checksum(key, text)) for key, text in translations]
        self._insert("translations", rows)

    def _open(self) -> None:
        # Used by several threads, one at a time.
        self._db = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # Damaged text must reach the checksum instead of raising.
            self._db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            if self.path != ":memory:":
                self._inode = _inode(self.path)
            with self._transaction():  # two processes may make or upgrade the file at once
                self._prepare()
            # Only now: it writes to the file, which might have been somebody else's.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        application = self._pragma("application_id")
        version = self._pragma("user_version")
        tables = dict(self._db.execute("SELECT name, sql FROM sqlite_master"))
        if not tables and application == 0:
            for statement in _TABLES.values():
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        elif application != APPLICATION_ID:
            raise CacheError(f"{self.path} is a database but not a boxpen cache; name another")
        elif version == 1:
            self._upgrade()
        elif version != SCHEMA_VERSION:
            raise CacheError(
                f"{self.path} is a cache of format {version}, this boxpen reads format "
                f"{SCHEMA_VERSION}; name another file"
            )
        elif not _TABLES.items() <= tables.items():  # ANALYZE or an index add others
            raise _damage("the tables are not those of a boxpen cache")
        if version != SCHEMA_VERSION:
            self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _upgrade(self) -> None:
        """Give the rows of format 1 their checksums; those that cannot be right are dropped."""
        for table, checksum, columns in (
            ("records", _record_checksum_1, 7),
            ("translations", _text_checksum, 2),
        ):
            if len(self._db.execute(f"PRAGMA table_info({table})").fetchall()) != columns:
                raise _damage("the tables are not those of format 1")
            self._db.create_function("checksum", columns, _or_none(checksum))
            self._db.execute(f"ALTER TABLE {table} RENAME TO format_1")
            self._db.execute(_TABLES[table])
            names = [row[1] for row in self._db.execute("PRAGMA table_info(format_1)")]
            copied = self._db.execute(
                f"INSERT OR IGNORE INTO {table} "  # ignored: rows without a checksum
                f"SELECT *, checksum({', '.join(names)}) FROM format_1"
            ).rowcount
            self.damaged += self._db.execute("SELECT count(*) FROM format_1").fetchone()[0] - copied
            self._db.execute("DROP TABLE format_1")

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def _rows(
        self, table: str, keys: Sequence[bytes], checksum: Callable[..., bytes]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows with these keys, checksum last; drop those that are damaged."""
        for start in range(0, len(keys), _LOOKUP):
            damaged = []
            for row in self._healed("read", self._lookup(table, keys[start : start + _LOOKUP])):
                try:
                    whole = checksum(*row[:-1]) == row[-1]
                except _NOT_A_ROW:
                    whole = False
                if whole:
                    yield row
                else:
                    damaged.append(row[:1])
            if damaged:
                self.damaged += len(damaged)
                self._write(f"DELETE FROM {table} WHERE key = ?", damaged)

    def _lookup(self, table: str, keys: Sequence[bytes]) -> Callable[[], list[tuple[Any, ...]]]:
        query = f"SELECT * FROM {table} WHERE key IN ({','.join('?' * len(keys))})"
        asked = set(keys)

        def work() -> list[tuple[Any, ...]]:
            rows = self._db.execute(query, keys).fetchall()
            if not asked.issuperset(row[0] for row in rows):
                raise _damage("rows are out of place")
            return rows

        return work

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._write(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)

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
                if verb != "open":
                    self._open()
                return work()

    def _move_aside(self) -> bool:
        """Rename a damaged cache; return whether a new one can be opened in its place."""
        self._db.close()
        if self.path == ":memory:":
            return False
        path = Path(self.path)
        try:
            import fcntl

            with path.open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)  # of several processes, one renames it
                if _inode(path) != self._inode:
                    return True
                header = stream.read(72)
                mark = struct.pack(">I", APPLICATION_ID)
                if header[:16] != b"SQLite format 3\0" or header[68:] != mark:
                    return False  # it may be somebody else's
                place = _claimed(path)
                # The database last: a new one under its name would lose its own -wal to this loop.
                # A process that opens the damaged one in between may leave a -wal; SQLite drops
                # that when it makes the new database.
                for suffix in ("-journal", "-wal", "-shm", ""):
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{path}{suffix}").rename(f"{place}{suffix}")
        except FileNotFoundError:  # another process has just renamed it
            return True
        except ImportError:
            return False
        self.set_aside.append(place)
        return True

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


def _claimed(path: Path) -> Path:
    """Create an empty file for a damaged cache, under a name that no other process has taken."""
    for number in itertools.count(1):
        place = path.with_name(f"{path.name}.damaged-{number}")
        with contextlib.suppress(FileExistsError):
            place.touch(exist_ok=False)
            break
    return place


def _record_checksum(key: bytes, ids: bytes, logprobs: bytes, *numbers: int) -> bytes:
    if len(ids) != len(logprobs) or len(ids) % 4:
        raise ValueError("as many tokens as log-probabilities, of four bytes each")
    content = key + ids + logprobs + _NUMBERS.pack(*numbers)
    return hashlib.blake2b(content, digest_size=8).digest()


def _record_checksum_1(key: bytes, ids: bytes, logprobs: bytes, *numbers: int) -> bytes:
    """Return the checksum of a row that had none, unless it cannot be right."""
    if not np.isfinite(np.frombuffer(logprobs, dtype="<f4")).all():
        raise ValueError("a log-probability is not finite")
    return _record_checksum(key, ids, logprobs, *numbers)


def _text_checksum(key: bytes, text: str) -> bytes:
    return hashlib.blake2b(key + text.encode(), digest_size=8).digest()


def _or_none(checksum: Callable[..., bytes]) -> Callable[..., bytes | None]:
    def checked(*row: Any) -> bytes | None:
        try:
            return checksum(*row)
        except _NOT_A_ROW:
            return None

    return checked


def _damage(reason: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError):
        return True  # a message of SQLite's that quotes a damaged schema
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _inode(path: Path | str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_dev, found.st_ino
