"""Batches: every pair once, none too large, the same plan from the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.errors import NmtError
from boxpen.nmt.data.batches import plan, token_batches

lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=200)


@given(lengths, st.integers(40, 300), st.integers(0, 5), st.sampled_from([1, 4, 8]))
@settings(deadline=None)
def test_every_pair_comes_once_and_no_batch_is_too_large(pairs, tokens, epoch, multiple):
    source, target = (np.array(side) for side in zip(*pairs, strict=True))
    batches = plan(source, target, tokens=tokens, seed=3, epoch=epoch, multiple=multiple)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    for batch in batches:
        assert len(batch) * max(source[batch].max(), target[batch].max()) <= tokens


@given(lengths, st.integers(40, 300), st.sampled_from([1, 4]))
@settings(deadline=None)
def test_batches_equal_those_of_a_twin_that_adds_pair_after_pair(pairs, tokens, multiple):
    source, target = (np.array(side) for side in zip(*pairs, strict=True))
    found = plan(source, target, tokens=tokens, seed=3, epoch=0, multiple=multiple)
    lots = np.random.default_rng([3, 0]).random(len(pairs))
    order = sorted(range(len(pairs)), key=lambda i: (target[i], source[i], lots[i]))
    expected = []
    while order:
        batch = []
        for pair in order:
            width = max(max(source[i], target[i]) for i in [*batch, pair])
            if (len(batch) + 1) * width > tokens:
                break
            batch.append(pair)
        if len(batch) < len(order) and len(batch) > multiple:
            batch = batch[: len(batch) - len(batch) % multiple]
        expected.append(batch)
        order = order[len(batch) :]
    assert sorted(b.tolist() for b in found) == sorted(expected)


def test_the_plan_hangs_on_seed_and_epoch_alone():
    dice = np.random.default_rng(1)
    source, target = dice.integers(1, 30, 500), dice.integers(1, 30, 500)

    def planned(seed, epoch):
        batches = plan(source, target, tokens=200, seed=seed, epoch=epoch)
        return [b.tolist() for b in batches]

    assert planned(1, 0) == planned(1, 0)
    assert planned(1, 0) != planned(1, 1)
    assert planned(1, 0) != planned(2, 0)
    together = {frozenset(b) for b in planned(1, 0)}
    assert {frozenset(b) for b in planned(1, 1)} != together  # others meet, not only later


def test_a_sentence_longer_than_a_batch_is_refused_by_its_number():
    with pytest.raises(NmtError, match="pair 1 has 50 tokens, more than the 40 of a batch"):
        plan(np.array([5, 50]), np.array([5, 6]), tokens=40, seed=1, epoch=0)


@given(st.lists(st.integers(0, 60), max_size=100), st.integers(1, 200))
def test_batches_for_translation_keep_the_budget(lengths, tokens):
    batches = list(token_batches(lengths, tokens))
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens
    widths = [max(lengths[i] for i in b) for b in batches]
    assert widths == sorted(widths, reverse=True)
