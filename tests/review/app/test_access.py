"""Who may do what: every route for every role, and attacks on sessions, requests and paths."""

from __future__ import annotations

import asyncio
import logging
from http.cookies import SimpleCookie
from uuid import uuid4

import pytest
from campaigns import ORIGIN, Small, Words, suite
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from boxpen.review.answers import AnswerTask
from boxpen.review.app.server import HEADERS, create_app
from boxpen.review.app.web.access import COOKIE

ROLES = ("none", "judge", "adjudicator", "coordinator", "revoked")
# For each route: what it is asked, and the status for every role.
ROUTES = {
    ("GET", "/"): (None, 303, 200, 303, 303, 303),
    ("GET", "/enter"): (None, 200, 200, 200, 200, 200),
    ("POST", "/enter"): ({"token": "wrong"}, 403, 403, 403, 403, 403),
    ("POST", "/leave"): ({}, 401, 204, 204, 204, 401),
    ("GET", "/healthz"): (None, 200, 200, 200, 200, 200),
    ("GET", "/api/me"): (None, 401, 200, 200, 200, 401),
    ("GET", "/api/tasks/{key}/queue"): (None, 401, 200, 403, 403, 401),
    ("GET", "/api/tasks/{key}/items/{item:path}"): (None, 401, 200, 200, 200, 401),
    ("GET", "/api/tasks/{key}/mine"): (None, 401, 200, 200, 200, 401),
    ("POST", "/api/judgements"): ({"judgements": []}, 401, 200, 200, 200, 401),
    ("GET", "/dashboard"): (None, 303, 403, 403, 200, 303),
    ("GET", "/disputes"): (None, 303, 403, 200, 200, 303),
    ("GET", "/people"): (None, 303, 403, 403, 200, 303),
    ("GET", "/api/dashboard"): (None, 401, 403, 403, 200, 401),
    ("GET", "/api/disputes"): (None, 401, 403, 200, 200, 401),
    ("GET", "/api/people"): (None, 401, 403, 403, 200, 401),
    ("POST", "/api/people"): ({"action": "none"}, 401, 403, 403, 400, 401),
    ("GET", "/export/{key}.jsonl"): (None, 401, 403, 403, 200, 401),
    ("GET", "/static"): (None, 200, 200, 200, 200, 200),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    made = Small(tmp_path_factory.mktemp("access") / "r.db", [AnswerTask(suite()), Words()])
    made.add("eve", "adjudicator")
    made.add("kim", "coordinator")
    yield made
    made.close()


def visitor(small, role):
    if role == "none":
        return small.client()
    name = f"{role} {uuid4()}"
    small.add(name, "judge" if role == "revoked" else role)
    client = small.client(name)
    if role == "revoked":
        person = next(p for p in small.campaign.people.values() if p.name == name)
        done = small.client("kim").change("/api/people", {"action": "revoke", "id": person.id})
        assert done.status_code == 200
    return client


@pytest.fixture(scope="module")
def visitors(small):
    return {role: visitor(small, role) for role in ROLES}


def test_the_table_names_every_route(small):
    there = set()
    for route in small.app.routes:
        if isinstance(route, Mount):
            there.add(("GET", route.path))
        else:
            assert isinstance(route, Route)
            there |= {(method, route.path) for method in (route.methods or ()) - {"HEAD"}}
    assert there == ROUTES.keys()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_routes_by_role(small, visitors, route, role):
    method, path = route
    data, *statuses = ROUTES[route]
    client = visitor(small, role) if path == "/leave" else visitors[role]
    path = {"/static": "/static/app.css", "/api/disputes": "/api/disputes?task=words"}.get(
        path, path
    )
    path = path.replace("{key}", "words").replace("{item:path}", "w%2F1")
    done = client.get(path) if method == "GET" else client.change(path, data)
    assert done.status_code == statuses[ROLES.index(role)], done.text
    for name, value in HEADERS.items():
        assert done.headers.get_list(name) == [value]
    assert done.headers["cache-control"] in ("no-store", "no-cache")
    assert "access-control-allow-origin" not in done.headers


class TestSessions:
    def test_the_cookie_is_locked_up(self, small):
        client = small.client()
        done = client.enter(small.tokens["ann"])
        cookie = SimpleCookie(done.headers["set-cookie"])[COOKIE]
        assert cookie["httponly"]
        assert cookie["samesite"] == "strict"
        assert cookie["path"] == "/"
        assert not cookie["secure"]

    def test_over_tls_it_is_secure(self, small):
        client = TestClient(small.app, base_url="https://testserver")
        done = client.post("/enter", json={"token": small.tokens["ann"]})
        assert SimpleCookie(done.headers["set-cookie"])[COOKIE]["secure"]

    def test_a_session_that_an_attacker_chose_is_not_used(self, small):
        client = small.client()
        client.cookies.set(COOKIE, "chosen-by-mallory")
        client.enter(small.tokens["ann"])
        mine = client.cookies.get(COOKIE, domain="testserver.local") or next(
            c.value for c in client.cookies.jar if c.value != "chosen-by-mallory"
        )
        assert mine != "chosen-by-mallory"
        mallory = small.client()
        mallory.cookies.set(COOKIE, "chosen-by-mallory")
        assert mallory.get("/api/me").status_code == 401

    def test_entering_again_ends_the_session_before(self, small):
        client = small.client("ann")
        old = client.cookies[COOKIE]
        client.enter(small.tokens["bo"])
        other = small.client()
        other.cookies.set(COOKIE, old)
        assert other.get("/api/me").status_code == 401
        assert client.get("/api/me").json()["name"] == "bo"

    def test_leaving_ends_it_for_a_copied_cookie_too(self, small):
        client = small.client("ann")
        copy = small.client()
        copy.cookies.set(COOKIE, client.cookies[COOKIE])
        assert copy.get("/api/me").status_code == 200
        assert client.change("/leave", {}).status_code == 204
        assert copy.get("/api/me").status_code == 401

    def test_a_new_link_ends_the_old_one_and_its_sessions(self, small):
        name = f"renewed {uuid4()}"
        small.add(name)
        client = small.client(name)
        person = next(p for p in small.campaign.people.values() if p.name == name)
        kim = small.client("kim")
        link = kim.change("/api/people", {"action": "renew", "id": person.id}).json()["link"]
        assert link.startswith("http://testserver/enter#")
        assert client.get("/api/me").status_code == 401
        assert client.enter(small.tokens[name]).status_code == 403
        assert client.enter(link.partition("#")[2]).status_code == 200

    def test_they_survive_a_restart(self, small):
        client = small.client("ann")
        again = TestClient(create_app(small.campaign))
        again.cookies.set(COOKIE, client.cookies[COOKIE])
        assert again.get("/api/me").json()["name"] == "ann"


class TestForgedRequests:
    def forge(self, client, **headers):
        return client.post("/api/judgements", json={"judgements": []}, headers=headers)

    def test_without_or_with_a_wrong_header(self, small):
        client, other = small.client("ann"), small.client("bo")
        assert self.forge(client).status_code == 403
        assert self.forge(client, **{"X-CSRF-Token": other.csrf}).status_code == 403
        assert self.forge(client, **{"X-CSRF-Token": "é".encode()}).status_code == 403
        assert self.forge(client, **{"X-CSRF-Token": client.csrf}).status_code == 200

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "https://testserver:1", "http://[x"]
    )
    def test_from_another_origin(self, small, origin):
        client = small.client("ann")
        assert (
            client.change("/api/judgements", {"judgements": []}, Origin=origin).status_code == 403
        )
        done = client.post(
            "/enter", json={"token": small.tokens["ann"]}, headers={"Origin": origin}
        )
        assert done.status_code == 403
        assert (
            client.change("/api/judgements", {"judgements": []}, Origin=ORIGIN).status_code == 200
        )

    def test_forms_of_other_sites_are_not_json(self, small):
        client = small.client("ann")
        headers = {"X-CSRF-Token": client.csrf, "Content-Type": "text/plain"}
        done = client.post("/api/judgements", content='{"judgements": []}', headers=headers)
        assert done.status_code == 415
        done = client.post("/enter", content='{"token": "x"}', headers=headers)
        assert done.status_code == 415


