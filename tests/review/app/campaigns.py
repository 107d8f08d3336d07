"""Small campaigns in the process of the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.testclient import TestClient

from boxpen.items import Choice, Suite
from boxpen.review import Question, ReviewTask, VerdictSet
from boxpen.review.answers import AnswerTask
from boxpen.review.app.campaign import Asked, Campaign
from boxpen.review.app.gold import Gold
from boxpen.review.app.plan import Plan
from boxpen.review.app.server import create_app
from boxpen.review.app.store import Role, Store
from boxpen.review.database import Database
from boxpen.review.journal import Journal

ORIGIN = "http://testserver"


class Words(ReviewTask):
    """Accept, edit or reject words."""

    name = "words"
    target = "words"
    verdicts = VerdictSet(
        {"accept": ("a",), "edit": ("e",), "reject": ("r",)}, edited=frozenset({"edit"})
    )

    def __init__(self, number: int = 6) -> None:
        self.number = number
        self.journal = Journal("words.jsonl")

    @classmethod
    def find(cls, target: Any) -> None:
        return None

    def questions(self) -> list[Question]:
        return [
            Question(f"w/{n}", {"word": f"word {n}"}, hints={"score": str(n)})
            for n in range(self.number)
        ]


def suite(items: int = 6) -> Suite:
    """A suite in which the right candidate comes first, and last in alphabetical order."""
    return Suite(
        "small",
        tuple(
            Choice(id=f"i{n}", candidates=(f"The sun is hot, {n}.", f"Ice is hot, {n}."), gold=0)
            for n in range(items)
        ),
    )


class Small:
    """A campaign, its application, and clients of its people."""

    def __init__(
        self,
        place: Path | str,
        tasks: Sequence[ReviewTask] | None = None,
        judges: Sequence[str] = ("ann", "bo"),
        plan: Plan | None = None,
        gold: Gold | None = None,
        **options: Any,
    ) -> None:
        self.store = Store(Database(place, create=True))
        tasks = tasks or [AnswerTask(suite())]
        asked = [Asked(task, task.name, gold=gold or Gold()) for task in tasks]
        self.campaign = Campaign(self.store, asked, plan or Plan())
        self.tokens: dict[str, str] = {}
        for name in judges:
            if name not in {p.name for p in self.store.people()}:
                self.add(name)
        self.app = create_app(self.campaign, **options)
        self.task = next(iter(self.campaign.tasks.values()))

    def add(self, name: str, role: Role = "judge") -> str:
        self.tokens[name] = self.campaign.add_person(name, role, "test")
        return self.tokens[name]

    def client(self, name: str | None = None) -> Client:
        return Client(self, name)

    def close(self) -> None:
        self.campaign.close()


class Client(TestClient):
    """A browser; it has entered if it has a name."""

    def __init__(self, small: Small, name: str | None = None) -> None:
        super().__init__(small.app, follow_redirects=False, raise_server_exceptions=False)
        self.csrf = ""
        if name is not None:
            assert self.enter(small.tokens[name]).status_code == 200
            self.csrf = self.get("/api/me").json()["csrf"]

    def enter(self, token: str) -> Any:
        return self.post("/enter", json={"token": token})

    def change(self, path: str, data: Any, **headers: str) -> Any:
        return self.post(path, json=data, headers={"X-CSRF-Token": self.csrf, **headers})

    def queue(self, key: str, limit: int = 6, **more: Any) -> Any:
        return self.get(f"/api/tasks/{key}/queue", params={"limit": limit, **more}).json()

    def judge(self, key: str, question: Any, answer: str, **more: Any) -> Any:
        return self.judge_all(key, [(question, answer)], **more)

    def judge_all(self, key: str, answers: Sequence[tuple[Any, str]], **more: Any) -> Any:
        entries = [
            {"id": str(uuid4()), "task": key, "item": question["item"], "answer": answer,
             "seen": question["seen"], "order": question["order"], "ms": 1000, **more}
            for question, answer in answers
        ]  # fmt: skip
        return self.change("/api/judgements", {"judgements": entries}).json()
