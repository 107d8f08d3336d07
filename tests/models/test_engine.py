"""Decoders run on prefix trees score as one sequence at a time does, whatever the tree."""

from __future__ import annotations

import copy
from functools import cache

import architectures
import numpy as np
import pytest
import tiny
import torch
from architectures import PACKED, PADDED, assert_plain, built, drawn, llama, run, whole
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spies import listened, spied

from boxpen import Request, resolve_model
from boxpen.models.base import Encoded
from boxpen.models.engine.memory import Budget
from boxpen.scoring.tree import Tree


@cache
def tokenizer():
    return tiny.gpt2()[1]


def model_of(module, **settings):
    model = resolve_model((module, tokenizer()))
    for name, value in settings.items():
        setattr(model, name, value)
    return model


def bush() -> list[Encoded]:
    """Beginnings shared at all depths; ends on the way; ends that differ in the last token only.

    More nodes than any of the models has positions.
    """
    trunk = drawn(1, 60)
    texts = [trunk, trunk[:20], trunk[:21], (*trunk[:20], 5), (*trunk[:20], 6), trunk[:2]]
    texts += [trunk[:shared] + drawn(shared, 45 - shared) for shared in (1, 7, 13, 19, 25, 31, 37)]
    texts += [drawn(99, 50), drawn(98, 4), drawn(97, 2)]
    assert len(set(texts)) == len(texts)
    return [whole(t) for t in texts] + [Encoded(ids=trunk, scored=(3, 30, 31))]


# --- Architectures


@pytest.mark.parametrize("budget", [1024, 24])
@pytest.mark.parametrize("name", [*PACKED, *PADDED])
def test_every_architecture_scores_as_it_does_alone(name, budget):
    module = architectures.module(name)
    encoded = bush()
    assert_plain(module, encoded, run(model_of(module, token_budget=budget), encoded))


@pytest.mark.parametrize("name", PACKED)
def test_decoders_that_heed_positions_and_masks_are_packed(name):
    model = model_of(architectures.module(name))
    run(model, [whole(drawn(1, 6))])
    assert model.engine == "prefix tree"


@pytest.mark.parametrize("name", PADDED)
def test_other_decoders_are_padded_and_say_why(name):
    model = model_of(architectures.module(name))
    run(model, [whole(drawn(1, 6))])
    reason = model.engine.removeprefix("padded batches: ")
    assert model.engine != reason
    assert len(reason) > 10


def test_a_window_wider_than_the_probe_that_is_counted_along_the_row():
    """GPT-Neo masks what is far away in the row, not in the tree; its checkpoints see 256."""
    module = built(lambda: architectures.gpt_neo(window=128, positions=512))
    trunk = drawn(1, 50)
    encoded = [whole(trunk + drawn(n, 30)) for n in range(2, 9)]
    assert_plain(module, encoded, run(model_of(module, token_budget=1024), encoded))


def test_a_row_wider_than_the_table_of_positions():
    """GPT-Neo keeps a triangle of that size and cannot take a wider row, though none is as deep."""
    module = built(lambda: architectures.gpt_neo(window=128, positions=128))
    trunk = drawn(1, 50)
    encoded = [whole(trunk + drawn(n, 30)) for n in range(2, 9)]
    assert_plain(module, encoded, run(model_of(module, token_budget=1024), encoded))


@pytest.mark.parametrize("window", [32, 40])
def test_texts_longer_than_a_sliding_window_are_padded_and_the_others_packed(window):
    module = built(lambda: architectures.mistral(window))
    trunk = drawn(1, 30)
    long = [whole(drawn(n, n)) for n in range(window - 1, window + 3)]
    long += [whole(drawn(7, 70)), whole(drawn(7, 60) + drawn(8, 10))]
    short = [whole(trunk[:shared] + drawn(shared, 28 - shared)) for shared in (1, 8, 20)]
    for budget in (1024, 16):
        model = model_of(module, token_budget=budget)
        assert_plain(module, long + short, run(model, long + short))
        assert model.engine.startswith("prefix tree")


def test_only_texts_longer_than_a_sliding_window():
    module = built(lambda: architectures.mistral(32))
    encoded = [whole(drawn(n, 60)) for n in range(3)]
    assert_plain(module, encoded, run(model_of(module), encoded))


