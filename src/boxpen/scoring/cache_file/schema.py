"""The tables of the score cache, the checksums of their rows, and older formats.

A *batch* is what one model was scored on in one day. When a batch was last used is all that is
written down of use: pruning drops whole batches, and looking up rows costs nothing more.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from boxpen.errors import CacheError

__all__ = [
    "APPLICATION_ID", "CHECKSUMS", "FORMAT", "NOT_A_ROW", "damage", "pragma", "prepare",
    "record_checksum", "text_checksum",
]  # fmt: skip

APPLICATION_ID = 0x426F7850  # "BoxP"
FORMAT = 3

NOT_A_ROW = (TypeError, ValueError, AttributeError, struct.error)
"""What computing a checksum can raise."""

_TABLES = {
    "records": """CREATE TABLE records (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL, checksum BLOB NOT NULL,
    batch INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID""",
    "translations": """CREATE TABLE translations (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL,
    batch INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID""",
    "batches": """CREATE TABLE batches (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL,
    UNIQUE (model, made)
)""",
}
_NUMBERS = struct.Struct("<4q")


def prepare(db: sqlite3.Connection, path: object) -> int:
    """Make the tables, or upgrade those of an older format; inside a transaction.

    Returns:
        How many damaged rows were dropped.

    Raises:
        CacheError: If the file is another program's, or of a newer format.
    """
    application, version = pragma(db, "application_id"), pragma(db, "user_version")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    dropped = 0
    if not names and application == 0:
        for statement in _TABLES.values():
            db.execute(statement)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        _add_first_batch(db)
    elif application != APPLICATION_ID:
        raise CacheError(f"{path} is a database but not a boxpen cache; name another")
    elif version == 1:
        dropped = _from_format_1(db)
    elif version == 2:
        _from_format_2(db)
    elif version != FORMAT:
        raise CacheError(
            f"{path} is a cache of format {version}, this boxpen reads format {FORMAT}; name "
            "another file"
        )
    if any(_columns(db, table) != shape for table, shape in _shapes().items()):
        raise damage("the tables are not those of a boxpen cache")  # others may add theirs
    if version != FORMAT:
        db.execute(f"PRAGMA user_version={FORMAT}")
    return dropped


def pragma(db: sqlite3.Connection, name: str) -> int:
    """Return a number that SQLite keeps."""
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def damage(reason: str) -> sqlite3.DatabaseError:
    """Return the error of a damaged database."""
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def record_checksum(key: bytes, ids: bytes, logprobs: bytes, *numbers: int) -> bytes:
    """Return the checksum of a row of ``records``."""
    if len(ids) != len(logprobs) or len(ids) % 4:
        raise ValueError("as many tokens as log-probabilities, of four bytes each")
    content = key + ids + logprobs + _NUMBERS.pack(*numbers)
    return hashlib.blake2b(content, digest_size=8).digest()


def text_checksum(key: bytes, text: str) -> bytes:
    """Return the checksum of a row of ``translations``."""
    return hashlib.blake2b(key + text.encode(), digest_size=8).digest()


CHECKSUMS: dict[str, Callable[..., bytes]] = {
    "records": record_checksum,
    "translations": text_checksum,
}


def _columns(db: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """Return names, types, whether they must be given, and the places in the primary key."""
    found = db.execute(f"PRAGMA table_info({table})").fetchall()
    return [(name, kind, given, place) for _, name, kind, given, _, place in found]


@cache
def _shapes() -> dict[str, list[tuple[Any, ...]]]:
    db = sqlite3.connect(":memory:")
    try:
        for statement in _TABLES.values():
            db.execute(statement)
        return {table: _columns(db, table) for table in _TABLES}
    finally:
        db.close()


def _add_first_batch(db: sqlite3.Connection) -> None:
    """Add the batch of rows of which no model is known."""
    db.execute("INSERT OR IGNORE INTO batches VALUES (0, '', 0, ?)", (int(time.time()),))


def _from_format_2(db: sqlite3.Connection) -> None:
    """Add the batches; no row is rewritten."""
    for table in CHECKSUMS:
        if _columns(db, table) != _shapes()[table][:-1]:
            raise damage("the tables are not those of format 2")
        db.execute(f"ALTER TABLE {table} ADD COLUMN batch INTEGER NOT NULL DEFAULT 0")
    db.execute(_TABLES["batches"])
    _add_first_batch(db)


def _from_format_1(db: sqlite3.Connection) -> int:
    """Give the rows their checksums; return how many cannot be right and are dropped."""
    dropped = 0
    for table, checksum in (("records", _record_checksum_1), ("translations", text_checksum)):
        names = [column[0] for column in _shapes()[table][:-2]]
        if [column[0] for column in _columns(db, table)] != names:
            raise damage("the tables are not those of format 1")
        db.create_function("checksum", len(names), _or_none(checksum))
        db.execute(f"ALTER TABLE {table} RENAME TO format_1")
        db.execute(_TABLES[table])
        copied = db.execute(
            f"INSERT OR IGNORE INTO {table} "  # ignored: rows without a checksum
            f"SELECT *, checksum({', '.join(names)}), 0 FROM format_1"
        ).rowcount
        dropped += db.execute("SELECT count(*) FROM format_1").fetchone()[0] - copied
        db.execute("DROP TABLE format_1")
    db.execute(_TABLES["batches"])
    _add_first_batch(db)
    return dropped


def _record_checksum_1(key: bytes, ids: bytes, logprobs: bytes, *numbers: int) -> bytes:
    """Return the checksum of a row that had none, unless it cannot be right."""
    if not np.isfinite(np.frombuffer(logprobs, dtype="<f4")).all():
        raise ValueError("a log-probability is not finite")
    return record_checksum(key, ids, logprobs, *numbers)


def _or_none(checksum: Callable[..., bytes]) -> Callable[..., bytes | None]:
    def checked(*row: Any) -> bytes | None:
        try:
            return checksum(*row)
        except NOT_A_ROW:
            return None

    return checked