class TestPathsAndBodies:
    @pytest.mark.parametrize(
        "path",
        ["/static/../access.py", "/static/%2e%2e/access.py", "/static/..%2faccess.py",
         "/static/....//access.py", "/static//etc/passwd", "/export/..%2f..%2fr.db.jsonl",
         "/export/words.jsonl%00", "/api/tasks/..%2f/queue", "/api/tasks/words/items/../../x",
         "/api/tasks/words/items/w%2F99", "/nothing"],
    )  # fmt: skip
    def test_paths_that_lead_out(self, small, path):
        done = small.client("kim").get(path)
        assert done.status_code in (403, 404)
        assert "import" not in done.text
        assert done.headers["x-content-type-options"] == "nosniff"

    def test_line_breaks_get_into_no_header(self, small):
        kim = small.client("kim")
        done = kim.change("/api/people", {"action": "add", "name": "x\r\nSet-Cookie: a=b"})
        assert done.status_code == 400
        assert "set-cookie" not in done.headers
        for path in ("/api/disputes?task=a%0d%0aX-Bad:%201", "/export/a%0d%0aX-Bad:%201.jsonl"):
            done = kim.get(path)
            assert done.status_code == 404
            assert "x-bad" not in done.headers

    def test_a_host_that_is_made_up_gets_into_no_redirect(self, small):
        done = small.client().get("/", headers={"Host": "evil.example"})
        assert done.headers["location"] == "enter"

    def test_bodies_that_are_too_long(self, small):
        client = small.client("ann")
        headers = {"X-CSRF-Token": client.csrf, "Content-Type": "application/json"}
        done = client.post("/api/judgements", content=b"x" * (2 << 20), headers=headers)
        assert done.status_code == 413

        def endless():
            for _ in range(40):
                yield b"x" * (1 << 16)

        assert client.post("/api/judgements", content=endless(), headers=headers).status_code == 413
        assert client.post("/enter", content=endless(), headers=headers).status_code == 413

    @pytest.mark.parametrize(
        "body",
        [b"", b"[]", b"{}", b"\xff", b'{"judgements": 1}', b'{"judgements": [1]}',
         b'{"judgements": [{"id": "x"}]}', b'{"judgements": [{"id": "a b c d e f g"}]}',
         b"[" * 100_000,
         b'{"judgements": [' + b'{"id": "12345678"},' * 50 + b'{"id": "12345678"}]}'],
    )  # fmt: skip
    def test_bodies_that_make_no_sense(self, small, body):
        client = small.client("ann")
        headers = {"X-CSRF-Token": client.csrf, "Content-Type": "application/json"}
        done = client.post("/api/judgements", content=body, headers=headers)
        assert done.status_code == 400
        assert done.json()["error"]

    @pytest.mark.parametrize(
        "query",
        [
            "limit=x",
            "limit=-1",
            "limit=9999999",
            "limit=٣",
            pytest.param("limit=" + "9" * 5000, id="huge"),
        ],
    )
    def test_queries_that_make_no_sense(self, small, query):
        done = small.client("ann").get(f"/api/tasks/words/queue?{query}")
        assert done.status_code == 400


