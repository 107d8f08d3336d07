"""Servers that answer with odd JSON, or have several models: one sentence, and no wrong number."""

from __future__ import annotations

import queue
from typing import Any

import numpy as np
import pytest
from chat_server import ChatServer, longest
from honest_server import HonestServer
from json_server import JsonServer

import boxpen
from boxpen.errors import ModelError, PolicyError
from boxpen.models.cached import scored
from boxpen.models.remote.client import Call, Client
from boxpen.models.remote.served import limit_cost
from boxpen.models.remote.settings import ApiSettings, settings_of
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

pytest.importorskip("httpx")

SUITE = boxpen.Suite(
    "small",
    (
        boxpen.Choice(id="1", candidates=("a", "bb"), gold=1),
        boxpen.Choice(id="many", candidates=tuple(map(str, range(27))), gold=1),
    ),
    boxpen.Card(language="en", title="Small"),
)


class Odd(JsonServer):
    """Gives fixed answers by the end of a path."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self.answers = {"models": {"data": [{"id": "m"}]}, **answers}
        self.spec = f"api:{self.url}#m"

    def answer(self, path, body, headers):
        found = self.answers.get(path.rpartition("/v1/")[2].replace("/", "_").lstrip("_"))
        return (404, {"error": {"message": "no"}}) if found is None else (200, found)


def completion(logprobs, **more):
    return {"completions": {"choices": [{"text": "x", "logprobs": logprobs}], **more}}


TWO = {"tokens": ["The", " box"], "token_logprobs": [None, -1]}


@pytest.mark.parametrize(
    "answers",
    [
        {"models": {"data": 5}},
        {"models": {"data": [{"id": "m", "meta": "x", "aliases": 5, "max_model_len": "9"}]}},
        {"completions": {"choices": None}, "chat_completions": {"choices": [None]}},
        completion({"tokens": ["The"], "token_logprobs": [-(10**400)]}),
        completion({"content": ["a", "b"]}),
        completion({"content": [{"token": "a", "logprob": -1, "top_logprobs": 5}]}),
        completion(TWO, usage={"prompt_tokens": 0}),
        completion(TWO, usage={"prompt_tokens": 10**400}),
        {"completions": {"choices": [{"prompt_logprobs": [None, {"x": {"logprob": -1}}]}]}},
        {"completions": {"choices": [{"prompt_logprobs": [None, {"5": "x"}]}]}},
        {"tokenize": {"tokens": None}},
        {"tokenize": {"tokens": [{"x": 1}]}},
    ],
)
def test_odd_answers_are_one_sentence(answers):
    with Odd(**answers) as server, pytest.raises(ModelError, match="cannot be used: the server"):
        boxpen.resolve_model(server.spec)


def test_the_exact_name_of_a_model_wins_and_several_are_an_error():
    chat = {"choices": [{"message": {"content": "A dog."}}]}
    for names, wanted in [
        (["org/m", "m"], "m"),
        (["org/m", "n"], "org/m"),
        (["org/m", "other/m"], None),
    ]:
        models = {"data": [{"id": name} for name in names]}
        with Odd(models=models, chat_completions=chat) as server:
            if wanted is None:
                with pytest.raises(ModelError, match="may be any of org/m, other/m"):
                    boxpen.resolve_model(server.spec)
            else:
                assert boxpen.resolve_model(server.spec).findings.model == wanted


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2}, 9),
        ({}, 120),
        ({"prompt_tokens": None, "completion_tokens": -5}, 120),
        ({"prompt_tokens": 10**400}, 120),
    ],
)
def test_what_is_not_counted_costs_the_most_it_can(usage, cost):
    with Odd(completions={"usage": usage}) as server:
        settings = ApiSettings(url=server.url, prompt_price=1e6, completion_price=1e6)
        client = Client("m", settings)
        client.call("/completions", {"max_tokens": 20}, tokens=100)
    assert client.usage.cost == cost


def test_a_limit_that_is_none_or_spent_by_the_probe_is_refused(tmp_path):
    config = tmp_path / "priced.toml"
    with ChatServer() as server:
        config.write_text(f'url = "{server.url}"\nprompt_price = 9\ncompletion_price = 9\n')
        model = boxpen.resolve_model(f"api:{config}")
    with pytest.raises(ModelError, match="--deterministic is up to the server"):
        boxpen.resolve_model(model, deterministic=True)
    with pytest.raises(PolicyError, match="is not a number"):
        limit_cost([model], float("nan"))
    with pytest.raises(PolicyError, match="the probe alone has cost"):
        limit_cost([model], 1e-9)


def test_a_key_within_a_header_is_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setenv("OTHER", "other-secret")
    config = tmp_path / "m.toml"
    with ChatServer(brain=lambda q: 418 if "bb" in q else longest(q)) as server:
        config.write_text(f'url = "{server.url}"\nheaders = {{ X-Auth = "Key=$OTHER" }}\n')
        answer = server.answer
        server.answer = lambda *asked: (
            answer(*asked)
            if answer(*asked)[0] != 418
            else (418, {"error": {"message": "bad key other-secret"}})
        )
        with pytest.raises(ModelError, match="bad key …") as refused:
            boxpen.evaluate(f"api:{config}", SUITE, recipe="ask", cache=":memory:")
    assert "other-secret" not in str(refused.value)


def test_certificates_are_checked_however_https_is_written(monkeypatch):
    import httpx

    seen = []
    monkeypatch.setattr(httpx, "Client", lambda **options: seen.append(options["verify"]))
    for url in ("https://h", "HTTPS://h", "http://h"):
        Client("m", settings_of(f"api:{url}#m"))
    assert seen == [True, True, False]


def test_items_with_more_options_than_letters_are_left_out():
    with ChatServer() as server:
        run = boxpen.evaluate(server.spec, SUITE, recipe="ask", cache=":memory:")
    assert [v.id for v in run.verdicts] == ["1"]
    assert list(run.info.left_out.values()) == [["many"]]


@pytest.mark.parametrize("tokens", [[], None])
@pytest.mark.parametrize(
    "first", [Request("The box is in the pen."), Request(" is in the pen.", prefix="The box")]
)
def test_a_text_without_tokens_is_unanswered_and_not_the_best(gpt2_dir, first, tokens):
    requests = [first, Request("The pen is in the box.")]
    with HonestServer(gpt2_dir, serves=("echo", "tokenize")) as server:
        model = boxpen.resolve_model(server.spec)
        answer = server.answer
        server.answer = lambda path, body, headers: (
            (200, {"tokens": tokens})
            if path.endswith("tokenize") and (first.prefix or first.text) in body.values()
            else answer(path, body, headers)
        )
        found = dict(
            one
            for few in model.score(requests, model.resolve_policy(ScoringPolicy()))
            for one in few
        )
    assert list(found) == [1]
    assert list(model.unanswered) == requests[:1]


def test_a_request_that_failed_before_counts_if_it_is_answered_now(tmp_path):
    request = Request("a")

    with ChatServer() as server, ScoreCache(":memory:") as cache:
        model = boxpen.resolve_model(server.spec)
        policy = model.resolve_policy(ScoringPolicy())
        model.score = lambda *_: iter([])
        model.unanswered[request] = "HTTP 500"
        first = scored(model, policy, [request], cache, "")
        record = Record(np.zeros(1, np.int32), np.zeros(1, np.float32))
        model.score = lambda *_: iter([[(0, record)]])
        second = scored(model, policy, [request], cache, "")
    assert first.unanswered == {request: "HTTP 500"}
    assert second.unanswered == {}


@pytest.mark.parametrize("value", [None, "x", float("nan"), 5.0])
def test_a_letter_without_a_number_is_not_the_likeliest(value):
    with ChatServer() as server:
        model = boxpen.resolve_model(server.spec)
        assert model.cannot_answer("letters") is None
        top = [{"token": "B", "logprob": value}, {"token": "A", "logprob": -0.1}]
        server.listed = lambda _: {"token": "A", "logprob": -0.1, "top_logprobs": top}
        with pytest.raises(ModelError, match=r"answered no item .* a log-probability is (nan|5)"):
            boxpen.evaluate(model, SUITE, recipe="ask-letters", cache=":memory:")


def test_an_interrupt_keeps_what_is_in_flight(monkeypatch):
    class Interrupted(queue.Queue):
        def get(self):
            self.times = getattr(self, "times", 0) + 1
            if self.times == 3:
                raise KeyboardInterrupt
            return super().get()

    monkeypatch.setattr(queue, "SimpleQueue", Interrupted)
    answers = []
    with ChatServer(delay=0.02) as server:
        client = Client("m", settings_of(server.spec))
        body = {"messages": [{"content": "A?"}]}
        sent = client.each(Call("/chat/completions", body) for _ in range(1000))
        with pytest.raises(KeyboardInterrupt):
            any(answers.append(one) for one in sent)
        assert 2 < len(answers) == len(server.log) < 1000


def test_what_failed_a_check_is_not_part_of_the_fingerprint(gpt2_dir):
    with HonestServer(gpt2_dir, serves=("echo", "chat"), fault="shifted") as server:
        model = boxpen.resolve_model(server.spec)
    assert model.access == "chat"
    assert model.findings.values == ()
