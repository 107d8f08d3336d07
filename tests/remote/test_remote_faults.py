"""Faulty servers: each is refused in one sentence, or survived with the right numbers."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest
from honest_server import CUT, HonestServer
from typer.testing import CliRunner

import boxpen
from boxpen.cli.app import app
from boxpen.errors import ModelError, PolicyError
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

TEXTS = [Request(f"The {a} is in the {b}.") for a in ("box", "pen") for b in ("river", "tree")]


def values(model, texts=TEXTS):
    policy = model.resolve_policy(ScoringPolicy())
    found = dict(one for batch in model.score(texts, policy) for one in batch)
    return [found[i].logprobs for i in sorted(found)]


REFUSED = {
    "shifted": "shifted by one",
    "shifted_back": "same log-probability|in the prompt",
    "constant": "every log-probability is -1.500",
    "zeros": "every log-probability is 0.000",
    "random": "the same request has different answers",
    "positive": "a log-probability is",
    "truncated": "rebuild the text|came back|cut off|read fewer",
    "html": "HTML instead of JSON after 6 tries",
}


@pytest.mark.parametrize("serves", ["echo", "prompt_logprobs", "forced"])
@pytest.mark.parametrize("fault", [fault for fault in REFUSED if "shifted" not in fault])
def test_a_server_that_lies_is_refused(gpt2_dir, fault, serves):
    with (
        HonestServer(gpt2_dir, serves=(serves, "tokenize"), fault=fault) as server,
        pytest.raises(ModelError) as refused,
    ):
        boxpen.resolve_model(server.spec)
    assert refused.match(REFUSED[fault] if serves == "echo" else "")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fault", ["shifted", "shifted_back", "constant", "random", "truncated"])
def test_a_server_that_lies_is_refused_without_a_tokenizer_too(gpt2_dir, fault):
    with (
        HonestServer(gpt2_dir, fault=fault) as server,
        pytest.raises(ModelError, match=REFUSED[fault]),
    ):
        boxpen.resolve_model(server.spec)


@pytest.mark.parametrize("fault", ["shifted", "shifted_back"])
def test_another_access_replaces_a_false_echo(gpt2_dir, gpt2, fault):
    with HonestServer(gpt2_dir, serves=("echo", "tokenize"), fault=fault) as server:
        model = boxpen.resolve_model(server.spec)
        assert model.access == "forced"
        for one, other in zip(values(model), values(gpt2), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_bias_that_is_part_of_the_answer_is_refused(gpt2_dir):
    with (
        HonestServer(gpt2_dir, serves=("forced", "tokenize"), fault="biased") as server,
        pytest.raises(ModelError, match="the bias is part of it"),
    ):
        boxpen.resolve_model(server.spec)


def test_an_ignored_echo_is_noticed(gpt2_dir):
    with HonestServer(gpt2_dir, serves=("forced", "chat")) as server:
        model = boxpen.resolve_model(server.spec)
        assert model.access == "chat"
        with pytest.raises(PolicyError, match=r"fewer log-probabilities came back.*--recipe ask"):
            boxpen.evaluate(model, "starter", limit=9, cache=":memory:")


def test_a_wrong_tokenizer_is_refused(gpt2_dir, tmp_path):
    import json

    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(gpt2_dir).save_pretrained(tmp_path)
    found = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    words = sorted(found["model"]["vocab"].values())
    found["model"]["vocab"] = dict(
        zip(found["model"]["vocab"], words[:3] + words[:2:-1], strict=True)
    )
    (tmp_path / "tokenizer.json").write_text(json.dumps(found), "utf-8")
    config = tmp_path / "tiny.toml"
    with HonestServer(gpt2_dir) as server:
        config.write_text(f'url = "{server.url}"\ntokenizer = "{tmp_path}"\n')
        with pytest.raises(ModelError, match="is not the server's"):
            boxpen.resolve_model(f"api:{config}")


@pytest.mark.parametrize("fault", ["storm", "half_closed", "some_html"])
def test_a_server_with_trouble_is_survived(gpt2_dir, gpt2, tmp_path, fault):
    with HonestServer(gpt2_dir, fault=fault) as server:
        config = tmp_path / "patient.toml"
        config.write_text(f'url = "{server.url}"\nretries = 40\n')
        model = boxpen.resolve_model(f"api:{config}")
        found = values(model)
    assert not model.unanswered
    assert model.client.usage.retries > 10
    for one, other in zip(found, values(gpt2), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_text_that_is_cut_silently_is_unanswered(gpt2_dir):
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        server.fault = "truncated"
        long = Request("The box is in the pen. " * 4)
        assert len(server.ids(long.text, bos=True)) > CUT
        assert len(values(model, [long, *TEXTS[:1]])) <= 1
        assert model.unanswered[long] == "the tokens that came back do not rebuild the text"


def test_a_server_that_goes_away_ends_the_run_in_one_sentence(gpt2_dir):
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        server.fault = "html"
        texts = [Request(f"The box number {n} is in the pen.") for n in range(40)]
        with pytest.raises(ModelError, match=r"stopped answering .*rerun the same command"):
            values(model, texts)


def test_requests_in_flight_adapt_to_the_server(gpt2_dir):
    texts = [Request(f"The box number {n} is in the pen.") for n in range(60)]
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        server.most, server.delay = 0, 0.05
        values(model, texts)
        assert 6 <= server.most <= 16  # it began with 4
        model.client._pace.slow_down(0.0)
        assert model.client._pace._limit <= server.most


@pytest.mark.parametrize("after", ["0.3", "date"])
def test_retry_after_is_honoured(gpt2_dir, after, monkeypatch):
    from email.utils import formatdate

    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        seen: list[float] = []

        def limited(handler):
            seen.append(time.monotonic())
            if len(seen) == 1:
                when = formatdate(time.time() + 2, usegmt=True) if after == "date" else after
                handler.send(429, b"{}", Retry_After=when)
                return True
            return False

        monkeypatch.setattr(server, "sabotaged", limited)
        values(model, [Request("a")])
    assert len(seen) == 2
    assert seen[1] - seen[0] >= (0.9 if after == "date" else 0.3)


def test_an_interrupt_is_clean(gpt2_dir):
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        server.delay = 0.2
        asked = model.score(TEXTS * 10, model.resolve_policy(ScoringPolicy()))
        next(asked)
        began = time.monotonic()
        asked.close()  # as an interrupt does
        assert time.monotonic() - began < 1
        before = len(server.completions())
        time.sleep(0.7)
        assert len(server.completions()) - before <= 16


def test_bad_addresses_are_one_sentence(gpt2_dir):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cases = {
        f"api:http://127.0.0.1:{port}#m": "cannot connect .*refused",
        "api:http://no-such-host.invalid#m": "cannot connect",
        "api:localhost:8000#m": "must be http://HOST",
        "api:http://u:secret@h#m": "user name or a password",
        "api:http://h/?key=secret#m": "query",
        "api:nowhere.toml": "cannot be read",
        "openai:gpt": "set OPENAI_API_KEY",
    }
    for spec, said in cases.items():
        done = CliRunner().invoke(
            app, ["run", "starter", "--model", spec], env={"OPENAI_API_KEY": ""}
        )
        assert done.exit_code == 2, spec
        assert "secret" not in done.output
        with pytest.raises(ModelError, match=said):
            boxpen.resolve_model(spec)


def test_a_server_that_never_answers_times_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        held = []
        threading.Thread(target=lambda: held.append(mute.accept()), daemon=True).start()
        config = tmp_path / "mute.toml"
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        config.write_text(f'url = "{url}"\nmodel = "m"\ntimeout = 0.2\nretries = 1\n')
        with pytest.raises(ModelError, match=r"no answer within 0.2 s after 2 tries"):
            boxpen.resolve_model(f"api:{config}")