class TestLimits:
    def test_guessing_tokens(self, tmp_path):
        small = Small(tmp_path / "r.db", tries=5)
        client = small.client()
        found = [client.enter(f"guess {n}").status_code for n in range(8)]
        assert found == [403] * 5 + [429] * 3
        done = client.enter(small.tokens["ann"])
        assert done.status_code == 429
        assert 1 <= int(done.headers["retry-after"]) <= 60
        small.close()

    def test_too_many_requests_of_one_person(self, tmp_path):
        small = Small(tmp_path / "r.db", rate=1)
        ann, bo = small.client("ann"), small.client("bo")
        found = [ann.get("/api/me").status_code for _ in range(15)]
        assert found[0] == 200
        assert found[-1] == 429
        assert bo.get("/api/me").status_code == 200
        small.close()


def test_tokens_and_cookies_are_in_no_log(small, caplog):
    caplog.set_level(logging.DEBUG)
    client = small.client("ann")
    client.judge("words", client.queue("words")["questions"][0], "accept")
    client.enter("wrong")
    client.get("/api/me?token=" + small.tokens["ann"][:5])
    said = caplog.text
    for secret in (small.tokens["ann"], client.cookies[COOKIE], client.csrf):
        assert secret not in said


def test_a_fault_is_one_sentence_and_its_log_has_no_secret(small, caplog, monkeypatch):
    client = small.client("ann")
    monkeypatch.setattr(small.campaign.store, "last_of", lambda *_: 1 / 0)
    done = client.get("/api/tasks/words/items/w%2F1")
    assert done.status_code == 500
    assert done.json() == {"error": "the server has a fault; try again"}
    assert done.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert "ZeroDivisionError" in caplog.text
    assert client.cookies[COOKIE] not in caplog.text


