"""Names, settings, keys and cost of models behind an API."""

from __future__ import annotations

import logging
import sqlite3

import pytest
from honest_server import HonestServer
from typer.testing import CliRunner

import boxpen
from boxpen.catalog.files import write_suite
from boxpen.cli.app import app
from boxpen.errors import ModelError
from boxpen.models.remote.client import MismatchError
from boxpen.models.remote.protocol import spans
from boxpen.models.remote.settings import settings_of

pytest.importorskip("httpx")

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "small.jsonl"
    things = ("pen", "house", "river", "tree", "box", "lake")
    items = tuple(
        boxpen.Choice(
            id=t, candidates=(f"The dog is in the {t}.", f"The {t} is in the dog."), gold=0
        )
        for t in things
    )
    write_suite(boxpen.Suite("small", items, boxpen.Card(language="en", title="Small")), path)
    return str(path)


def run(*options):
    return CliRunner().invoke(app, ["run", *map(str, options)])


@pytest.mark.parametrize(
    ("url", "base", "root"),
    [
        ("http://h:8000", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/", "http://h:8000/v1", "http://h:8000"),
        ("https://h/api/v1", "https://h/api/v1", "https://h/api"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai", "https://h"),
    ],
)
def test_the_version_may_be_left_out(url, base, root):
    settings = settings_of(f"api:{url}#org/model")
    assert (settings.base, settings.root) == (base, root)
    assert settings.model == "org/model"


def test_the_key_of_openai_goes_to_no_other_server(gpt2_dir, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("BOXPEN_API_KEY", raising=False)
    with HonestServer(gpt2_dir) as server:
        boxpen.resolve_model(server.spec)
        assert KEY not in str(server.headers)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert boxpen.resolve_model("openai:tiny").access == "echo"
        assert f"Bearer {KEY}" in str(server.headers)


def test_keys_appear_nowhere(gpt2_dir, tmp_path, suite, monkeypatch, caplog):
    monkeypatch.setenv("BOXPEN_API_KEY", KEY)
    monkeypatch.setenv("OTHER", "other-secret")
    caplog.set_level(logging.DEBUG)
    with HonestServer(
        gpt2_dir, key=KEY, fails=lambda body: 400 * ("river is" in str(body["prompt"]))
    ) as server:
        config = tmp_path / "in" / "tiny.toml"
        config.parent.mkdir()
        config.write_text(f'url = "{server.url}"\nheaders = {{ X-Team = "$OTHER" }}\n')
        place = tmp_path / "out"
        done = run(suite, "--model", f"api:{config}", "--out", place, "--cache", place / "scores")
        assert done.exit_code == 0, done.output
        assert "left out 1 of 6 items: unanswered: HTTP 400: it failed, …" in " ".join(
            done.output.split()
        )
        assert any("other-secret" in str(headers) for headers in server.headers)
        probed = CliRunner().invoke(app, ["model", "probe", f"api:{config}"])
        assert "echo" in probed.output
        monkeypatch.setenv("BOXPEN_API_KEY", KEY + "-wrong")
        refused = run(suite, "--model", f"api:{config}", "--out", place)
        assert refused.exit_code == 2
        assert "the key in BOXPEN_API_KEY, OTHER was rejected" in refused.output
    seen = [done.output, probed.output, refused.output, caplog.text]
    seen += [p.read_bytes().decode("latin-1") for p in place.rglob("*") if p.is_file()]
    with sqlite3.connect(place / "scores") as db:
        seen += [str(row) for row in db.execute("SELECT * FROM scores")]
    for text in seen:
        assert KEY not in text
        assert "other-secret" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('key = "sk-secret"', "unknown key 'key', did you mean 'key_env'"),
        ('key_env = "sk-secret"', "key_env must be the name of an environment variable"),
        ('url = "http://u:sk-secret@h"', "url contains a user name or a password"),
        ("timeout = 0", "timeout is 0, expected more than 0"),
        ("concurrency = 0", "concurrency is 0, expected 1 to 256"),
        ("url = ", "is not TOML"),
        ('headers = "Bearer sk-secret"', "headers is a string, expected a table"),
        ('url = ["http://u:sk-secret@h"]', "url is a list, expected a string"),
        ("extra = { n = 5 }", "extra must not have 'n'"),
        ("extra = { top_p = nan }", "extra must not have nan or inf"),
        ('tokenizer = "nowhere"', "does not exist"),
    ],
)
def test_bad_settings_are_one_sentence(gpt2_dir, tmp_path, text, said):
    config = tmp_path / "bad.toml"
    with HonestServer(gpt2_dir) as server:
        url = "" if text.startswith("url") else f'url = "{server.url}"\n'
        config.write_text(url + text)
        with pytest.raises(ModelError, match=said) as refused:
            boxpen.resolve_model(f"api:{config}")
    assert "sk-secret" not in str(refused.value)


def test_models_that_the_server_does_not_have(gpt2_dir):
    with HonestServer(gpt2_dir) as server:
        assert boxpen.resolve_model(f"api:{server.url}").short == "tiny"
        with pytest.raises(ModelError, match="has no model 'tinny', did you mean 'tiny'"):
            boxpen.resolve_model(f"api:{server.url}#tinny")


def test_a_cost_limit_stops_in_time_and_keeps_what_was_scored(gpt2_dir, tmp_path, suite):
    config = tmp_path / "tiny.toml"
    scores = tmp_path / "scores"
    with HonestServer(gpt2_dir) as server:
        config.write_text(
            f'url = "{server.url}"\nprompt_price = 1000\ncompletion_price = 2000\nconcurrency = 2\n'
        )
        spec = f"api:{config}"
        model = boxpen.resolve_model(spec)
        limit = model.client.usage.cost + 0.08
        options = (suite, "--model", spec, "--cache", scores, "--out", tmp_path / "out")
        stopped = run(*options, "--max-cost", limit)
        assert stopped.exit_code == 2
        assert f"before --max-cost {limit:g} would be exceeded" in stopped.output
        assert "rerun with a higher --max-cost to resume" in stopped.output
        before = len(server.completions())
        paid = sum(server_cost(server, body) for body in server.completions())
        assert paid - model.client.usage.cost <= limit
        done = run(*options, "--max-cost", 100)
        assert done.exit_code == 0, done.output
        texts = [b["prompt"] for b in server.completions() if "dog" in str(b["prompt"])]
        texts = [text for text in texts if text.endswith(".")]  # others are twins
        assert len(texts) == len(set(texts)) == 12
        assert len(server.completions()) > before
    assert run(suite, "--model", "smollm2", "--max-cost", 1).exit_code == 2


def server_cost(server, body):
    prompt = body["prompt"]
    ids = server.ids(prompt, bos=True) if isinstance(prompt, str) else prompt
    return (len(ids) * 1000 + 2000) / 1e6 if len(ids) <= 255 else 0.0  # rejected


def test_a_limit_needs_prices(gpt2_dir, suite):
    with HonestServer(gpt2_dir) as server:
        done = run(suite, "--model", server.spec, "--max-cost", 1)
    assert done.exit_code == 2
    assert "needs the prices" in done.output


def test_the_probe_command(gpt2_dir):
    with HonestServer(gpt2_dir, serves=("echo", "chat")) as server:
        done = CliRunner().invoke(app, ["model", "probe", server.spec])
        assert done.exit_code == 0
        assert "access           echo" in done.output
        assert "chat             answers questions" in done.output
    with HonestServer(gpt2_dir, serves=("chat",)) as server:
        done = CliRunner().invoke(app, ["model", "probe", server.spec])
        assert done.exit_code == 0
        assert "access           chat" in done.output
    with HonestServer(gpt2_dir, serves=()) as server:
        assert CliRunner().invoke(app, ["model", "probe", server.spec]).exit_code == 2
    assert CliRunner().invoke(app, ["model", "probe", "smollm2"]).exit_code == 2


@pytest.mark.parametrize(
    ("tokens", "text", "bos", "places"),
    [
        (["The", " box"], "The box", False, [(0, 3), (3, 7)]),
        (["<s>", "The", " box"], "The box", True, [(0, 0), (0, 3), (3, 7)]),
        (["", "The", " box"], "The box", True, [(0, 0), (0, 3), (3, 7)]),
        (["<s>", "The", "box"], "The box", True, [(0, 0), (0, 3), (3, 7)]),
        (["▁The", "▁box"], " The box", False, [(0, 4), (4, 8)]),
        (["a", "\ufffd", "\ufffd", "b"], "a盒b", False, [(0, 1), (1, 2), (1, 2), (2, 3)]),
        (["a", "bytes:\\xe7", "bytes:\\x9b"], "a盒", False, [(0, 1), (1, 2), (1, 2)]),
    ],
)
def test_tokens_are_found_in_the_text(tokens, text, bos, places):
    assert spans(tokens, text) == (bos, places)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["The"], "The box"),
        ([" box"], "The box"),
        (["<s>", "<s>", "The"], "The"),
        (["a", "\ufffd"], "a盒子在"),
        (["a", "\ufffd", "c"], "a b c"),
    ],
)
def test_tokens_that_are_not_those_of_the_text(tokens, text):
    with pytest.raises(MismatchError):
        spans(tokens, text)
