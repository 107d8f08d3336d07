"""boxpen review serve: a real process that is started, killed, restarted and interrupted."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from typer.testing import CliRunner

from boxpen.catalog import read_suite
from boxpen.cli.app import app
from boxpen.review.app.start import Request, opened
from boxpen.review.app.store import Store
from boxpen.review.database import Database

ITEMS = 12


@pytest.fixture
def folder(tmp_path, monkeypatch):
    lines = [
        {"kind": "choice", "id": f"i{n:02}", "candidates": [f"Fire is hot, {n}.", f"Ice is, {n}."],
         "gold": 0}
        for n in range(ITEMS)
    ]  # fmt: skip
    (tmp_path / "small.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Process:
    def __init__(self, *words: str) -> None:
        self.command = [sys.executable, "-m", "boxpen", "review", "serve", *words]
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if found := re.match(r"serving at (\S+);", line):
                self.url = found[1]
                return
        raise AssertionError(self.lines)

    @property
    def tokens(self) -> dict[str, str]:
        named = [line.split() for line in self.lines if "/enter#" in line]
        return {name: link.partition("#")[2] for name, link in named}

    def client(self, token: str) -> httpx.Client:
        client = httpx.Client(base_url=self.url)
        assert client.post("/enter", json={"token": token}).status_code == 200
        client.headers["X-CSRF-Token"] = client.get("/api/me").json()["csrf"]
        return client

    def end(self, how: int = signal.SIGINT) -> int:
        self.process.send_signal(how)
        return self.process.wait(20)


def entries(client: httpx.Client, choose) -> list[dict]:
    questions = client.get(f"/api/tasks/answers/queue?limit={ITEMS}").json()["questions"]
    return [
        {"id": str(uuid4()), "task": "answers", "item": q["item"], "seen": q["seen"],
         "order": q["order"], "answer": choose(q), "ms": 2000}
        for q in questions
    ]  # fmt: skip


def sensible(question) -> str:
    return next(o["number"] for o in question["options"] if "Fire" in o["text"])


def run(*words: object):
    return CliRunner().invoke(app, ["review", *map(str, words)])


def test_a_campaign_from_start_to_run(folder):
    """Judged through a kill -9; then status, export, import and apply on the running database."""
    words = ("small.jsonl", "--judges", "ann", "bo", "cy", "--port", "0")
    begun = time.monotonic()
    server = Process(*words)
    assert time.monotonic() - begun < 30  # 5 s on an idle machine
    assert set(server.tokens) == {"ann", "bo", "cy", "coordinator"}
    links = folder / "review-links.txt"
    assert stat.S_IMODE(links.stat().st_mode) == 0o600
    assert str(links.name) in server.lines[-2]
    tokens = server.tokens
    kept = b"".join(p.read_bytes() for p in folder.glob("review.db*"))
    for token in tokens.values():
        assert token.encode() not in kept
    client = server.client(tokens["ann"])
    cookies, csrf = client.cookies, client.headers["X-CSRF-Token"]
    mine = entries(client, sensible)
    reply = client.post("/api/judgements", json={"judgements": mine[:6]}).json()
    assert len(reply["saved"]) == 6
    server.end(signal.SIGKILL)  # at once after the acknowledgement

    server = Process(*words)
    try:
        assert server.tokens == {}
        assert any("review-links.txt has them" in line for line in server.lines)
        assert f"{server.url}/enter#" in links.read_text()
        client = httpx.Client(base_url=server.url, cookies=cookies)  # the session goes on
        client.headers["X-CSRF-Token"] = csrf
        reply = client.post("/api/judgements", json={"judgements": mine}).json()
        assert len(reply["saved"]) == ITEMS
        assert reply["progress"]["answers"] == {"done": ITEMS, "total": ITEMS, "seconds_left": 0}
        for name in ("bo", "cy"):
            other = server.client(tokens[name])
            wrong = {"i00", "i01"} if name == "bo" else {"i00"}
            said = entries(
                other,
                lambda q, w=wrong: str(3 - int(sensible(q))) if q["item"] in w else sensible(q),
            )
            other.post("/api/judgements", json={"judgements": said})
        second = run("serve", *words)
        assert second.exit_code == 2
        assert "in use by another 'boxpen review serve'" in " ".join(second.output.split())

        status = run("status", "small.jsonl", "--journal", "review.db", "--json")
        found = json.loads(status.stdout)
        assert found["judges"] == {"ann": 12, "bo": 12, "cy": 12}
        assert found["most_judges_fail"] == [{"item": "i00", "right": 1, "judges": 3}]
        kim = server.client(tokens["coordinator"])
        (folder / "copy.jsonl").write_bytes(kim.get("/export/answers.jsonl").content)
        done = run("import", "small.jsonl", "copy.jsonl", "--journal", "review.db")
        assert "0 judgement(s) added" in done.output
        extra = folder / "dan.jsonl"
        extra.write_text(json.dumps({"item": "i05", "judge": "dan", "verdict": "2"}) + "\n")
        done = run("import", "small.jsonl", extra, "--journal", "review.db")
        assert "1 judgement(s) added" in done.output
        figures = kim.get("/api/dashboard").json()
        assert figures["tasks"][0]["judgements"] == 3 * ITEMS + 1
        assert figures["tasks"][0]["failed"] == [{"item": "i00", "right": 1, "judges": 3}]
        done = run("apply", "small.jsonl", "--journal", "review.db", "--out", "runs", "--json")
        assert done.exit_code == 0, done.output
        human = json.loads(done.stdout)["human"]
        assert (human["judges"], human["answers"]) == (4, 37)
        (made,) = (folder / "runs").iterdir()
        words = ["small.jsonl", str(made), "starter"]
        assert [t.words for t in Request(words=words).targets()] == [(word,) for word in words]
        done = run("apply", "small.jsonl", "--journal", "review.db", "--without-failed",
                   "--out", "better.jsonl")  # fmt: skip
        assert "11 items written to better.jsonl; 1 left out" in done.output
        better = read_suite("better.jsonl")
        assert "i00" not in {item.id for item in better}
        assert "most of three or more judges failed" in better.card.notes
        done = run("export", "small.jsonl", "--journal", "review.db", "--judge", "eve",
                   "--out", "eve.csv", "--disputed")  # fmt: skip
        assert "3 item(s) to judge" in done.output
    finally:
        assert server.end() == 0
    store = Store(Database(folder / "review.db"))
    rows = [(row.judge, row.item) for row in store.since()]
    assert len(rows) == len(set(rows)) == 3 * ITEMS + 1
    store.database.close()


def test_the_demo(folder):
    server = Process("--demo", "--port", "0")
    try:
        kim = server.client(server.tokens["coordinator"])
        found = kim.get("/api/dashboard").json()
        assert found["tasks"][0]["judgements"] == 120
        assert any(row["value"] for row in found["tasks"][0]["agreement"])
        judge = server.client(server.tokens["cy"])
        assert judge.get("/api/me").json()["tasks"][0]["done"] == 40
        database = next(Path(p) for line in server.lines for p in re.findall(r"(/\S+)/", line)
                        if "boxpen-demo" in line and "links" in line)  # fmt: skip
        assert database.is_dir()
    finally:
        assert server.end() == 0
    assert not database.exists()
    assert [path.name for path in folder.iterdir()] == ["small.jsonl"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "there is nothing to judge"),
        (("none.jsonl",), "none.jsonl"),
        (("small.jsonl", "--judges", "2", "--overlap", "3"), "--overlap is 3, expected 2 or fewer"),
        (("small.jsonl", "--judges", "0"), "--judges is 0"),
        (("small.jsonl", "--judges", "a", "a"), "a name twice"),
        (("small.jsonl", "--judges", "coordinator", "x"), "who is someone else"),
        (("small.jsonl", "--task", "answers", "tags"), "needs --tag"),
        (("small.jsonl", "small.jsonl"), "given twice"),
        (("small.jsonl", "--gold", "none.jsonl"), "none.jsonl"),
        (("small.jsonl", "--database", "none/r.db"), "there is no folder none"),
        (("small.jsonl", "--database", "small.jsonl"), "small.jsonl cannot be used"),
        (("small.jsonl", "--database", "postgresql://u:pw@localhost:1/x"), "cannot be used"),
        (("small.jsonl", "--tls-cert", "x.pem"), "need each other"),
        (("small.jsonl", "--tls-cert", "x.pem", "--tls-key", "y.pem"), "cannot be used"),
        (("small.jsonl", "--host", "256.1.1.1"), "256.1.1.1, port 8760, cannot be used"),
        (("small.jsonl", "--host", ".."), ".., port 8760, cannot be used"),
        (("small.jsonl", "--port", "99999"), "--port is 99999, expected"),
        (("small.jsonl", "--demo"), "--demo brings its own"),
        (("small.jsonl", "--max-judges", "3"), "--max-judges needs --until-agree"),
        (("small.jsonl", "--sample", "0"), "--sample is 0"),
        (("small.jsonl", "--new-link", "ann"), "--new-link is 'ann'"),
    ],
)
def test_what_is_refused(folder, words, why, monkeypatch):
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    done = run("serve", *words)
    assert done.exit_code == 2, done.output
    assert why in " ".join(done.output.split())
    assert "pw" not in done.output
    assert done.output.count("\n") <= 3


def test_a_port_that_is_taken_adds_nobody(folder):
    """Whoever was added would never see their link."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "small.jsonl", "--port", taken.getsockname()[1])
    assert done.exit_code == 2
    assert "Address already in use" in " ".join(done.output.split())
    assert [path.name for path in folder.iterdir()] == ["small.jsonl"]