def test_under_a_prefix(small):
    outer = Starlette(routes=[Mount("/lab/review", create_app(small.campaign))])
    client = TestClient(outer, follow_redirects=False)
    assert client.get("/lab/review/").headers["location"] == "enter"
    done = client.post("/lab/review/enter", json={"token": small.tokens["ann"]})
    assert SimpleCookie(done.headers["set-cookie"])[COOKIE]["path"] == "/lab/review/"
    assert client.get("/lab/review/api/me").json()["name"] == "ann"
    assert client.get("/lab/review/").status_code == 200
    kim = TestClient(outer)
    kim.post("/lab/review/enter", json={"token": small.tokens["kim"]})
    csrf = kim.get("/lab/review/api/me").json()["csrf"]
    data = {"action": "add", "name": f"new {uuid4()}", "role": "judge"}
    done = kim.post("/lab/review/api/people", json=data, headers={"X-CSRF-Token": csrf})
    assert done.json()["link"].startswith("http://testserver/lab/review/enter#")


def test_the_audit_trail(small):
    kim = small.client("kim")
    name = f"zoe {uuid4()}"
    kim.change("/api/people", {"action": "add", "name": name, "role": "judge"})
    (zoe,) = [p for p in kim.get("/api/people").json() if p["name"] == name]
    kim.change("/api/people", {"action": "revoke", "id": zoe["id"]})
    me = next(p for p in kim.get("/api/people").json() if p["name"] == "kim")
    for wrong in (me["id"], True, 1.0, "1", None, [1]):
        done = kim.change("/api/people", {"action": "revoke", "id": wrong})
        assert done.status_code == 400
    eve = small.client("eve")
    question = eve.get("/api/tasks/words/items/w%2F1").json()
    eve.judge("words", question, "reject")
    tail = [(row.who, row.action, row.what) for row in small.store.audit()][-5:]
    assert tail == [
        ("kim", "enter", ""),
        ("kim", "add", f"{name}, judge"),
        ("kim", "revoke", name),
        ("eve", "enter", ""),
        ("eve", "decide", "words, w/1"),
    ]


def test_requests_that_break_off_fill_no_log(small, caplog):
    """Even those of strangers: entering needs no session."""
    headers = [(b"host", b"testserver"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/enter", "query_string": b"",
             "headers": headers, "client": ("127.0.0.9", 1)}  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(small.app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert caplog.text == ""
