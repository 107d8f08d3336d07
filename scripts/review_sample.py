"""A small campaign on a server of this process: for screenshots, measurements and tests.

The items come from the starter suite; the translations and triples were written for this.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import polars as pl
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

import boxpen
from boxpen.analysis.discourse.readers import ClassTask
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.analysis.tagging import TagTask
from boxpen.analysis.translation_errors import ErrorTask, Output
from boxpen.build.discourse.review import CandidateTask
from boxpen.build.duals.review import DualTask
from boxpen.build.kg.review import TripleTask, WordingTask, WrongAnswerTask
from boxpen.build.kg.triples import schema, triple_id
from boxpen.review import Question, ReviewTask
from boxpen.review.answers import AnswerTask
from boxpen.review.app.campaign import Asked, Campaign
from boxpen.review.app.gold import Gold, GoldItem
from boxpen.review.app.plan import Plan
from boxpen.review.app.server import create_app
from boxpen.review.app.store import Role, Store
from boxpen.review.database import Database

TRIPLES = [
    ("usedfor", "spoon", "stir soup", "a spoon", "stir soup", -0.4, ["a bird", "catch fish"]),
    ("isa", "heron", "bird", "a heron", "a bird", -0.5, ["a lamp"]),
    ("usedfor", "umbrella", "keep dry", "an umbrella", "keep dry", -0.6, ["boil rice"]),
    ("atlocation", "whale", "ocean", "a whale", "the ocean", -0.7, ["a drawer"]),
    ("usedfor", "pencil", "shade sketch", "a pencil", "shade a sketch", -1.9, ["a mammal"]),
    ("isa", "brick", "fish", "a brick", "a fish", -6.5, ["a tool"]),
]
WORDED = {
    "usedfor": "{} can be used to {}.", "isa": "{} is {}.", "atlocation": "{} is found in {}.",
}  # fmt: skip


@cache
def _starter() -> boxpen.Suite:
    return boxpen.load_suite("starter")


def starter(start: str) -> list[Any]:
    """Return the items of the starter suite whose ids start like this."""
    return [item for item in _starter() if item.id.startswith(start)]


def triple_table() -> pl.DataFrame:
    rows = [
        {
            "id": triple_id(relation, head, tail), "head": head, "relation": relation,
            "tail": tail, "weight": 2.0, "origin": "sample", "surface": "", "language": "en",
            "line": line, "head_text": head_text, "tail_text": tail_text,
            "form": "vp" if relation == "usedfor" else "np",
            "sentence": WORDED[relation].format(head_text.capitalize(), tail_text),
            "plausibility": score, "wrong": wrong, "wrong_text": wrong,
        }
        for line, (relation, head, tail, head_text, tail_text, score, wrong) in enumerate(TRIPLES)
    ]  # fmt: skip
    own = dict.fromkeys(("head_text", "tail_text", "form", "sentence"), pl.String)
    lists = dict.fromkeys(("wrong", "wrong_text"), pl.List(pl.String))
    kinds = {**schema(), **own, "plausibility": pl.Float64, **lists}
    return pl.DataFrame(rows, schema=kinds)


def answer_task(start: str = "sense-00", most: int = 12) -> AnswerTask:
    return AnswerTask(boxpen.Suite("sample", tuple(starter(start)[:most])))


def error_task() -> ErrorTask:
    """Two systems on sentences of the CommonMT kind: one errs in every second sentence."""
    made = []
    for n, item in enumerate(starter("mt-la-0")[:6]):
        right, wrong = item.candidates[item.gold], item.candidates[1 - item.gold]
        for system, text in (("one", wrong if n % 2 else right), ("two", wrong)):
            shown = {
                "source": item.source, "reference": right, "wrong": wrong, "translation": text,
            }  # fmt: skip
            name = f"{item.id}/{Question(item.id, shown).digest}"
            question = Question(name, shown, part=item.tags["set"], unit=item.id)
            made.append(Output(system, item.id, question, f"sample, {item.block}", text == right))
    return ErrorTask(made)


def class_task() -> ClassTask:
    """Two systems on the three phenomena of the discourse paper; the second overlooks context."""
    items = [i for kind in ("they", "while", "ell") for i in starter(f"disc-{kind}-0")[:4:2]]
    made = [
        Rendering(
            system, item.id, item.tags["set"], item.tags["class"], item.context, item.source,
            item.reference_context, item.reference, text,
        )
        for item in items
        for system, text in (("one", item.reference), ("two", item.contrast[0]))
    ]  # fmt: skip
    return ClassTask(made)


def dual_task() -> DualTask:
    rows = []
    for kind in ("add", "del", "sub", "swap"):
        items = {item.id: item for item in starter(f"dual-{kind}-0")}
        for old in [item for name, item in items.items() if name.endswith("a")][:2]:
            new = items[old.id[:-1] + "b"]
            rows.append(
                {
                    "id": f"{old.block}-1", "operation": kind, "kind": "word",
                    "item": old.id, "block": old.block, "reason": f"one word of '{kind}' changes",
                    "original_first": old.candidates[0], "original_second": old.candidates[1],
                    "original_gold": old.gold, "first": new.candidates[0],
                    "second": new.candidates[1], "gold": new.gold, "fluency": 0.8,
                    "expected": "flipped" if old.tags["flip"] == "yes" else "kept",
                }
            )  # fmt: skip
    return DualTask(rows)


def candidate_task() -> CandidateTask:
    rows = [
        {
            "id": item.id, "set": item.tags["set"], "class": item.tags["class"],
            "context_source": item.context, "source": item.source,
            "context_target": item.reference_context, "target": item.reference,
            "contrast": list(item.contrast), "score": 0.9, "reason": "one word of the class",
        }
        for item in [item for item in starter("disc-you") if item.tags["class"] == "你"][:4]
    ]  # fmt: skip
    return CandidateTask(rows)


TASKS: dict[str, Callable[[], ReviewTask]] = {
    "triples": lambda: TripleTask(triple_table()),
    "wrong-answers": lambda: WrongAnswerTask(triple_table()),
    "wordings": lambda: WordingTask(triple_table()),
    "candidates": candidate_task,
    "duals": dual_task,
    "classes": class_task,
    "errors": error_task,
    "answers": answer_task,
    "tags": lambda: TagTask(boxpen.Suite("sample", tuple(starter("sense-00")[:6])), "steps"),
}


def gold_of(task: AnswerTask, number: int, why: str) -> Gold:
    """Return the first items of a task as gold items."""
    some = task.choices[:number]
    return Gold([GoldItem(item.id, str(choice.gold + 1), why) for item, choice in some])


class Served:
    """A campaign on a server of this process.

    Args:
        tasks: What is judged, with gold items or without.
        folder: Where the database goes.
        plan: How many judges each item gets.
        name: What the campaign is called.
        mount: The path below which the app is mounted in another one; at the root if empty.
    """

    def __init__(
        self,
        tasks: Sequence[ReviewTask | tuple[ReviewTask, Gold]],
        folder: Path,
        plan: Plan | None = None,
        name: str = "Sample campaign",
        mount: str = "",
    ) -> None:
        asked = [
            Asked(one[0], f"{n}", gold=one[1]) if isinstance(one, tuple) else Asked(one, f"{n}")
            for n, one in enumerate(tasks)
        ]
        database = Database(folder / "review.sqlite", create=True)
        self.campaign = Campaign(Store(database), asked, plan or Plan(), name)
        self.app = create_app(self.campaign, tries=10_000, rate=100_000)
        app = Starlette(routes=[Mount(mount, self.app)]) if mount else self.app
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}{mount}"
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)

    def __enter__(self) -> Served:
        self.thread.start()
        end = time.monotonic() + 10
        while not self.server.started and time.monotonic() < end:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()
        self.campaign.close()

    def link(self, name: str, role: Role = "judge") -> str:
        """Add someone, and return their link."""
        return f"{self.url}/enter#{self.campaign.add_person(name, role, 'setup')}"

    def rows(self, judge: str | None = None) -> list[Any]:
        """Return what the database holds, in order."""
        return [row for row in self.campaign.store.since() if judge in (None, row.judge)]


class ScriptedJudge:
    """Someone who enters with a link and judges through the same addresses as the pages."""

    def __init__(self, link: str) -> None:
        url, _, token = link.partition("/enter#")
        self.client = httpx.Client(base_url=url)
        self.client.post("/enter", json={"token": token}).raise_for_status()
        self.me = self.client.get("/api/me").json()

    def judge(self, key: str, say: Callable[[dict[str, Any]], Any], most: int = 10_000) -> int:
        """Judge what is open in a task; ``say`` returns the answer to a question, and more fields.

        Returns:
            How many items were judged.
        """
        done = 0
        while done < most:
            asked = self.client.get(f"/api/tasks/{key}/queue", params={"limit": min(50, most)})
            questions = asked.json()["questions"][: most - done]
            if not questions:
                break
            sent = []
            for question in questions:
                said = say(question)
                more = said if isinstance(said, dict) else {"answer": said}
                names = ("item", "seen", "order")
                own = {name: question[name] for name in names}
                sent.append(
                    {"id": str(uuid4()), "task": key, "ms": 3000 + 40 * done, **own, **more}
                )
                done += 1
            self.send(sent)
        return done

    def send(self, judgements: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Send judgements, all of which must be accepted."""
        reply = self.client.post(
            "/api/judgements",
            json={"judgements": list(judgements)},
            headers={"X-CSRF-Token": self.me["csrf"]},
        ).json()
        if len(reply.get("saved", ())) != len(judgements):
            raise ValueError(f"not all was accepted: {reply}")
        return dict(reply)


def many_answers(count: int) -> AnswerTask:
    """Return a task of so many items: sentences of the starter suite, over and over."""
    some = starter("sense-")
    items = [replace(some[n % len(some)], id=f"i{n:05}") for n in range(count)]
    return AnswerTask(boxpen.Suite("many", tuple(items)))
