"""A database of judgements: SQLite in a file, or PostgreSQL by its URL.

Tables are the same in both. Judgements are only ever added: whoever changes their mind adds a row,
and the last one counts. A row is on disk before its transaction ends (``synchronous=FULL`` in
SQLite), and writers follow one another, so that ``seq`` grows in the order in which rows appear.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import BuildError
from boxpen.failures import reason

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["Database", "is_database", "is_url"]

_SQLITE = b"SQLite format 3\0"
_WRITERS = 0x626F7870  # 'boxp': the advisory lock that writers take in PostgreSQL
_SERVER = 0x626F7871
_WAIT = 30  # seconds for another writer
VERSION = "1"
"""Of the tables; a database of another version is refused."""


def is_url(place: object) -> bool:
    """Whether a place is the URL of a database."""
    return str(place).startswith(("postgresql:", "postgres:", "postgresql+psycopg:", "sqlite:"))


def is_database(place: Path | str) -> bool:
    """Whether a place is a database: a URL, or a file that SQLite wrote."""
    if is_url(place):
        return True
    try:
        with Path(place).open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


class Database:
    """An open database.

    Args:
        place: The file, or the URL of a PostgreSQL database.
        create: Whether tables are made where there are none.
    """

    def __init__(self, place: Path | str, *, create: bool = False) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise BuildError(
                f"{place} is a database, which needs SQLAlchemy: pip install 'boxpen[review]'"
            ) from None
        text = str(place)
        if text.startswith("sqlite:"):
            text = text.removeprefix("sqlite:///")
        self.file = None if is_url(text) else Path(text)
        if self.file is not None:
            if not create and not self.file.is_file():
                raise BuildError(f"there is no database {self.file}")
            url = sqlalchemy.URL.create("sqlite", database=str(self.file))
        else:
            url = _postgresql(text)
        self.name = str(self.file) if self.file else url.render_as_string(hide_password=True)
        self._server: Any = None
        self._writers = threading.Lock()
        self.engine = _engine(url)
        with self.errors():
            self._check(create)

    def _check(self, create: bool) -> None:
        import sqlalchemy

        from boxpen.review.database import tables

        with self.writing() if create else self.reading() as connection:
            known = sqlalchemy.inspect(connection).has_table(tables.SETTING.name)
            if not known:
                if not create:
                    raise BuildError(f"{self.name} is not a database of 'boxpen review serve'")
                tables.METADATA.create_all(connection)
                connection.execute(tables.SETTING.insert(), {"name": "tables", "value": VERSION})
            wanted = tables.SETTING.select().where(tables.SETTING.c.name == "tables")
            found = connection.execute(wanted).first()
            if found is None or found.value != VERSION:
                version = found.value if found else "none"
                raise BuildError(
                    f"{self.name} has tables of version {version}, expected {VERSION}: it was made "
                    "by another version of boxpen"
                )

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what the database reports into one sentence."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            why = reason(getattr(error, "orig", None) or error)
            raise BuildError(f"{self.name} cannot be used: {why}") from None

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads."""
        with self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes; others wait until it ends."""
        import sqlalchemy

        # Threads wait for one another here: SQLite would let them sleep for up to 100 ms at a time.
        made = self.engine.connect().execution_options(writing=True)
        with made as connection, self._writers, connection.begin():
            if self.file is None:
                connection.execute(sqlalchemy.text(f"SELECT pg_advisory_xact_lock({_WRITERS})"))
            yield connection

    def serve_alone(self) -> None:
        """Refuse to go on if another server uses the database; hold it until ``close``."""
        import sqlalchemy

        message = f"{self.name} is in use by another 'boxpen review serve'; stop that one first"
        if self.file is None:
            self._server = self.engine.connect()
            lock = sqlalchemy.text(f"SELECT pg_try_advisory_lock({_SERVER})")
            taken = self._server.execute(lock).scalar()
            self._server.commit()
            if not taken:
                raise BuildError(message)
            return
        try:
            import fcntl
        except ImportError:  # systems without file locks go on at once
            return
        # Not the database itself: closing any handle of that would drop SQLite's own locks.
        place = f"{self.file.resolve()}.lock"
        try:
            self._server = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BuildError(f"{place} cannot be written: {reason(error)}") from None
        try:
            fcntl.flock(self._server, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BuildError(message) from None

    def close(self) -> None:
        """Close all connections."""
        if isinstance(self._server, int):
            os.close(self._server)
        elif self._server is not None:
            self._server.close()
        self._server = None
        self.engine.dispose()


def _postgresql(text: str) -> Any:
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError

    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise BuildError(
            "PostgreSQL needs the package psycopg: pip install 'psycopg[binary]'"
        ) from None
    try:
        return sqlalchemy.make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not shown.
        raise BuildError(
            "the URL of the database cannot be read, expected postgresql://USER@HOST/NAME"
        ) from None


def _engine(url: Any) -> Engine:
    import sqlalchemy
    from sqlalchemy import event

    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_pre_ping=True, pool_size=8)
    made = sqlalchemy.create_engine(url, connect_args={"timeout": _WAIT})

    @event.listens_for(made, "connect")
    def opened(raw: Any, record: Any) -> None:  # noqa: ARG001
        raw.isolation_level = None  # transactions are begun below, not by the driver
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA wal_autocheckpoint=4000")  # pages; a save must seldom wait for one

    @event.listens_for(made, "begin")
    def begun(connection: Connection) -> None:
        # A writer takes the lock at once: one that has read first could not take it any more.
        writes = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return made
