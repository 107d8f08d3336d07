"""A campaign: what is judged, by whom, and by which plan."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sqlalchemy import Row

from boxpen.errors import BuildError
from boxpen.review.app.gold import Gold
from boxpen.review.app.plan import Plan
from boxpen.review.app.progress import Progress
from boxpen.review.app.store import Person, Role, Store, now
from boxpen.review.app.writer import Writer
from boxpen.review.assignment import sampled
from boxpen.review.task import ReviewTask

__all__ = ["Asked", "Campaign", "CampaignTask"]

_KEPT = ("overlap", "until_agree", "max_judges", "sample", "seed")
"""Settings that decide who is asked what; changing them midway is said."""


class Asked(NamedTuple):
    """A task as it was asked for."""

    task: ReviewTask
    target: str
    """What is judged, as one text."""
    tag: str = ""
    gold: Gold = Gold()


class CampaignTask(NamedTuple):
    """A task of a campaign."""

    key: str
    task: ReviewTask
    progress: Progress


class Campaign:
    """What is judged, by whom, and how far it is.

    Args:
        store: Where it is kept.
        asked: The tasks.
        plan: How many judges each item gets.
        name: What it is called on the dashboard.
    """

    def __init__(
        self, store: Store, asked: Sequence[Asked], plan: Plan, name: str = "review"
    ) -> None:
        self.store, self.plan, self.name = store, plan, name
        self.changed = self._settings()
        self.tasks = {one.key: one for one in map(self._task, asked)}
        self.changed += [
            f"{store.database.name} also has the task '{row.name}' of {row.target}, which is not "
            "served now"
            for row in store.tasks()
            if row.key not in self.tasks
        ]
        self.people: dict[int, Person] = {}
        self.version = 0
        """Grows with every change, so that figures know when they are out of date."""
        last = 0
        for row in store.since():
            one = self.tasks.get(row.task)
            if one is not None:
                one.progress.add((row,))
            last = row.seq
        self.lock = threading.Lock()
        """Held while the state changes or is copied; never for long."""
        self.know_people()
        self.writer = Writer(store, last, self.learn)

    def _settings(self) -> list[str]:
        """Keep the settings; return a sentence about each that differs from before."""
        before = self.store.setting("plan")
        self.store.set("plan", asdict(self.plan))
        if self.store.setting("id") is None:
            self.store.set("id", secrets.token_hex(8))
            self.store.set("started", now())
        self.id: str = self.store.setting("id")
        self.started: str = self.store.setting("started")
        new = asdict(self.plan)
        return [
            f"--{name.replace('_', '-')} was {before[name]}, and is {new[name]} from now on"
            for name in _KEPT
            if before is not None and before[name] != new[name]
        ]

    def _task(self, asked: Asked) -> CampaignTask:
        """Find the task in the database, or add it."""
        task = asked.task
        rows = self.store.tasks()
        wanted = (task.name, asked.tag, asked.target)
        same = [row for row in rows if (row.name, row.tag, row.target) == wanted]
        if same:
            key = same[0].key
        else:
            taken = {row.key for row in rows}
            free = (f"{task.name}-{n}" if n > 1 else task.name for n in range(1, len(taken) + 2))
            key = next(key for key in free if key not in taken)
            self.store.add_task(key, task.name, asked.tag, asked.target)
        everything = task.questions()
        questions = sampled(everything, self.plan.sample, self.plan.seed)
        if not questions:
            raise BuildError(f"{asked.target} has nothing to judge in the task '{task.name}'")
        gold = asked.gold.beside(questions, everything)
        order = "own" if self.plan.blind else task.order
        return CampaignTask(key, task, Progress(questions, self.plan, gold, order))

    # People

    def know_people(self) -> None:
        """Read who there is; judges who are not revoked make the team."""
        people = {person.id: person for person in self.store.people()}
        team = {p.name for p in people.values() if p.role == "judge" and not p.revoked}
        with self.lock:
            self.people = people
            for one in self.tasks.values():
                if set(one.progress.team) != team or not one.progress.ready:
                    one.progress.set_team(team)
            self.version += 1

    def add_person(self, name: str, role: Role, by: str) -> str:
        """Add someone, and return their token."""
        token = self.store.add_person(name, role, by)
        self.know_people()
        return token

    # Judgements

    def learn(self, rows: Iterable[Row[Any]]) -> None:
        """Take in new rows of the database."""
        rows = list(rows)
        if not rows:
            return
        with self.lock:
            for row in rows:
                one = self.tasks.get(row.task)
                if one is not None:
                    one.progress.add((row,))
            self.version += 1

    async def refresh(self) -> None:
        """Take in what others, such as an import, have added to the database."""
        await self.writer.save(())

    def close(self) -> None:
        """Store what is waiting, and close the database."""
        self.writer.close()
        self.store.database.close()
