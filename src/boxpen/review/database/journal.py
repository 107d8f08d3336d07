"""The journal of one task in a database: what a file of judgements is, for every command.

A server may be running on the database: what is read is what is stored at that moment, and what is
added appears there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import BuildError
from boxpen.review.database.engine import Database
from boxpen.review.journal import History, Journal
from boxpen.review.judgement import Judgement

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["DatabaseJournal", "judgement_of", "row_of"]

DECIDE = "decide"
EXTRA = "extra"
_BATCH = 1000


class DatabaseJournal(Journal):
    """The judgements of one task.

    Args:
        place: The file or URL of the database.
        task: Name of the task.
        tag: The tag that is judged, if it is about one.
        target: What is judged; only needed if the database has several such tasks.
    """

    def __init__(
        self, place: Path | str, task: str, *, tag: str | None = None, target: str = ""
    ) -> None:
        self.database = Database(place)
        super().__init__(self.database.name, tag=tag)
        self.key = self._key(task, target)

    def _key(self, task: str, target: str) -> str:
        from boxpen.review.database.tables import TASK

        with self.database.errors(), self.database.reading() as connection:
            rows = connection.execute(TASK.select().order_by(TASK.c.place)).all()
        found = [row for row in rows if row.name == task and row.tag == (self.tag or "")]
        if len(found) > 1:
            found = [row for row in found if row.target == target]
        if len(found) == 1:
            return str(found[0].key)
        there = "; ".join(f"{row.name} of {row.target}" for row in rows) or "nothing"
        raise BuildError(f"{self.database.name} has no task '{task}' of {target}; it has {there}")

    def read(self) -> History:
        """Read all judgements."""
        with self.database.errors(), self.database.reading() as connection:
            return History(tuple(self._read(connection)))

    def append(self, judgements: Iterable[Judgement]) -> None:
        """Append judgements, all or none."""
        new = list(judgements)
        if new:
            with self.database.errors(), self.database.writing() as connection:
                self._insert(connection, new)

    def merge(self, judgements: Iterable[Judgement]) -> list[Judgement]:
        """Append the judgements that the database does not have yet, and return them."""
        wanted = list(judgements)
        if not wanted:
            return []
        with self.database.errors(), self.database.writing() as connection:
            new = self.unknown(wanted, self._read(connection))
            self._insert(connection, new)
        return new

    def _read(self, connection: Connection) -> list[Judgement]:
        from boxpen.review.database.tables import JUDGEMENT as J

        wanted = J.select().where(J.c.task == self.key, J.c.kind != EXTRA).order_by(J.c.seq)
        return [judgement_of(row) for row in connection.execute(wanted)]

    def _insert(self, connection: Connection, new: Sequence[Judgement]) -> None:
        from boxpen.review.database.tables import JUDGEMENT

        rows = [row_of(one, self.key, f"import-{uuid.uuid4()}") for one in new]
        try:
            for start in range(0, len(rows), _BATCH):
                connection.execute(JUDGEMENT.insert(), rows[start : start + _BATCH])
        except UnicodeEncodeError:
            raise BuildError(
                f"{self.database.name} cannot be written: a judgement holds half a character, "
                "expected text"
            ) from None


def judgement_of(row: Any) -> Judgement:
    """Return a row as a judgement."""
    return Judgement(
        row.item, row.judge, row.verdict, row.edit, row.comment, row.seen, row.time or None,
        row.shown_order, row.kind == DECIDE,
    )  # fmt: skip


def row_of(
    one: Judgement, task: str, name: str, *, kind: str | None = None, ms: int = 0
) -> dict[str, Any]:
    """Return a judgement as a row; ``kind`` is by default whether it decides."""
    return {
        "id": name,
        "task": task,
        "item": one.item,
        "judge": one.judge,
        "kind": kind or (DECIDE if one.decides else "judge"),
        "verdict": one.verdict,
        "edit": one.edit,
        "comment": one.comment,
        "seen": one.seen,
        "shown_order": one.order,
        "time": one.time or "",
        "ms": ms,
    }
