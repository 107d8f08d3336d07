"""What a campaign keeps in its database: settings, tasks, people, sessions and judgements.

Of tokens and cookies only hashes are kept: they are 256 random bits, so a plain SHA-256 is enough.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import sqlalchemy
from sqlalchemy import Connection, Row
from sqlalchemy.dialects import postgresql, sqlite

from boxpen.errors import BuildError
from boxpen.names import check_judge
from boxpen.review.database import Database
from boxpen.review.database.tables import AUDIT, JUDGEMENT, PERSON, SESSION, SETTING, TASK

__all__ = ["ROLES", "Person", "Role", "Store", "hashed", "now"]

Role = Literal["judge", "adjudicator", "coordinator"]
ROLES: tuple[Role, ...] = ("judge", "adjudicator", "coordinator")
SESSION_DAYS = 30
_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who may enter."""

    id: int
    name: str
    role: Role
    created: str
    seen: str
    """When they entered last; empty if never."""
    revoked: bool


def now() -> str:
    """Return the time, in seconds, as it is kept."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hashed(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """The database of a campaign."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Settings and tasks

    def setting(self, name: str) -> Any:
        """Return a setting; None if it was never set."""
        with self.database.reading() as connection:
            row = connection.execute(SETTING.select().where(SETTING.c.name == name)).first()
        return None if row is None else json.loads(row.value)

    def set(self, name: str, value: Any) -> None:
        """Keep a setting."""
        with self.database.writing() as connection:
            connection.execute(SETTING.delete().where(SETTING.c.name == name))
            text = json.dumps(value, ensure_ascii=False)
            connection.execute(SETTING.insert(), {"name": name, "value": text})

    def tasks(self) -> Sequence[Row[Any]]:
        """Return the tasks, in order."""
        with self.database.reading() as connection:
            return connection.execute(TASK.select().order_by(TASK.c.place)).all()

    def add_task(self, key: str, name: str, tag: str, target: str) -> None:
        """Add a task after the others."""
        with self.database.writing() as connection:
            place = connection.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(TASK))
            row = {"key": key, "name": name, "tag": tag, "target": target}
            connection.execute(TASK.insert(), {**row, "place": place.scalar()})

    # People

    def people(self) -> list[Person]:
        """Return everyone, in the order in which they were added."""
        with self.database.reading() as connection:
            rows = connection.execute(PERSON.select().order_by(PERSON.c.id)).all()
        return [
            Person(row.id, row.name, row.role, row.created, row.seen, row.revoked) for row in rows
        ]

    def add_person(self, name: str, role: Role, by: str) -> str:
        """Add someone, and return the token, which is not kept."""
        check_judge(name, "the name")
        token = secrets.token_urlsafe(32)
        row = {
            "name": name, "role": role, "token": hashed(token), "created": now(), "seen": "",
            "revoked": False,
        }  # fmt: skip
        with self.database.writing() as connection:
            if connection.execute(PERSON.select().where(PERSON.c.name == name)).first():
                raise BuildError(f"there is a person called '{name}' already; choose another name")
            connection.execute(PERSON.insert(), row)
            _note(connection, by, "add", f"{name}, {role}")
        return token

    def renew(self, person: Person, by: str) -> str:
        """Give someone a new token, and end their sessions."""
        token = secrets.token_urlsafe(32)
        with self.database.writing() as connection:
            wanted = PERSON.update().where(PERSON.c.id == person.id)
            connection.execute(wanted.values(token=hashed(token), revoked=False))
            connection.execute(SESSION.delete().where(SESSION.c.person == person.id))
            _note(connection, by, "renew", person.name)
        return token

    def revoke(self, person: Person, by: str) -> None:
        """Keep someone out from now on; their judgements stay."""
        with self.database.writing() as connection:
            wanted = PERSON.update().where(PERSON.c.id == person.id)
            connection.execute(wanted.values(revoked=True))
            connection.execute(SESSION.delete().where(SESSION.c.person == person.id))
            _note(connection, by, "revoke", person.name)

    # Sessions

    def enter(self, token: str) -> tuple[int, str] | None:
        """Begin a session; return the person's id and the cookie, or None if refused."""
        with self.database.writing() as connection:
            wanted = PERSON.select().where(PERSON.c.token == hashed(token))
            row = connection.execute(wanted).first()
            if row is None or row.revoked:
                _note(connection, row.name if row else "", "refuse", "revoked" if row else "")
                return None
            cookie = secrets.token_urlsafe(32)
            created = now()
            new = {"hash": hashed(cookie), "person": row.id, "created": created}
            connection.execute(SESSION.insert(), new)
            connection.execute(PERSON.update().where(PERSON.c.id == row.id).values(seen=created))
            _note(connection, row.name, "enter", "")
        return row.id, cookie

    def leave(self, session: str, who: str) -> None:
        """End a session, given by its hash."""
        with self.database.writing() as connection:
            connection.execute(SESSION.delete().where(SESSION.c.hash == session))
            _note(connection, who, "leave", "")

    def sessions(self) -> dict[str, int]:
        """Return the person of every session by its hash; old ones are ended."""
        limit = (datetime.now(UTC) - timedelta(days=SESSION_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self.database.writing() as connection:
            connection.execute(SESSION.delete().where(SESSION.c.created < limit))
            rows = connection.execute(SESSION.select()).all()
        return {row.hash: row.person for row in rows}

    def audit(self) -> Sequence[Row[Any]]:
        """Return the audit trail."""
        with self.database.reading() as connection:
            return connection.execute(AUDIT.select().order_by(AUDIT.c.seq)).all()

    # Judgements

    def save(self, rows: Sequence[dict[str, Any]], after: int) -> Sequence[Row[Any]]:
        """Store judgements, each once, in one transaction.

        Args:
            rows: The judgements; what a judge has sent under the same id before is left out.
            after: The last ``seq`` that the caller knows.

        Returns:
            Every row after that one, including those that others have added.
        """
        with self.database.writing() as connection:
            if rows:
                dialect = sqlite if self.database.file else postgresql
                insert = dialect.insert(JUDGEMENT).on_conflict_do_nothing()
                connection.execute(insert, list(rows))
                for row in rows:
                    if row["kind"] == "decide":
                        _note(connection, row["judge"], "decide", f"{row['task']}, {row['item']}")
            wanted = JUDGEMENT.select().where(JUDGEMENT.c.seq > after).order_by(JUDGEMENT.c.seq)
            return connection.execute(wanted).all()

    def since(self, after: int = 0) -> Iterator[Row[Any]]:
        """Yield every judgement after ``after``, in order."""
        while True:
            wanted = (
                JUDGEMENT.select()
                .where(JUDGEMENT.c.seq > after)
                .order_by(JUDGEMENT.c.seq)
                .limit(_CHUNK)
            )
            with self.database.reading() as connection:
                rows = connection.execute(wanted).all()
            yield from rows
            if len(rows) < _CHUNK:
                return
            after = rows[-1].seq

    def last_of(self, task: str, judge: str, item: str) -> Row[Any] | None:
        """Return what a judge said last about an item."""
        wanted = (
            JUDGEMENT.select()
            .where(JUDGEMENT.c.task == task, JUDGEMENT.c.judge == judge, JUDGEMENT.c.item == item)
            .order_by(JUDGEMENT.c.seq.desc())
            .limit(1)
        )
        with self.database.reading() as connection:
            return connection.execute(wanted).first()

    def of_judge(self, task: str, judge: str, before: int | None = None) -> Iterator[Row[Any]]:
        """Yield what a judge said, the newest first."""
        wanted = JUDGEMENT.select().where(JUDGEMENT.c.task == task, JUDGEMENT.c.judge == judge)
        while True:
            some = wanted if before is None else wanted.where(JUDGEMENT.c.seq < before)
            with self.database.reading() as connection:
                found = connection.execute(some.order_by(JUDGEMENT.c.seq.desc()).limit(1000)).all()
            yield from found
            if len(found) < 1000:
                return
            before = found[-1].seq

    def of_items(self, task: str, items: Sequence[str]) -> Sequence[Row[Any]]:
        """Return all judgements of some items, in order."""
        wanted = JUDGEMENT.select().where(JUDGEMENT.c.task == task, JUDGEMENT.c.item.in_(items))
        with self.database.reading() as connection:
            return connection.execute(wanted.order_by(JUDGEMENT.c.seq)).all()


def _note(connection: Connection, who: str, action: str, what: str) -> None:
    row = {"time": now(), "who": who, "action": action, "what": what}
    connection.execute(AUDIT.insert(), row)
