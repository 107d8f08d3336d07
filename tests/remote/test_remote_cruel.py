"""Servers that pass the probe and are wrong later.

Checks during a run are a sample, so a server that is wrong now and then may escape: how often is
measured by the heavy test (docs/results/servers.md).
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

import numpy as np
import pytest
from honest_server import HonestServer, _mapped

import boxpen
from boxpen.errors import ModelError
from boxpen.models.remote.forced import Walk
from boxpen.models.remote.protocol import MismatchError, TokenScores, check_shown
from boxpen.models.remote.twins import DistrustError, Twin, Twins
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

WINDOW = 128  # tokens that a forgetful server remembers
TEXTS = [Request(f"The box number {n} is in the pen.") for n in range(16)]
LONG = [
    Request("The house by the river, the tree. " * n + "The box is in the pen.") for n in (7, 8)
]


class CruelServer(HonestServer):
    """Honest until ``cruel`` is set.

    Args:
        cruel: ``window`` (the beginning of a long text is forgotten, but all tokens come back),
            ``long_shift`` (shifted by one, if long), ``tenth_constant`` and ``tenth_other`` (every
            tenth answer is constant, or that of another text), ``swapped`` (two requests get each
            other's answers).
    """

    cruel = ""
    count = 0

    def completed(self, ids, body):
        with self.lock:
            self.count += 1
            tenth = self.count % 10 == 0
        answer = super().completed(ids, body)
        if self.cruel == "tenth_constant" and tenth:
            return _mapped(answer, lambda value: -1.5)
        if self.cruel == "tenth_other" and tenth:
            other = super().completed([ids[0], *ids[:0:-1]], body)
            return self.with_values(answer, other, lambda ours, theirs: theirs)
        if self.cruel == "swapped" and self.count % 4 in (1, 2):
            other = super().completed(self.last, self.last_body) if self.count % 4 == 2 else answer
            self.last, self.last_body = ids, body
            return other
        if self.cruel == "long_shift" and len(ids) > 100:
            return self.with_values(answer, answer, lambda ours, _: [None, *ours[2:], -1.0])
        if self.cruel == "window" and len(ids) > WINDOW:
            tail = super().completed(ids[-WINDOW:], body)
            return self.with_values(answer, tail, lambda ours, near: ours[:-60] + near[-60:])
        return answer

    def with_values(self, answer, other, change):
        ours, theirs = (one["choices"][0]["logprobs"] for one in (answer, other))
        if "token_logprobs" in ours:
            ours["token_logprobs"] = change(ours["token_logprobs"], theirs["token_logprobs"])
        elif "content" in ours:
            ours["content"][0]["logprob"] = theirs["content"][0]["logprob"]
        return answer


def wrong(server, gpt2, texts, cruel, concurrency=1):
    """Score texts, and return how many come back wrong; None if the server is refused.

    With one request at a time, which answer is the tenth does not depend on threads.
    """
    model = boxpen.resolve_model(server.spec)
    model.client.settings = replace(model.client.settings, concurrency=concurrency)
    server.cruel, server.count = cruel, 0
    policy = ScoringPolicy()
    try:
        asked = model.score(texts, model.resolve_policy(policy))
        found = dict(one for batch in asked for one in batch)
    except ModelError:
        return None
    finally:
        server.cruel = ""
    exact = dict(one for batch in gpt2.score(texts, gpt2.resolve_policy(policy)) for one in batch)
    assert len(found) + len(model.unanswered) == len(texts)
    return sum(not np.allclose(found[n].logprobs, exact[n].logprobs, atol=1e-3) for n in found)


@pytest.mark.parametrize(
    ("cruel", "serves", "texts"),
    [
        ("window", ("echo",), LONG),
        ("window", ("echo", "tokenize"), LONG),
        ("long_shift", ("echo",), LONG),
        ("long_shift", ("echo", "tokenize"), LONG),
        ("tenth_constant", ("echo",), TEXTS),
        ("tenth_constant", ("forced", "tokenize"), TEXTS),
        ("tenth_other", ("echo",), TEXTS),
        ("tenth_other", ("echo", "tokenize"), TEXTS),
        ("swapped", ("echo",), TEXTS),
        ("swapped", ("echo", "tokenize"), TEXTS),
    ],
)
def test_no_wrong_number_gets_through_one_request_at_a_time(gpt2_dir, gpt2, cruel, serves, texts):
    with CruelServer(gpt2_dir, serves=serves) as server:
        assert wrong(server, gpt2, texts, "") == 0
        assert not wrong(server, gpt2, texts, cruel)


@pytest.mark.heavy
@pytest.mark.parametrize("serves", [("echo",), ("echo", "tokenize")])
def test_a_server_that_is_wrong_now_and_then_seldom_escapes(gpt2_dir, gpt2, serves):
    """With 16 requests at a time, as by default; remote.md expects 18 % or fewer."""
    with CruelServer(gpt2_dir, serves=serves) as server:
        runs = [wrong(server, gpt2, TEXTS, "tenth_other", concurrency=16) for _ in range(100)]
    escaped = sum(bool(number) for number in runs)
    print(f"{', '.join(serves)}: wrong numbers in {escaped} of {len(runs)} runs")
    assert escaped <= 30  # 18 % and three standard deviations


def test_scores_of_a_server_that_was_caught_are_not_used(gpt2_dir, gpt2, tmp_path):
    with CruelServer(gpt2_dir) as server, ScoreCache(tmp_path / "scores.sqlite") as cache:
        model = boxpen.resolve_model(server.spec)
        model.attach(cache)
        before = model.fingerprint
        model.client.settings = replace(model.client.settings, concurrency=1)
        server.cruel, server.count = "tenth_other", 0
        with pytest.raises(DistrustError, match=r"in one answer and .* will not be used"):
            list(model.score(TEXTS, model.resolve_policy(ScoringPolicy())))
        server.cruel = ""
        after = []
        for _ in range(2):  # the same in every session after it
            again = boxpen.resolve_model(server.spec)
            again.attach(cache)
            after.append(again.fingerprint)
        assert before != after[0] == after[1]


def test_tokens_of_another_text_are_noticed():
    sent = ["", "The", " box", "\n", "盒", " 7"]
    for shown in (["<s>", "The", "Ġbox", "Ċ", "çĽĴ", "7"], ["", "The", "▁box", "", "\ufffd", " 7"]):
        check_shown(shown, sent)
        with pytest.raises(MismatchError, match="those of another text"):
            check_shown([*shown[:-1], " 8"], sent)


def test_twins_are_compared_in_any_order():
    text = TokenScores((1, 2, 3, 4), (), (float("nan"), -1.0, -2.0, -3.0))
    for off in (0.1, 3.0):
        other = TokenScores((1, 2, 3), (), (float("nan"), -1.0, -2.0 - off))
        for text_first in (True, False):
            twins = Twins("m")
            (twin,) = twins.of((1, 2, 3, 4))
            assert twin == Twin((1, 2, 3), (1, 2, 3, 4), "shorter")
            with pytest.raises(DistrustError) if off > 1 else contextlib.nullcontext():
                if text_first:
                    twins.add_text(twin.of, text)
                twins.add(twin, other)
                if not text_first:
                    twins.add_text(twin.of, text)


@pytest.mark.parametrize(("slots", "threads"), [(1, 4), (3, 5), (None, 4)])
def test_a_walk_hands_out_every_node_once(slots, threads):
    nodes = [(0, a, *range(b)) for a in range(7) for b in range(5)]
    walk, lock = Walk("m", nodes[::-1], slots), threading.Lock()
    taken: dict[int, list] = {}

    def work(number):
        while True:
            with lock:
                call = next(walk, None)
            if call is None:
                return
            taken.setdefault(number, []).append(call)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    calls = [call for some in taken.values() for call in some]
    assert sorted(call.tag for call in calls) == sorted(nodes)
    if slots:
        assert len(taken) <= slots
        for some in taken.values():  # a thread has one slot
            assert len({call.body["id_slot"] for call in some}) == 1
