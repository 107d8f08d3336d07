"""A run that is killed again and again: no committed request is sent twice, and none is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time

import forked
import pytest
from chat_server import ChatServer
from honest_server import HonestServer

import boxpen
from boxpen.catalog.files import write_suite
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

THINGS = ("pen", "house", "river", "tree", "box", "lake", "shoe", "door", "lamp", "spoon")
KILLS = int(os.environ.get("BOXPEN_TEST_KILLS", "1"))  # more: docs/results/servers.md


def committed(path, table):
    """Return the keys that the cache has."""
    with sqlite3.connect(path) as db:
        return {key for (key,) in db.execute(f"SELECT key FROM {table}")}


def count(path, table):
    with sqlite3.connect(path) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.fixture(scope="module")
def context():
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["forked"])
    return found


def killed_again_and_again(context, options, scores, table, asked, key_of):
    """Run, kill and resume; nothing that was kept may be asked for again.

    What is in flight at a kill, at most ``concurrency`` requests, is asked for again: nobody knows
    its answer.

    Args:
        context: Starts processes.
        options: Of ``boxpen run``.
        scores: The cache.
        table: Its table that answers go to.
        asked: Returns what the server was asked for so far.
        key_of: From one of these to its key in the cache.
    """
    rng = random.Random(3)
    options = ["run", *options, "--cache", str(scores)]
    in_flight = 0
    for kill in range(KILLS + 1):
        known, before = committed(scores, table), len(asked())
        least = before + rng.randint(4, 12)
        log = scores.with_suffix(".log")
        process = context.Process(target=forked.run, args=(options, str(log)))
        process.start()
        # Not before something is kept, or nothing would ever be done.
        while kill < KILLS and (len(asked()) < least or count(scores, table) == len(known)):
            assert process.exitcode is None, log.read_text()
            time.sleep(0.01)
        if kill < KILLS:
            process.kill()
        process.join()
        wanted = -signal.SIGKILL if kill < KILLS else 0
        assert process.exitcode == wanted, log.read_text()
        seen = -1
        while seen < len(asked()):  # until the server has read what was sent
            seen = len(asked())
            time.sleep(0.3 if KILLS > 1 else 0.1)
        new = asked()[before:]
        assert len(new) == len(set(new))
        assert known.isdisjoint(map(key_of, new))  # nothing that was kept is sent again
        lost = set(map(key_of, new)) - committed(scores, table)
        assert len(lost) <= (16 if kill < KILLS else 0)
        in_flight += len(lost)
    sent = asked()
    print(
        f"{KILLS} kills, {len(sent)} requests, {in_flight} in flight at a kill, "
        f"{len(sent) - len(set(sent))} sent twice, all of which were in flight"
    )
    assert len(sent) - len(set(sent)) <= in_flight


@pytest.mark.timeout(60 + 20 * KILLS)
@pytest.mark.parametrize("serves", [("echo",), ("forced", "tokenize")])
def test_killed_again_and_again(gpt2_dir, tmp_path, context, serves):
    # A session sends some 10 to 60 requests before it is killed: one per text, or per token.
    many = 1 + KILLS // 4 if serves == ("echo",) else 1 + KILLS // 20
    items = tuple(
        boxpen.Choice(
            id=f"{a} {b} {n}",
            candidates=(f"Dog {n}: the {a} is in the {b}.", f"Dog {n}: in the {a} is the {b}."),
            gold=0,
        )
        for n in range(many)
        for a in THINGS
        for b in (THINGS if KILLS > 10 else THINGS[:2])
        if a != b
    )
    suite, scores = tmp_path / "small.jsonl", tmp_path / "scores.sqlite"
    write_suite(boxpen.Suite("small", items, boxpen.Card(language="en", title="Small")), suite)
    with HonestServer(gpt2_dir, serves=serves, delay=0.02) as server:
        model = boxpen.resolve_model(server.spec)
        policy = model.resolve_policy(ScoringPolicy())
        with ScoreCache(scores) as cache:
            model.attach(cache)

        def key_of(sent):
            if isinstance(sent, tuple):
                return cache_key(model.fingerprint, {"access": "forced"}, sent)
            return cache_key(model.fingerprint, policy.as_dict(), Request(sent).parts())

        options = [str(suite), "--model", server.spec, "--out", str(tmp_path / "out")]
        killed_again_and_again(context, options, scores, "scores", Asked(server), key_of)
    run = boxpen.Run.load(next((tmp_path / "out").iterdir()))
    assert len(run.verdicts) == len(items)  # none is lost
    fresh = boxpen.evaluate(f"hf:{gpt2_dir}", suite, cache=":memory:")
    assert [v.winner for v in fresh.verdicts] == [v.winner for v in run.verdicts]


class Asked:
    """The texts or nodes that a server was asked for, without those of the probe and twins."""

    def __init__(self, server):
        self.server, self.read, self.found = server, 0, []
        self.dog = server.ids("Dog", bos=False)

    def __call__(self):
        with self.server.lock:
            fresh = self.server.log[self.read :]
            self.read += len(fresh)
        for path, body in fresh:
            prompt = body.get("prompt", "")
            if not path.endswith("/v1/completions"):
                continue
            if isinstance(prompt, str):
                self.found += [prompt] * (prompt.startswith("Dog") and prompt.endswith("."))
            elif prompt[1 : 1 + len(self.dog)] == self.dog and body["logprobs"] == 1:
                self.found += [(*prompt, *map(int, body["logit_bias"]))]
        return self.found


@pytest.mark.timeout(60 + 20 * KILLS)
def test_answers_are_kept_one_by_one(tmp_path, context):
    items = tuple(
        boxpen.Choice(
            id=f"{a} {b} {n}",
            candidates=(f"Dog {n}: the {a} is in the {b}.", f"Dog {n}: in the {a} is a {b}."),
            gold=0,
        )
        for n in range(1 + KILLS // 4)
        for a in THINGS
        for b in (THINGS if KILLS > 10 else THINGS[:2])
        if a != b
    )
    suite, scores = tmp_path / "small.jsonl", tmp_path / "scores.sqlite"
    write_suite(boxpen.Suite("small", items, boxpen.Card(language="en", title="Small")), suite)
    ScoreCache(scores).close()
    with ChatServer(delay=0.05) as server:
        fingerprint = boxpen.resolve_model(server.spec).fingerprint

        def key_of(question):
            return cache_key(fingerprint, {"task": "answer", "most": 32}, (question,))

        options = [str(suite), "--model", server.spec, "--recipe", "ask"]
        options += ["--out", str(tmp_path / "out")]
        killed_again_and_again(context, options, scores, "texts", server.asked, key_of)
        fresh = boxpen.evaluate(server.spec, suite, recipe="ask", cache=":memory:")
    run = boxpen.Run.load(next((tmp_path / "out").iterdir()))
    assert run.answers == fresh.answers