def test_a_lost_link_is_replaced(folder):
    def links(*more: str) -> dict[str, str]:
        request = Request(words=["small.jsonl"], judges=["ann"], new_links=more)
        with opened(request) as (campaign, new):
            stored = {name: campaign.store.enter(token) for name, _, token in new}
            assert None not in stored.values()
            return {name: token for name, _, token in new}

    before = links()
    assert list(links("coordinator")) == ["coordinator"]
    with opened(Request(words=["small.jsonl"])) as (campaign, new):
        assert new == []
        assert campaign.store.enter(before["coordinator"]) is None
        assert campaign.store.enter(before["ann"]) is not None


def test_missing_packages_are_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = run("serve", "small.jsonl", "--database", "postgresql://localhost/x")
    assert "psycopg" in done.output
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    for name in [n for n in sys.modules if n.startswith("boxpen.review.app")]:
        monkeypatch.delitem(sys.modules, name)
    done = run("serve", "small.jsonl")
    assert done.exit_code == 2
    assert "pip install 'boxpen[review]'" in " ".join(done.output.split())


def test_runs_are_one_target_and_other_words_each_their_own(folder):
    asked = Request(words=["small.jsonl", "starter"]).asked()
    assert [one.task.name for one in asked] == ["answers", "answers"]
    assert len({one.target for one in asked}) == 2
    tagged = Request(words=["small.jsonl"], tasks=["answers", "tags"], tag="steps").asked()
    assert [(one.task.name, one.tag) for one in tagged] == [("answers", ""), ("tags", "steps")]
