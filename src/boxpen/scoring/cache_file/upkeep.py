"""How large the score cache is, for which models, and how it is kept within a size."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from boxpen.errors import CacheError
from boxpen.scoring.cache_file.schema import CHECKSUMS, known_batches, pragma

__all__ = [
    "EARLIER", "Batch", "Pruned", "batches", "disk_size", "file_size", "parse_age", "parse_size",
    "prune", "shrink",
]  # fmt: skip

EARLIER = "(earlier versions)"
"""The name that users see for scores of no known model."""

_CHUNK = 20_000  # rows deleted at a time: others may write in between
_WAIT = 5000  # milliseconds for other processes to finish reading or writing
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
_AGES = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
_CONTENT = {
    "scores": "length(key) + length(token_ids) + length(logprobs) + length(checksum) + 12",
    "texts": "length(key) + length(CAST(text AS BLOB)) + length(checksum) + 8",
}


@dataclass(frozen=True)
class Batch:
    """What a model was scored on in one day.

    Attributes:
        id: Its number.
        model: The name of the model; empty for scores of earlier versions.
        made: When it was begun, in seconds since 1970.
        used: When a row of it was last added or found.
        rows: Scores and translations.
        bytes: What they take in the file, approximately.
    """

    id: int
    model: str
    made: int
    used: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class Pruned:
    """What pruning removed, or would remove.

    Attributes:
        rows: Rows.
        before: Bytes on disk before.
        after: Bytes on disk after; an estimate if nothing was removed yet.
        shrunk: Whether the free space was given back to the disk.
    """

    rows: int
    before: int
    after: int
    shrunk: bool = False


def file_size(db: sqlite3.Connection) -> int:
    """Return the bytes of the database in use, without pages that are free."""
    return (pragma(db, "page_count") - pragma(db, "freelist_count")) * pragma(db, "page_size")


def disk_size(db: sqlite3.Connection) -> int:
    """Return the bytes that the database takes on disk, with its write-ahead log."""
    _, _, path = db.execute("PRAGMA database_list").fetchone()
    if not path:
        return file_size(db)
    files = [Path(path), Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


def batches(db: sqlite3.Connection) -> list[Batch]:
    """Return all batches that have rows, the least recently used first. Reads the whole file."""
    rows: dict[int, int] = {}
    content: dict[int, int] = {}
    for table, expression in _CONTENT.items():
        for batch, count, size in db.execute(
            f"SELECT CAST(batch AS INTEGER) AS id, count(*), sum({expression}) "
            f"FROM {table} GROUP BY id"
        ):
            rows[batch] = rows.get(batch, 0) + count
            content[batch] = content.get(batch, 0) + (size or 0)
    known, unknown = known_batches(db), ("", 0, int(time.time()))
    factor = file_size(db) / max(1, sum(content.values()))
    found = [
        Batch(batch, *known.get(batch, unknown), count, round(content[batch] * factor))
        for batch, count in rows.items()
    ]
    return sorted(found, key=lambda one: (one.used, one.made, one.id))


def prune(
    db: sqlite3.Connection,
    *,
    keep: int | None = None,
    older_than: float | None = None,
    model: str | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Remove batches, the least recently used first; the file stays as it is until ``shrink``.

    Args:
        db: The database, outside of a transaction.
        keep: Stop when the rest takes no more bytes; None removes all that the others choose.
        older_than: Only batches that were not used for this many seconds.
        model: Only batches of the model of this name; ``EARLIER`` for those of no known model.
        dry_run: Only count.

    Raises:
        CacheError: If there is nothing of such a model.
    """
    every = batches(db)
    if model is not None and model not in {one.model or EARLIER for one in every}:
        raise CacheError(
            f"the cache has no scores of model '{model}'; 'boxpen cache info' lists its models"
        )
    since = time.time() - older_than if older_than is not None else None
    before, left = disk_size(db), file_size(db)
    removed = 0
    whole: list[int] = []
    for one in every:
        if model not in (None, one.model or EARLIER) or (since is not None and one.used >= since):
            continue
        if keep is not None and left <= keep:
            break
        if keep is not None and left - one.bytes < keep:  # part of it is enough
            rows = min(one.rows, -(-one.rows * (left - keep) // max(1, one.bytes)))
            removed += rows if dry_run else _remove(db, [one.id], rows)
            left -= one.bytes * rows // max(1, one.rows)
            break
        whole.append(one.id)
        removed += one.rows if dry_run else 0
        left -= one.bytes
    if whole and not dry_run:
        removed += _remove(db, whole)
    return Pruned(removed, before, left if dry_run else disk_size(db))


def shrink(db: sqlite3.Connection) -> bool:
    """Give the free pages back to the disk; return whether that could be done now."""
    db.execute(f"PRAGMA busy_timeout={_WAIT}")
    try:
        # VACUUM copies everything to the log, which must stay while another process reads.
        if not _emptied_log(db):
            return False
        db.execute("VACUUM")
        return _emptied_log(db)
    except sqlite3.OperationalError:  # another process writes, or there is no room for a copy
        return False
    finally:
        db.execute("PRAGMA busy_timeout=60000")


def parse_size(text: str, what: str, least: int = 0) -> int:
    """Read a number of bytes: 500MB, 2 GB, 1.5GiB.

    Raises:
        CacheError: If it is not one or less than ``least``; ``what`` names it in the message.
    """
    found = re.fullmatch(rf"({_NUMBER})\s*(?:([kmgt])(i?)b?|b)", text.strip().lower())
    if found is None:
        raise CacheError(f"{what} is '{text}', expected a size and its unit, such as 500MB or 2GB")
    power = "kmgt".index(found[2]) + 1 if found[2] else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power)
    if size < least:
        raise CacheError(f"{what} is '{text}', expected at least {least // 10**6}MB")
    return size


def parse_age(text: str, what: str) -> float:
    """Read a duration in seconds: 12h, 30d, 2w.

    Raises:
        CacheError: If it is not one; ``what`` names it in the message.
    """
    found = re.fullmatch(rf"({_NUMBER})\s*([mhdwy])", text.strip().lower())
    if found is None:
        raise CacheError(f"{what} is '{text}', expected a duration such as 12h, 30d or 2w")
    return float(found[1]) * _AGES[found[2]]


def _emptied_log(db: sqlite3.Connection) -> bool:
    """Move the log into the file; return whether no other process was in the way."""
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _remove(db: sqlite3.Connection, ids: Sequence[int], most: int | None = None) -> int:
    """Delete rows of batches, at most ``most``, and return how many there were."""
    places = ",".join("?" * len(ids))
    removed = 0
    for table in CHECKSUMS:
        last = b""
        while most is None or removed < most:
            few = _CHUNK if most is None else min(_CHUNK, most - removed)
            keys = db.execute(
                f"SELECT key FROM {table} WHERE key > ? AND CAST(batch AS INTEGER) IN ({places}) "
                "ORDER BY key LIMIT ?",
                (last, *ids, few),
            ).fetchall()
            if not keys:
                break
            done = db.execute(
                f"DELETE FROM {table} WHERE key > ? AND key <= ? "
                f"AND CAST(batch AS INTEGER) IN ({places})",
                (last, keys[-1][0], *ids),
            )
            removed += done.rowcount
            last = keys[-1][0]
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    return removed