@pytest.mark.parametrize("budget", [1024, 16])
def test_rotary_factors_that_depend_on_the_longest_text_beside(budget):
    """Phi-3 turns by other angles as soon as one row of a batch is longer than 4096 tokens."""
    factors = {
        "rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [4.0] * 8,
        "rope_theta": 10000.0, "factor": 3.0, "original_max_position_embeddings": 32,
    }  # fmt: skip
    module = built(lambda: architectures.phi3(factors, original_max_position_embeddings=32))
    encoded = [whole(drawn(1, 20)), whole(drawn(2, 31)), whole(drawn(3, 60)), whole(drawn(4, 34))]
    assert_plain(module, encoded, run(model_of(module, token_budget=budget), encoded))


@torch.inference_mode()
@pytest.mark.parametrize("name", ["gemma2", "cohere", "llama"])
def test_the_output_layer_is_evaluated_once_for_each_node_that_predicts(name):
    """The nodes are counted where the logits are made, or not at all where they are not stored."""
    module = architectures.module(name)
    model = model_of(module)
    run(model, [whole(drawn(1, 6))])
    trunk = drawn(1, 30)
    # Of the trunk, only what follows its tenth token is asked for, by two texts.
    encoded = [Encoded(ids=trunk[:12], scored=(11,)), Encoded(ids=(*trunk[:11], 5), scored=(11,))]
    encoded += [Encoded(ids=trunk, scored=tuple(range(20, 30)))]
    rows = []
    layer = module.get_output_embeddings()
    handle = layer.register_forward_pre_hook(lambda _, args: rows.append(args[0][..., 0].numel()))
    values = run(model, encoded)
    handle.remove()
    assert sum(rows) == (0 if name == "llama" else 1 + 10)
    assert_plain(module, encoded, values)


# --- Stems, and sequences longer than a pack


@cache
def roomy():
    """A Llama that takes long texts."""
    return built(lambda: llama(max_position_embeddings=4096))


def positions(calls) -> list[int]:
    return [call["input_ids"].numel() for call in calls]


def test_hundreds_of_texts_under_a_beginning_several_times_the_budget():
    trunk = drawn(1, 300)
    encoded = [whole(trunk + drawn(n, 2 + n % 6)) for n in range(2, 302)]
    model = model_of(roomy(), token_budget=64)
    run(model, [whole(drawn(5, 5))])
    with spied(model.body) as calls:
        values = run(model, encoded)
    nodes = Tree([e.ids[:-1] for e in encoded]).nodes
    assert nodes < 2000 < 90_000 < sum(len(e.ids) for e in encoded)
    assert max(positions(calls)) <= 64
    assert sum(positions(calls)) <= 1.25 * nodes
    assert_plain(roomy(), encoded[::15], values[::15])
    trunks = np.array([v[:299] for v in values])
    assert (trunks == trunks[0]).all()  # computed once, and to the last bit the same


@pytest.mark.parametrize("shorter", [(), (400,), (400, 100)])
def test_texts_that_are_the_beginning_of_others_themselves(shorter):
    """Nothing is left of them below the stem."""
    trunk = drawn(1, 400)
    encoded = [whole((*trunk, 5)), whole((*trunk, 6)), Encoded(ids=(*trunk, 7), scored=(9, 400))]
    encoded += [whole(trunk[:length]) for length in shorter]
    encoded += [whole(trunk + drawn(n, 100)) for n in range(2, 8)]
    model = model_of(roomy(), token_budget=64)
    assert_plain(roomy(), encoded, run(model, encoded))


def test_beginnings_that_grow_out_of_beginnings():
    trunk = drawn(1, 200)
    branches = [trunk + drawn(n, 150) for n in (2, 3)]
    encoded = [whole(t + drawn(n, 5)) for t in (trunk, *branches) for n in range(10, 40)]
    encoded += [whole(drawn(77, 9)), whole(drawn(78, 90))]
    model = model_of(roomy(), token_budget=64)
    assert_plain(roomy(), encoded, run(model, encoded))


@pytest.mark.parametrize("length", [63, 64, 65, 66, 129, 640, 641])
def test_no_pass_over_a_long_text_reads_more_than_the_budget(length):
    encoded = [whole(drawn(3, length + 1))]
    model = model_of(roomy(), token_budget=64)
    run(model, [whole(drawn(5, 5))])
    with spied(model.body) as calls:
        values = run(model, encoded)
    assert max(positions(calls)) <= 64
    assert sum(positions(calls)) == length
    assert_plain(roomy(), encoded, values)


