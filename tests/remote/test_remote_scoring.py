"""Models behind an API score like the same model here: every access, with and without tokenizer."""

from __future__ import annotations

import numpy as np
import pytest
from honest_server import HonestServer

import boxpen
from boxpen.errors import ModelError
from boxpen.models.cached import scored
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

pytest.importorskip("httpx")

TEXTS = [
    Request("The box is in the pen."),
    Request("The pen is in the box."),
    Request(" in the pen.", prefix="The box is"),
    Request("ver, the tree.", prefix="The house by the ri"),
    Request("The box is in the pen.", prefix=""),
    Request("盒子在围栏里。"),
    Request(" in 围栏 🙂", prefix="The 盒子 is"),
    Request("The house by the river, the tree: the box, the pen, the river."),
]
AUTO = ScoringPolicy()
WAYS = {
    "echo": ("echo",),
    "echo, ids": ("echo", "tokenize"),
    "prompt_logprobs": ("prompt_logprobs",),
    "prompt_logprobs, ids": ("prompt_logprobs", "tokenize"),
    "forced, ids": ("forced", "tokenize"),
}


def records(model, policy=AUTO):
    found = dict(one for batch in model.score(TEXTS, model.resolve_policy(policy)) for one in batch)
    assert not model.unanswered
    return [found[i] for i in range(len(TEXTS))]


def assert_equal(ours, theirs, *, ids: bool):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-3)
        assert one.unscored == other.unscored
        assert one.crossing == other.crossing
        assert not ids or one.token_ids.tolist() == other.token_ids.tolist()


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_every_access_equals_the_local_scorer(gpt2_dir, gpt2, way, bos):
    with HonestServer(gpt2_dir, serves=WAYS[way], bos=bos) as server:
        model = boxpen.resolve_model(server.spec)
        assert model.access == way.partition(",")[0]
        policy = ScoringPolicy(bos="auto" if bos else "never")
        assert model.resolve_policy(policy).bos is bos
        assert_equal(records(model, policy), records(gpt2, policy), ids="ids" in way)


@pytest.mark.parametrize("serves", ["echo", "prompt_logprobs", "forced"])
@pytest.mark.parametrize("bos", ["always", "never"])
def test_a_tokenizer_folder_allows_any_bos(gpt2_dir, gpt2, tmp_path, serves, bos):
    with HonestServer(gpt2_dir, serves=(serves,), named=False) as server:
        config = tmp_path / "tiny.toml"
        config.write_text(f'url = "{server.url}"\nmodel = "tiny"\ntokenizer = "{gpt2_dir}"\n')
        model = boxpen.resolve_model(f"api:{config}")
        policy = ScoringPolicy(bos=bos)
        if serves == "forced":
            known = [r for r in TEXTS if (r.prefix + r.text).isascii()]
            asked = model.resolve_policy(policy)
            found = dict(one for batch in model.score(known, asked) for one in batch)
            local = dict(one for b in gpt2.score(known, gpt2.resolve_policy(policy)) for one in b)
            assert_equal([found[i] for i in found], [local[i] for i in found], ids=True)
            assert len(found) == len(known)
        else:
            assert_equal(records(model, policy), records(gpt2, policy), ids=True)
        assert model.token_texts([ord("a") - 32])


def test_forced_tokens_are_asked_once_per_node(gpt2_dir):
    with HonestServer(gpt2_dir, serves=("forced", "tokenize")) as server:
        model = boxpen.resolve_model(server.spec)
        before = len(server.completions())
        records(model)
        asked = server.completions()[before:]
        sent = [(*b["prompt"], *b["logit_bias"]) for b in asked if b["logprobs"] == 1]
        assert len(sent) == len(set(sent)) == model.tally.nodes
        assert 8 <= len(asked) - len(sent) < 12  # some are checked
        assert model.tally.nodes < model.tally.tokens


def test_a_long_text_is_cut_and_flagged_with_ids_and_unanswered_without(gpt2_dir):
    request = Request("The box is in the pen. " * 60)
    with HonestServer(gpt2_dir, serves=("echo", "tokenize")) as server:
        model = boxpen.resolve_model(server.spec)
        ((_, record),) = next(iter(model.score([request], model.resolve_policy(ScoringPolicy()))))
        assert record.truncated
        assert len(record.logprobs) == 254
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        assert list(model.score([request], model.resolve_policy(ScoringPolicy()))) == []
        assert model.unanswered[request].startswith("HTTP 400: maximum context length")


def test_policies_that_a_server_cannot_follow_are_refused(gpt2_dir):
    with HonestServer(gpt2_dir) as server:
        model = boxpen.resolve_model(server.spec)
        for policy in ({"bos": "never"}, {"eos": "always"}, {"max_length": 9}):
            with pytest.raises(ModelError, match="tokenizer"):
                model.resolve_policy(ScoringPolicy(**policy))
        with pytest.raises(ModelError, match="up to the server"):
            boxpen.resolve_model(server.spec, dtype="float32")


def test_a_model_swapped_behind_a_name_is_not_served_from_the_cache(gpt2_dir, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    other = tmp_path / "other"
    module = AutoModelForCausalLM.from_pretrained(gpt2_dir)
    with torch.no_grad():
        module.transformer.wte.weight += 0.3 * torch.randn(module.transformer.wte.weight.shape)
    module.save_pretrained(other)
    AutoTokenizer.from_pretrained(gpt2_dir).save_pretrained(other)
    prints = []
    with ScoreCache(tmp_path / "scores.sqlite") as cache:
        for folder in (gpt2_dir, other, gpt2_dir):
            with HonestServer(folder) as server:
                model = boxpen.resolve_model(server.spec)
                done = scored(model, model.resolve_policy(ScoringPolicy()), TEXTS[:4], cache, "")
                prints.append((model.fingerprint, done.engine["from_cache"]))
    assert [hits for _, hits in prints] == [0, 0, 4]
    assert prints[0][0] == prints[2][0] != prints[1][0]


def test_noise_does_not_change_the_fingerprint(gpt2_dir, tmp_path):
    with HonestServer(gpt2_dir) as server, ScoreCache(tmp_path / "scores.sqlite") as cache:
        first, second = (boxpen.resolve_model(server.spec) for _ in range(2))
        second.findings.values = tuple(v + 0.01 for v in second.findings.values)
        first.attach(cache)
        second.attach(cache)
        assert first.fingerprint == second.fingerprint


def test_a_failed_request_leaves_its_item_out(gpt2_dir, tmp_path):
    items = tuple(
        boxpen.Choice(
            id=t, candidates=(f"The box is in the {t}.", f"The {t} is in the box."), gold=0
        )
        for t in ("pen", "house", "river", "tree")
    )
    suite = boxpen.Suite("small", items, boxpen.Card(language="en", title="Small"))

    def fails(body):
        return 400 if "the river is" in str(body["prompt"]).lower() else 0

    with HonestServer(gpt2_dir, fails=fails) as server:
        run = boxpen.evaluate(server.spec, suite, cache=":memory:")
    assert [v.id for v in run.verdicts] == ["pen", "house", "tree"]
    ((reason, ids),) = run.info.left_out.items()
    assert reason.startswith("unanswered: HTTP 400: it failed")
    assert ids == ["river"]
    assert "|api:echo|" in run.signature
    assert boxpen.Run.load(run.save(tmp_path)).info.left_out == run.info.left_out
    with (
        HonestServer(gpt2_dir, fails=lambda body: 400) as server,
        pytest.raises(ModelError, match="log-probabilities that can be trusted"),
    ):
        boxpen.evaluate(server.spec, suite, cache=":memory:")
