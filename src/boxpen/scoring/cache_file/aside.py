"""A damaged cache set aside under another name, and what is taken over from it."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import struct
from pathlib import Path
from urllib.parse import quote

from boxpen.scoring.cache_file.salvage import salvaged
from boxpen.scoring.cache_file.schema import APPLICATION_ID, COLUMNS, batch_id, known_batches

__all__ = ["NotOursError", "inode", "recovered", "set_aside"]

_CHUNK = 2000  # rows committed at a time


class NotOursError(Exception):
    """A file that may be another program's, or cannot be locked."""


def set_aside(path: Path, opened: tuple[int, int] | None) -> Path | None:
    """Rename a damaged database; return its new place, or None if another process was faster.

    Args:
        path: The database, closed.
        opened: What ``inode`` said of it when it was opened.

    Raises:
        NotOursError: If it may be another program's.
        OSError: If the system refuses.
    """
    try:
        import fcntl

        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # of several processes, one renames it
            if inode(path) != opened:
                return None
            header = stream.read(72)
            mark = struct.pack(">I", APPLICATION_ID)
            if header[:16] != b"SQLite format 3\0" or header[68:] != mark:
                raise NotOursError
            place = _claimed(path)
            # The database last: a new one under its name would lose its own -wal to this loop.
            # A process that opens the damaged one in between may leave a -wal; SQLite drops
            # that when it makes the new database.
            for suffix in ("-journal", "-wal", "-shm", ""):
                with contextlib.suppress(FileNotFoundError):
                    Path(f"{path}{suffix}").rename(f"{place}{suffix}")
    except FileNotFoundError:
        return None
    except ImportError:
        raise NotOursError from None
    return place


def recovered(db: sqlite3.Connection, place: Path) -> int:
    """Take over the rows that can be read of a database that was set aside; return how many.

    Whatever goes wrong, what was taken over stays, and so does the file that was set aside.
    """
    taken = 0
    former: dict[int, tuple[str, int, int]] = {}
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), _read_only(place) as old:
        old.text_factory = lambda data: data.decode("utf-8", "replace")
        former = known_batches(old)
    rows = salvaged(place)
    with contextlib.suppress(sqlite3.Error, OSError):
        while few := list(itertools.islice(rows, _CHUNK)):
            db.execute("BEGIN IMMEDIATE")
            try:
                # Ids differ: other processes may have added batches to the new file.
                ids = {number: batch_id(db, *batch) for number, batch in former.items()}
                for table, (*content, batch) in few:
                    places = ", ".join("?" * len(content))
                    done = db.execute(
                        f"INSERT OR IGNORE INTO {table} ({COLUMNS[table]}) VALUES ({places}, ?)",
                        (*content, ids.get(batch, 0)),
                    )
                    taken += done.rowcount
            finally:
                db.execute("COMMIT")
    return taken


def inode(path: Path | str) -> tuple[int, int]:
    """Return what tells a file from another that takes its place."""
    found = Path(path).stat()
    return found.st_dev, found.st_ino


def _read_only(place: Path) -> contextlib.closing[sqlite3.Connection]:
    # Without a log, "immutable" leaves no file beside it; with it, SQLite would not read the log.
    logged = Path(f"{place}-wal").exists()
    address = f"file:{quote(str(place))}?{'mode=ro' if logged else 'immutable=1'}"
    return contextlib.closing(sqlite3.connect(address, uri=True))


def _claimed(path: Path) -> Path:
    """Create an empty file for a damaged cache, under a name that no other process has taken."""
    for number in itertools.count(1):
        place = path.with_name(f"{path.name}.damaged-{number}")
        with contextlib.suppress(FileExistsError):
            place.touch(exist_ok=False)
            break
    return place