def test_a_chain_of_texts_each_one_token_longer():
    chain = drawn(1, 301)
    encoded = [Encoded(ids=chain[: n + 1], scored=(n,)) for n in range(1, 301)]
    expected = architectures.plain(roomy(), whole(chain))
    for budget in (1024, 64):
        found = np.concatenate(run(model_of(roomy(), token_budget=budget), encoded))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["llama", "gpt", "bert", "xlnet", "marian", "t5"])
@pytest.mark.parametrize("budget", [None, 16])
def test_the_tally_counts_every_position_that_is_computed(name, budget, tiny_models, score_all):
    """Stems and padding too: what it says is what the body and the encoder read."""
    model = resolve_model(tiny_models.pair(name), token_budget=budget)
    parts = [model.body, *([model.module.get_encoder()] if model.encoder else [])]
    requests = requests_for(model, [s for s in tiny.SENTENCES if s != tiny.LONG])
    score_all(model, requests)  # with the self-checks, which do not count
    if model.kind == "causal":  # another stem, so that none of these is still there
        score_all(model, [Request(text=tiny.LONG)])
    before = copy.copy(model.tally)
    with spied(*parts) as calls:
        score_all(model, requests)
    assert model.tally.computed - before.computed == sum(positions(calls))


# --- Trap 8b


@st.composite
def tangled(draw) -> list[Encoded]:
    """Many that begin others, equal ones that are asked for other tokens, three tokens in all."""
    tokens = st.lists(st.integers(3, 5), min_size=2, max_size=24).map(tuple)
    texts = draw(st.lists(tokens, min_size=1, max_size=10))
    texts += [t[: draw(st.integers(2, len(t)))] for t in texts if draw(st.booleans())]
    texts += [t for t in texts if draw(st.booleans())]
    out = [
        Encoded(t, tuple(sorted(draw(st.sets(st.integers(1, len(t) - 1), min_size=1)))))
        for t in texts
    ]
    return list(dict.fromkeys(out))


@cache
def tangle_model():
    return model_of(architectures.module("llama"))


@cache
def alone(ids: tuple[int, ...]):
    return architectures.plain(architectures.module("llama"), whole(ids))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    encoded=tangled(), budget=st.integers(8, 64), size=st.none() | st.integers(1, 6)
)  # fmt: skip
def test_trap_08b_any_tangle_of_prefixes_and_equal_texts(encoded, budget, size):
    model = tangle_model()
    model.budget, model.batch_size = Budget(budget), size
    for one, found in zip(encoded, run(model, encoded), strict=True):
        expected = [alone(one.ids)[i - 1] for i in one.scored]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert model.engine == "prefix tree"


# --- Order and duplicates, to the last bit (to 1e-4: test_batch_invariance.py)

KINDS = ["llama", "gpt", "bert", "xlnet", "marian", "t5"]
TEXTS = (
    "The box was in the pen.",
    "The box was in the drawer.",
    "The box",
    "Who did this? It rained all night!",
    "The little boy was looking for his toy box.",
    "The little boy was looking for his piano.",
)


def requests_for(model, texts) -> list[Request]:
    if not model.encoder:
        return [Request(text=t) for t in texts]
    sources = ("箱子在围栏里。", "大雨")
    return [
        Request(text=t, source=sources[i % 2], languages=("zh", "en")) for i, t in enumerate(texts)
    ]


def bits(records) -> list[bytes]:
    return [r.logprobs.tobytes() for r in records]


@pytest.mark.parametrize("name", KINDS)
def test_threads_change_nothing(name, tiny_models, score_all, agree):
    model = resolve_model(tiny_models.pair(name))
    requests = requests_for(model, TEXTS)
    expected = score_all(model, requests)
    try:
        torch.set_num_threads(2)
        found = score_all(model, requests)
    finally:
        torch.set_num_threads(1)
    for one, other in zip(expected, found, strict=True):
        agree(other, (one.token_ids.tolist(), one.logprobs.tolist()))


@pytest.mark.parametrize("name", KINDS)
def test_order_and_duplicates_change_not_a_bit(name, tiny_models, score_all):
    model = resolve_model(tiny_models.pair(name))
    requests = requests_for(model, TEXTS)
    expected = dict(zip(requests, bits(score_all(model, requests)), strict=True))
    for order in (requests[::-1], requests[2:] + requests[:2], requests[::-1] * 3):
        for request, found in zip(order, bits(score_all(model, order)), strict=True):
            assert found == expected[request]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("budget", [None, 16])
