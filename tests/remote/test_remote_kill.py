"""A run that is killed again and again: no committed request is sent twice, and none is lost."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from chat_server import ChatServer
from honest_server import HonestServer
from typer.testing import CliRunner

import boxpen
from boxpen.catalog.files import write_suite
from boxpen.cli.app import app
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

THINGS = ("pen", "house", "river", "tree", "box", "lake", "shoe", "door", "lamp", "spoon")
KILLS = int(os.environ.get("BOXPEN_TEST_KILLS", "1"))  # more: docs/remote.md


def committed(path, table):
    """Return the keys that the cache has."""
    with sqlite3.connect(path) as db:
        return {key for (key,) in db.execute(f"SELECT key FROM {table}")}


def killed_again_and_again(options, scores, table, asked, key_of):
    """Run, kill and resume; nothing that was kept may be asked for again.

    Args:
        options: Of ``boxpen run``.
        scores: The cache.
        table: Its table that answers go to.
        asked: Returns what the server was asked for so far.
        key_of: From one of these to its key in the cache.
    """
    rng = random.Random(3)
    options = ["run", *options, "--cache", str(scores)]
    for _ in range(KILLS):
        known, before = committed(scores, table), len(asked())
        least = before + rng.randint(4, 12)
        process = subprocess.Popen([sys.executable, "-m", "boxpen", *options], stderr=-3, stdout=-3)
        # Not before something is kept, or nothing would ever be done.
        while len(asked()) < least or committed(scores, table) == known:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.3)  # until the server has finished what was in flight
        check(asked()[before:], known, key_of)
    known, before = committed(scores, table), len(asked())
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    check(asked()[before:], known, key_of)
    assert {key_of(sent) for sent in asked()} <= committed(scores, table)


def check(new, known, key_of):
    assert len(new) == len(set(new))
    assert known.isdisjoint(map(key_of, new))  # nothing that was kept is sent again


@pytest.mark.timeout(60 + 20 * KILLS)
@pytest.mark.parametrize("serves", [("echo",), ("forced", "tokenize")])
def test_killed_again_and_again(gpt2_dir, tmp_path, serves):
    # A session sends some 10 to 30 requests before it is killed: one per text, or per token.
    many = 1 + KILLS // 8 if serves == ("echo",) else 1 + KILLS // 80
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
        killed_again_and_again(options, scores, "records", lambda: asked(server), key_of)
    run = boxpen.Run.load(next((tmp_path / "out").iterdir()))
    assert len(run.verdicts) == len(items)  # none is lost
    fresh = boxpen.evaluate(f"hf:{gpt2_dir}", suite, cache=":memory:")
    assert [v.winner for v in fresh.verdicts] == [v.winner for v in run.verdicts]


def asked(server):
    """Return the texts or nodes that were asked for, without those of the probe."""
    dog = server.ids("Dog", bos=False)
    found = []
    for body in server.completions():
        prompt = body["prompt"]
        if isinstance(prompt, str):
            found += [prompt] * prompt.startswith("Dog")
        elif prompt[1 : 1 + len(dog)] == dog:
            found += [(*prompt, *map(int, body["logit_bias"]))]
    return found


@pytest.mark.timeout(60 + 20 * KILLS)
def test_answers_are_kept_one_by_one(tmp_path):
    items = tuple(
        boxpen.Choice(
            id=f"{a} {b} {n}",
            candidates=(f"Dog {n}: the {a} is in the {b}.", f"Dog {n}: in the {a} is a {b}."),
            gold=0,
        )
        for n in range(1 + KILLS // 8)
        for a in THINGS
        for b in THINGS[:2]
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
        killed_again_and_again(options, scores, "translations", server.asked, key_of)
        fresh = boxpen.evaluate(server.spec, suite, recipe="ask", cache=":memory:")
    run = boxpen.Run.load(next((tmp_path / "out").iterdir()))
    assert run.answers == fresh.answers
