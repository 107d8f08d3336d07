"""Texts that come in chunks: the same scores, no text lost or scored twice, no thread left.

A GPU is fed so; the same code runs here on the CPU, with chunks of a few texts.
"""

from __future__ import annotations

import itertools
import threading
import time

import pytest
import tiny

from boxpen import Request
from boxpen.ahead import Turns
from boxpen.errors import ScoringError
from boxpen.models.causal import CausalModel
from boxpen.models.engine.packs import Reading, packs
from boxpen.models.tokens import _fast, _plain, pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.tree import Tree

WORDS = ("the box is in", "the box was in", "a pen", "the pen", "ink", "the box")
TEXTS = [
    f"{a} {b} {c}"
    for a, b, c in itertools.product(WORDS, ("the", "a", "no"), ("pen", "box", "yard", "hand"))
]


@pytest.fixture
def fed(tiny_models, monkeypatch):
    """A model that is fed as on a GPU."""
    monkeypatch.setattr(CausalModel, "first_chunk", 5)
    model = tiny_models.model("llama")
    model.turns = Turns()
    model.token_budget = 64
    return model


def gone(threads) -> bool:
    until = time.monotonic() + 10
    while any(t.is_alive() for t in threads) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(t.is_alive() for t in threads)


def test_chunks_score_as_one(fed, tiny_models, score_all):
    requests = [Request(t) for t in [*TEXTS, *TEXTS[:7], ""]]
    whole = tiny_models.model("llama")
    whole.turns = None
    expected = [r.total for r in score_all(whole, requests)]
    assert [r.total for r in score_all(fed, requests)] == pytest.approx(expected, abs=1e-4)
    assert fed.tally.texts == len(TEXTS), "equal texts of different chunks are scored once"
    assert fed.tally.nodes < fed.tally.tokens


def test_the_order_of_the_requests_changes_no_bit(fed, score_all):
    forward = score_all(fed, [Request(t) for t in TEXTS])
    backward = score_all(fed, [Request(t) for t in reversed(TEXTS)])
    for one, other in zip(forward, reversed(backward), strict=True):
        assert one.logprobs.tolist() == other.logprobs.tolist()


def test_what_tokenising_raises_reaches_the_caller(fed, monkeypatch, score_all):
    before = set(threading.enumerate())
    encode, calls = fed.encode, itertools.count()

    def failing(requests, policy):
        if next(calls) == 3:
            raise ScoringError("no more")
        return encode(requests, policy)

    monkeypatch.setattr(fed, "encode", failing)
    with pytest.raises(ScoringError, match="no more"):
        score_all(fed, [Request(t) for t in TEXTS])
    assert gone(set(threading.enumerate()) - before)


def test_what_the_model_raises_reaches_the_caller(fed, monkeypatch, score_all):
    before = set(threading.enumerate())
    score_all(fed, [Request("the box")])
    run, calls = fed._decoder.run, itertools.count()

    def failing(pack, **more):
        if next(calls) == 2:
            raise ValueError("broken")
        return run(pack, **more)

    monkeypatch.setattr(fed._decoder, "run", failing)
    with pytest.raises(ValueError, match="broken"):
        score_all(fed, [Request(t) for t in TEXTS])
    assert gone(set(threading.enumerate()) - before)


def test_a_stream_that_is_left_ends_its_threads(fed):
    before = set(threading.enumerate())
    stream = fed.score([Request(t) for t in TEXTS], fed.resolve_policy(ScoringPolicy()))
    next(stream)
    stream.close()
    assert gone(set(threading.enumerate()) - before)


def test_texts_by_themselves_and_in_padded_batches_take_no_turns(fed, tiny_models, score_all):
    requests = [Request(t) for t in TEXTS[:12]]
    expected = [r.total for r in score_all(tiny_models.model("llama"), requests)]
    fed.deterministic = True
    assert [r.total for r in score_all(fed, requests)] == pytest.approx(expected, abs=1e-4)
    fed.deterministic = False
    fed._decoder = None  # as if the self-check had failed
    assert [r.total for r in score_all(fed, requests)] == pytest.approx(expected, abs=1e-4)
    with fed.turns.first():
        pass  # nobody holds a turn still


def test_packs_of_several_trees_hold_every_reading_once():
    readings = []
    for number in range(120):
        ids = (0, number % 7, number % 3, *range(number % 11), number)
        readings.append(Reading(ids[:-1], range(len(ids) - 1), ids[1:]))
    chunks = [range(10), range(10, 60), range(60, 120)]
    trees = [(c, Tree([readings[i].tokens for i in c])) for c in chunks]
    found = list(packs(readings, iter(trees), 64, width=16))
    members = [m for pack in found for m in pack.members]
    assert sorted(members) == list(range(120))
    for pack in found:
        assert pack.ids.size <= 64 or len(pack.ids) == 1
        start = 0
        for member, end in zip(pack.members, pack.ends.tolist(), strict=True):
            # What is wanted lies where the reading's own tokens lie.
            assert pack.ids.ravel()[pack.wanted[start:end]].tolist() == list(
                readings[member].tokens
            )
            assert pack.targets[start:end].tolist() == list(readings[member].targets)
            start = end


def test_packs_are_as_wide_as_they_are_told():
    readings = [Reading(tuple(range(n)), range(n), tuple(range(n))) for n in range(1, 30)]
    tree = Tree([r.tokens for r in readings])
    for pack in packs(readings, [(range(29), tree)], 64, width=16, align=8):
        assert pack.ids.shape[1] % 8 == 0


@pytest.mark.parametrize("name", sorted(tiny.KINDS))
def test_the_quick_way_to_token_ids_is_the_usual_one(tiny_models, name):
    _, tokenizer = tiny_models.pair(name)
    texts = [*TEXTS[:5], "盒子在围栏里。", "", " odd  spaces ", "</s> [SEP] <unk>", "naïve café 🙂"]
    usual = tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"]
    if _plain(tokenizer):
        assert _fast(tokenizer, texts) == usual
    found = pieces(tokenizer, [Request(t) for t in texts])
    assert [list(p.ids) for p in found] == [list(ids) for ids in usual]