def test_in_deterministic_mode_company_changes_not_a_bit(name, budget, tiny_models, score_all):
    model, fresh = (
        resolve_model(tiny_models.pair(name), token_budget=budget, deterministic=True)
        for _ in range(2)
    )
    requests = requests_for(model, TEXTS)
    together = bits(score_all(model, requests))
    for request, found in reversed(list(zip(requests, together, strict=True))):
        assert bits(score_all(fresh, [request])) == [found]
    assert bits(score_all(model, requests[::-1]))[::-1] == together


def test_in_deterministic_mode_a_stem_that_was_run_before_changes_not_a_bit():
    """A long text, and the same with other tokens scored: what is kept of the one is not reused."""
    module = built(lambda: llama(vocab_size=20_000, hidden_size=64, max_position_embeddings=1024))
    ids = drawn(1, 200, 20_000)
    wanted = (range(1, 200), (3, 199), range(50, 200))
    encoded = [Encoded(ids, tuple(scored)) for scored in wanted]
    ordinary = model_of(module, deterministic=True, token_budget=64)
    for one in encoded:
        (among,) = run(ordinary, [one])
        (by_itself,) = run(model_of(module, deterministic=True, token_budget=64), [one])
        assert among.tobytes() == by_itself.tobytes()


def test_equal_requests_are_run_once_however_many_there_are(tiny_models, score_all, monkeypatch):
    """So many requests that they are tokenised in several chunks; here, more than three."""
    monkeypatch.setattr("boxpen.models.base._CHUNK", 3)
    model = tiny_models.model("gpt2")
    requests = [Request(text=t) for t in (*TEXTS, *TEXTS, TEXTS[0], TEXTS[0])]
    records = score_all(model, requests)
    assert model.tally.texts == len(TEXTS)
    for request, found in zip(requests, bits(records), strict=True):
        assert found == bits(records)[requests.index(request)]


# --- Half precision


@torch.inference_mode()
@pytest.mark.parametrize("name", ["llama", "falcon", "gemma2", "granite"])
def test_packed_scores_in_bf16_come_from_an_output_layer_in_float32(name):
    """Every node is known by the tokens it sees, and its hidden state gives the scores."""
    half = copy.deepcopy(architectures.module(name)).to(torch.bfloat16)
    model = model_of(half)
    encoded = bush()
    run(model, encoded[:1])
    assert model.engine == "prefix tree"
    states = []
    with spied(model.body) as calls, listened(model.body, states.append):
        values = run(model, encoded)
    known = {}
    for call, hidden in zip(calls, states, strict=True):
        assert hidden.dtype == torch.bfloat16
        for row, ids in enumerate(call["input_ids"]):
            for node in range(len(ids)):
                path = tuple(ids[call["attention_mask"][row, 0, node] == 0].tolist())
                known[path] = hidden[row, node].double()
    weight = half.get_output_embeddings().weight.double()
    for one, found in zip(encoded, values, strict=True):
        for i, value in zip(one.scored, found, strict=True):
            logits = weight @ known[one.ids[:i]]
            if name == "gemma2":
                logits = 5.0 * torch.tanh(logits / 5.0)
            if name == "granite":
                logits = logits / 3.0
            expected = float(torch.log_softmax(logits, -1)[one.ids[i]])
            assert value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["xglm", "gemma3"])
def test_the_rounding_of_plain_bf16_logits_does_not_turn_a_decoder_away(name):
    """The self-check compares with logits in bf16; those of 32 and more are off by 0.125 nats."""
    model = model_of(copy.deepcopy(architectures.module(name)).to(torch.bfloat16))
    run(model, [whole(drawn(1, 6))])
    assert model.engine == "prefix tree"


def test_logits_far_from_zero_do_not_turn_a_bf16_decoder_away():
    """Those of GPT-2 lie around -100, where bf16 knows every second half only."""
    module = copy.deepcopy(architectures.module("phi")).to(torch.bfloat16)
    encoded = bush()
    expected = run(model_of(module), encoded)
    with torch.no_grad():
        module.lm_head.bias.zero_()
        ordinary = run(model_of(copy.deepcopy(module)), encoded)
        module.lm_head.bias.fill_(-100.0)
    model = model_of(module)
    for one, other in zip(ordinary, run(model, encoded), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-4)
    assert any(np.abs(a - b).max() > 0.1 for a, b in zip(expected, ordinary, strict=True))
    assert model.engine == "prefix tree"
