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
from honest_server import HonestServer

import boxpen
from boxpen.catalog.files import write_suite
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

THINGS = ("pen", "house", "river", "tree", "box", "lake", "shoe", "door", "lamp", "spoon")
KILLS = int(os.environ.get("BOXPEN_TEST_KILLS", "1"))  # more: docs/remote.md


def committed(path):
    """Return the keys that the cache has."""
    with sqlite3.connect(path) as db:
        return {key for (key,) in db.execute("SELECT key FROM records")}


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
    rng = random.Random(3)
    with HonestServer(gpt2_dir, serves=serves, delay=0.02) as server:
        command = [
            sys.executable, "-m", "boxpen", "run", str(suite), "--model", server.spec,
            "--cache", str(scores), "--out", str(tmp_path / "out"),
        ]  # fmt: skip
        model = boxpen.resolve_model(server.spec)
        policy = model.resolve_policy(ScoringPolicy())
        with ScoreCache(scores) as cache:
            model.attach(cache)

        def key_of(sent):
            if isinstance(sent, tuple):
                return cache_key(model.fingerprint, {"access": "forced"}, sent)
            return cache_key(model.fingerprint, policy.as_dict(), Request(sent).parts())

        kills = 0
        while True:
            known, before = committed(scores), len(asked(server))
            least = before + rng.randint(4, 12)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            # Not before something is kept, or nothing would ever be done.
            while process.poll() is None and (
                kills >= KILLS or len(asked(server)) < least or committed(scores) == known
            ):
                time.sleep(0.02)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                time.sleep(0.3)  # until the server has finished what was in flight
            new = asked(server)[before:]
            assert len(new) == len(set(new))
            assert known.isdisjoint(map(key_of, new))  # nothing that was kept is sent again
            if process.returncode != -signal.SIGKILL:
                assert process.returncode == 0, process.stderr.read().decode()
                break
        assert {key_of(sent) for sent in asked(server)} <= committed(scores)
    assert kills == KILLS
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
