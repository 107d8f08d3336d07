"""The score cache: one SQLite file in which nothing is ever scored twice.

The key is a hash of everything that can change a log-probability: the model's fingerprint
(weights, tokenizer, dtype), the settled policy fields, and the request. Batches are committed as
they are scored, so a run that was killed resumes by being started again, and does over the last
few at most. Write-ahead logging lets several processes share one file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from boxpen.errors import CacheError
from boxpen.scoring.requests import Record

__all__ = ["ScoreCache", "cache_key"]

APPLICATION_ID = 0x426F7850  # "BoxP"
SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0
_PENDING = 2  # batches that may wait to be committed
_LOOKUP = 500  # keys per query, well under SQLite's limit on variables

_SCHEMA = """
CREATE TABLE records (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE translations (key BLOB PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""


SCORES = 1
"""Raised when a mend of the code changes log-probabilities, so that old ones are not served."""


def cache_key(fingerprint: str, settings: Mapping[str, object], parts: Sequence[object]) -> bytes:
    """Return the key of one request (its fields) to one model under some settings."""
    text = json.dumps([SCORES, fingerprint, sorted(settings.items()), list(parts)])
    return hashlib.sha256(text.encode()).digest()


class ScoreCache:
    """A mapping from keys to records and translations, kept on disk.

    Args:
        path: The file, made if it is not there; ``:memory:`` keeps everything in memory.

    Raises:
        CacheError: If the file cannot be opened, or is not a cache of this version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        with self._guard("open"):
            if path != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Used by one thread at a time: that of ``writing``, as long as it lasts.
            self._db = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

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
        """Close the file."""
        self._db.close()

    def records(self, keys: Sequence[bytes]) -> dict[bytes, Record]:
        """Return the records of those keys that are known."""
        found: dict[bytes, Record] = {}
        for rows in self._rows("SELECT * FROM records WHERE key IN ({})", keys):
            for key, ids, logprobs, unscored, unknown, truncated, crossing in rows:
                if len(ids) != len(logprobs) or len(ids) % 4:
                    raise CacheError(f"{self.path} is damaged; name another file, or remove it")
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
        self._insert(
            "INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
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
            ],
        )

    @contextlib.contextmanager
    def writing(self) -> Iterator[Callable[[Sequence[tuple[bytes, Record]]], None]]:
        """Give a function that commits a batch of records while the caller goes on.

        What went wrong is raised at a later call, or at the end, when all is committed.
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
        found: dict[bytes, str] = {}
        for rows in self._rows("SELECT key, text FROM translations WHERE key IN ({})", keys):
            found.update(rows)
        return found

    def add_translations(self, translations: Iterable[tuple[bytes, str]]) -> None:
        """Commit a batch of translations; those already there stay as they are."""
        self._insert("INSERT OR IGNORE INTO translations VALUES (?, ?)", list(translations))

    def _prepare(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")  # two processes may make the file at once
        try:
            application = self._pragma("application_id")
            version = self._pragma("user_version")
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables == 0 and application == 0:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            elif application != APPLICATION_ID:
                raise CacheError(f"{self.path} is a database but not a boxpen cache; name another")
            elif version != SCHEMA_VERSION:
                raise CacheError(
                    f"{self.path} is a cache of format {version}, this boxpen reads format "
                    f"{SCHEMA_VERSION}; name another file"
                )
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        # Only now: it writes to the file, which might have been somebody else's.
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def _rows(self, query: str, keys: Sequence[bytes]) -> Iterator[list[Any]]:
        with self._guard("read"):
            for start in range(0, len(keys), _LOOKUP):
                part = keys[start : start + _LOOKUP]
                yield self._db.execute(query.format(",".join("?" * len(part))), part).fetchall()

    def _insert(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._guard("write"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany(statement, rows)
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _guard(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise CacheError(f"{self.path} is not a boxpen cache; name another file") from None
            if "full" in str(error):
                raise CacheError(
                    f"the disk is full: {self.path} could not be written; what was scored before "
                    "is kept, and the same command goes on from there"
                ) from None
            raise CacheError(f"cannot {verb} the cache {self.path}: {error}") from None
        except OSError as error:
            raise CacheError(f"cannot {verb} the cache {self.path}: {error.strerror}") from None
