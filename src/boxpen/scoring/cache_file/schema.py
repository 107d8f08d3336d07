"""The tables of the score cache, the checksums of their rows, and older formats.

A *batch* is what one model scored on one day. Only batches have a time of last use: pruning drops
whole batches, and looking up rows costs nothing more. Rows of ``batches`` are never deleted, so an
id always means the same model.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from boxpen.errors import CacheError

__all__ = [
    "APPLICATION_ID", "CHECKSUMS", "COLUMNS", "FORMAT", "NOT_A_ROW", "batch_id", "damage",
    "known_batches", "pragma", "prepare", "record_checksum", "text_checksum",
]  # fmt: skip

APPLICATION_ID = 0x426F7850  # "BoxP"
FORMAT = 4

NOT_A_ROW = (TypeError, ValueError, AttributeError, struct.error)
"""What computing a checksum can raise."""

# A format with other columns must give its tables other names: a running process of an older
# version would take their rows for damaged.
_TABLES = {
    "scores": """CREATE TABLE scores (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL, checksum BLOB NOT NULL,
    batch INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID""",
    "texts": """CREATE TABLE texts (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL,
    batch INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID""",
    "batches": """CREATE TABLE batches (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL,
    UNIQUE (model, made)
)""",
}
COLUMNS = {
    "scores": "key, token_ids, logprobs, unscored, unknown, truncated, crossing, checksum, batch",
    "texts": "key, text, checksum, batch",
}
_FORMER = {"scores": "records", "texts": "translations"}  # names in formats 2 and 3
_LATEST = 253402300799  # the end of the year 9999
_NUMBERS = struct.Struct("<4q")


def prepare(db: sqlite3.Connection, path: object) -> None:
    """Make the tables, or upgrade those of an older format; inside a transaction.

    Raises:
        CacheError: If the file is another program's, or of a newer format.
    """
    application, version = pragma(db, "application_id"), pragma(db, "user_version")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if not names and application == 0:
        for statement in _TABLES.values():
            db.execute(statement)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        _add_first_batch(db)
    elif application != APPLICATION_ID:
        raise CacheError(f"{path} is a database but not a boxpen cache; name another")
    elif version in (2, 3):
        _upgrade(db, version)
    elif version != FORMAT:
        raise CacheError(
            f"{path} is a cache of format {version}, this boxpen reads format {FORMAT}; name "
            "another file"
        )
    if any(_columns(db, table) != shape for table, shape in _shapes().items()):
        raise damage("the tables are not those of a boxpen cache")  # others may add theirs
    if version != FORMAT:
        db.execute(f"PRAGMA user_version={FORMAT}")


def batch_id(db: sqlite3.Connection, model: str, made: int, used: int) -> int:
    """Return the id of a batch, which is added if it is new; inside a transaction."""
    db.execute(
        "INSERT OR IGNORE INTO batches (model, made, used) VALUES (?, ?, ?)", (model, made, used)
    )
    found = db.execute("SELECT id FROM batches WHERE model = ? AND made = ?", (model, made))
    return int(found.fetchone()[0])


def known_batches(db: sqlite3.Connection) -> dict[int, tuple[str, int, int]]:
    """Return model, first use and last use of every batch, by id; without damaged ones."""
    query = (
        "SELECT id, model, made, used FROM batches WHERE typeof(model) = 'text' AND "
        f"typeof(made) = 'integer' AND made BETWEEN 0 AND {_LATEST} AND "
        f"typeof(used) = 'integer' AND used BETWEEN 0 AND {_LATEST}"
    )
    return {number: (model, made, used) for number, model, made, used in db.execute(query)}


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
    "scores": record_checksum,
    "texts": text_checksum,
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
    db.execute(
        "INSERT INTO batches (id, model, made, used) VALUES (0, '', 0, ?)", (int(time.time()),)
    )


def _upgrade(db: sqlite3.Connection, version: int) -> None:
    """Rename the tables, and add the batches to those of format 2; no row is rewritten.

    Views with the old names let processes of the older version continue to read and add rows.
    """
    for table, former in _FORMER.items():
        columns = COLUMNS[table].removesuffix("" if version == 3 else ", batch")
        names = columns.split(", ")
        if [name for name, *_ in _columns(db, former)] != names:
            raise damage(f"the tables are not those of format {version}")
        db.execute(f"ALTER TABLE {former} RENAME TO {table}")
        if version == 2:
            db.execute(f"ALTER TABLE {table} ADD COLUMN batch INTEGER NOT NULL DEFAULT 0")
        db.execute(f"CREATE VIEW {former} AS SELECT {columns} FROM {table}")
        values = ", ".join(f"new.{name}" for name in names)
        db.execute(
            f"CREATE TRIGGER add_to_{table} INSTEAD OF INSERT ON {former} "
            f"BEGIN INSERT OR IGNORE INTO {table} ({columns}) VALUES ({values}); END"
        )
    if version == 2:
        db.execute(_TABLES["batches"])
        _add_first_batch(db)
