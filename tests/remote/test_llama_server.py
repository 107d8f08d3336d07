"""The real server of llama.cpp: it ignores ``echo``, and forced tokens are exact."""

from __future__ import annotations

import json
import urllib.request

import numpy as np
import pytest

import boxpen
from boxpen.errors import ModelError
from boxpen.models.remote.client import Client
from boxpen.models.remote.model import RemoteModel
from boxpen.models.remote.probe import probe
from boxpen.models.remote.settings import settings_of
from boxpen.scoring.ask import questions
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import ASK_LETTERS
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")
xllamacpp = pytest.importorskip("xllamacpp", reason="llama.cpp's server: pip install xllamacpp")

TEXTS = [
    Request("The box is in the pen."),
    Request(" in the pen.", prefix="The box is"),
    Request("盒子在"),
]


@pytest.fixture(scope="module")
def path():
    from boxpen.models.loading.embedded import smollm2_path

    try:
        return smollm2_path(download=False)
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def url(path):
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.port = 0
    params.n_ctx = 2048
    params.n_parallel = 2
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.fixture(scope="module")
def model(url):
    spec = f"api:{url}/v1"
    settings = settings_of(spec)
    client = Client(spec, settings)
    return RemoteModel(spec, client, settings, probe(client, settings, chat=True))


@pytest.fixture(scope="module")
def local(path):
    return boxpen.resolve_model(f"gguf:{path}")


def test_echo_is_refused_and_forced_tokens_are_used(model):
    found = model.findings
    assert found.access == "forced"
    assert found.rejected["echo"] == "fewer log-probabilities came back than tokens were read"
    assert found.tokenizer.source == "/tokenize"
    assert found.chat is not None
    assert found.chat.notes == []
    assert found.letters == ""
    assert not any("Chinese" in note for note in found.notes)


def test_forced_tokens_equal_the_whole_vocabulary(url, model):
    texts = [Request("The box."), Request("盒")]
    policy = model.resolve_policy(ScoringPolicy(bos="always"))
    for batch in model.score(texts, policy):
        for number, record in batch:
            found = post(url, "/tokenize", content=texts[number].text)
            ids = [model.findings.tokenizer.bos, *(token["id"] for token in found)]
            assert record.unscored == 0
            for place, value in zip(range(1, len(ids)), record.logprobs, strict=True):
                exact = whole_vocabulary(url, ids[:place])[ids[place]]
                assert value == pytest.approx(exact, abs=1e-3)
    assert not model.unanswered


@pytest.mark.heavy  # fast: servers of our own, in this folder; forced tokens, above
def test_it_scores_like_the_file_itself(model, local):
    records = []
    for one in (model, local):
        asked = one.score(TEXTS, one.resolve_policy(ScoringPolicy()))
        found = dict(pair for batch in asked for pair in batch)
        records.append([found[i] for i in range(len(TEXTS))])
    for ours, theirs in zip(*records, strict=True):
        assert ours.token_ids.tolist() == theirs.token_ids.tolist()
        # llama.cpp rounds activations to 8 bits; Transformers computes in float32.
        np.testing.assert_allclose(ours.logprobs, theirs.logprobs, atol=0.8)


@pytest.mark.heavy  # fast: servers of our own, in this folder; forced tokens, above
def test_letters_are_those_of_the_file_itself(model, local):
    item = boxpen.Choice(
        id="1", candidates=("The box is in the pen.", "The pen is in the box."), gold=0
    )
    asked = questions(item, ASK_LETTERS)
    found = []
    for one in (model, local):
        policy = one.resolve_policy(ScoringPolicy())
        records = dict(pair for batch in one.letters(asked, policy) for pair in batch)
        found.append([dict(zip(r.token_ids, r.logprobs, strict=True)) for r in records.values()])
    for ours, theirs in zip(*found, strict=True):
        assert set(ours) == set(theirs) == {0, 1}
        for place, value in ours.items():
            assert value == pytest.approx(theirs[place], abs=0.4)
        if abs(theirs[0] - theirs[1]) > 0.8:  # otherwise nearly a tie
            assert max(ours, key=ours.get) == max(theirs, key=theirs.get)


@pytest.mark.heavy  # fast: servers of our own, in this folder; forced tokens, above
def test_it_is_asked_and_translates(model, tmp_path):
    suite = boxpen.Suite(
        "small",
        (
            boxpen.Choice(
                id="1",
                candidates=("La caja está en el corral.", "El corral está en la caja."),
                gold=0,
                source="The box is in the pen.",
            ),
        ),
        boxpen.Card(language="es", source_language="en", title="Small"),
    )
    runs = [
        boxpen.evaluate(model, suite, recipe="ask", translate=True, cache=tmp_path / "scores")
        for _ in range(2)
    ]
    assert len(runs[0].answers) == 2
    assert all(answer.text for answer in runs[0].answers)
    assert runs[0].translations[0].translation
    assert "|api:chat|" in runs[0].signature
    sent = [run.info.engine["how"].partition(" requests")[0] for run in runs]
    assert sent[0] == sent[1]  # all of it came from the cache


def post(url, path, **body):
    body |= {"with_pieces": True} if path == "/tokenize" else {}
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as stream:
        found = json.load(stream)
    return found["tokens"] if path == "/tokenize" else found


def whole_vocabulary(url, ids):
    # A visible token is forced: the server says nothing if a part of a character comes first.
    body = {"prompt": ids, "n_predict": 1, "n_probs": 100_000, "logit_bias": [[49, 100]]}
    found = post(url, "/completion", temperature=0, **body)
    return {
        one["id"]: one["logprob"] for one in found["completion_probabilities"][0]["top_logprobs"]
    }
