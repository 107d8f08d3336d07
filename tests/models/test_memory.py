"""Memory that runs out, a budget that gives way, and vocabularies larger than the memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import architectures
import numpy as np
import pytest
import tiny
import torch
from architectures import assert_plain, drawn, run, whole

from boxpen import ModelError, Request, resolve_model
from boxpen.models.engine.memory import Budget


@contextlib.contextmanager
def room_for(tokens: int, *parts, error: BaseException | None = None):
    """Let parts of a module run out of memory as soon as they read more than some tokens."""
    failures = []

    def check(part, args, named):
        read = args[0] if args else named["input_ids"]
        if "forward" not in vars(part) and read.numel() > tokens:
            failures.append(read.numel())
            raise error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    handles = [p.register_forward_pre_hook(check, with_kwargs=True) for p in parts]
    try:
        yield failures
    finally:
        for handle in handles:
            handle.remove()


def requests_for(model, count: int) -> list[Request]:
    """Distinct texts of a few words; candidates of two sources where there are sources."""
    words = ("The", "box", "was", "in", "pen", "some", "porter", "put", "a", "piano", "into")
    rng = np.random.default_rng(3)
    texts = dict.fromkeys(" ".join(rng.permutation(words)[:5]) for _ in range(count))
    if not model.encoder:
        return [Request(text=t) for t in texts]
    return [
        Request(text=t, source=("大雨", "箱子在围栏里。")[i % 2], languages=("zh", "en"))
        for i, t in enumerate(texts)
    ]


# --- The budget


def test_a_budget_is_halved_and_after_a_quiet_time_raised_again():
    budget = Budget(100)
    budget.halve(100)
    assert budget.tokens == 50
    budget.halve(30)  # even a smaller batch did not fit
    assert budget.tokens == 15
    seen = []
    for _ in range(2000):
        budget.fitted()
        seen.append(budget.tokens)
    assert seen[0] == 15
    assert seen == sorted(seen)
    assert set(seen) == {15, 30, 60, 100}  # at most what it began with
    assert min(seen.count(15), seen.count(30)) > 10  # not at once


def test_trouble_starts_the_quiet_time_anew():
    budget = Budget(64)
    budget.halve(64)
    quiet = 0
    while budget.tokens == 32:
        budget.fitted()
        quiet += 1
    budget.halve(64)
    for _ in range(quiet - 1):
        budget.fitted()
    budget.halve(32)
    for _ in range(quiet - 1):
        budget.fitted()
        assert budget.tokens == 16
    budget.fitted()
    assert budget.tokens == 32


def test_a_budget_is_never_nothing():
    budget = Budget(3)
    for _ in range(5):
        budget.halve(budget.tokens)
    assert budget.tokens == 1


def test_a_fixed_budget_says_that_it_may_not_change():
    budget = Budget(64, fixed=True)
    with pytest.raises(ModelError, match="64 tokens") as caught:
        budget.halve(64)
    assert "\n" not in str(caught.value)
    assert budget.tokens == 64


# --- Out of memory


@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt", "bert", "xlnet", "t5"])
def test_out_of_memory_halves_the_budget_and_changes_no_score(name, tiny_models, score_all, agree):
    model = resolve_model(tiny_models.pair(name), token_budget=256)
    requests = requests_for(model, 30)
    expected = score_all(model, requests)
    assert model.budget.tokens == 256
    with room_for(60, model.body) as failures:
        records = score_all(model, requests)
    assert failures
    assert len(failures) < 10  # it learns
    for one, other in zip(expected, records, strict=True):
        agree(other, (one.token_ids.tolist(), one.logprobs.tolist()))
    if len(requests) * 12 < 32 * 60:  # too few batches to raise it again
        assert model.budget.tokens <= 128


@pytest.mark.parametrize("name", ["marian", "mbart"])
def test_out_of_memory_also_splits_the_targets_of_one_source(name, tiny_models, score_all, agree):
    """They are one row, but not one text."""
    model = resolve_model(tiny_models.pair(name), token_budget=256)
    requests = requests_for(model, 30)
    expected = score_all(model, requests)
    with room_for(60, model.body, model.module.get_encoder()) as failures:
        records = score_all(model, requests)
    assert failures
    for one, other in zip(expected, records, strict=True):
        agree(other, (one.token_ids.tolist(), one.logprobs.tolist()))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 GB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        MemoryError(),
    ],
    ids=["cuda", "cpu", "mps", "python"],
)
def test_out_of_memory_is_known_by_any_of_its_names(error):
    module = architectures.module("llama")
    model = resolve_model((module, tiny.gpt2()[1]), token_budget=128)
    encoded = [whole(drawn(n, 12)) for n in range(20)]
    run(model, encoded)
    with room_for(50, model.body, error=error) as failures:
        values = run(model, encoded)
    assert failures
    assert model.budget.tokens <= 64
    assert_plain(module, encoded, values)


def test_other_errors_are_not_taken_for_a_lack_of_memory(tiny_models, score_all):
    model = resolve_model(tiny_models.pair("llama"), token_budget=128)
    requests = requests_for(model, 20)
    score_all(model, requests)
    with (
        room_for(50, model.body, error=RuntimeError("shapes do not match")) as failures,
        pytest.raises(RuntimeError, match="shapes do not match"),
    ):
        score_all(model, requests)
    assert len(failures) == 1
    assert model.budget.tokens == 128


def test_a_budget_that_is_raised_too_far_gives_way_again():
    module = architectures.module("llama")
    model = resolve_model((module, tiny.gpt2()[1]), token_budget=64)
    encoded = [whole(drawn(n, 14)) for n in range(400)]
    run(model, encoded[:1])
    with room_for(40, model.body) as failures:
        values = run(model, encoded)
    assert 2 <= len(failures) <= 12  # tried again now and then, and refused each time
    assert_plain(module, encoded[::20], values[::20])


def test_out_of_memory_in_a_stem_is_survived():
    module = architectures.built(lambda: architectures.llama(max_position_embeddings=1024))
    model = resolve_model((module, tiny.gpt2()[1]), token_budget=128)
    trunk = drawn(1, 300)
    encoded = [whole(trunk + drawn(n, 30)) for n in range(2, 40)]
    run(model, encoded[:1])
    model._decoder._stem = None  # as if it had not been run
    with room_for(50, model.body) as failures:
        values = run(model, encoded)
    assert failures
    assert_plain(module, encoded[::6], values[::6])


def test_a_single_text_is_run_in_parts_when_it_does_not_fit_at_once():
    """What is too long for the budget is run in parts anyway; so it can be for a halved one."""
    module = architectures.module("llama")
    model = resolve_model((module, tiny.gpt2()[1]), token_budget=128)
    encoded = [whole(drawn(1, 80))]
    run(model, encoded)
    with room_for(50, model.body):
        values = run(model, encoded)
    assert_plain(module, encoded, values)


@pytest.mark.parametrize("name", ["llama", "gpt", "bert", "xlnet", "marian", "t5"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_text_that_never_fits_is_one_sentence(name, deterministic, tiny_models, score_all):
    model = resolve_model(tiny_models.pair(name), deterministic=deterministic)
    requests = requests_for(model, 4)
    score_all(model, requests)
    with room_for(0, model.body), pytest.raises(ModelError, match="memory") as caught:
        score_all(model, requests)
    assert "\n" not in str(caught.value)
    assert "--" in str(caught.value)  # the way out


# --- A large vocabulary on a small machine


@pytest.mark.parametrize(
    "kind",
    [
        "causal",
        *(pytest.param(k, marks=pytest.mark.heavy) for k in ("replayed", "masked", "seq2seq")),
    ],
)
def test_a_vocabulary_of_256_thousand_is_never_stored_as_logits(kind):
    """A thousand positions times the vocabulary would be a gigabyte.

    Most of what is taken goes to the self-check, which runs sequences of 24 tokens plainly.
    """
    found = peak(kind)
    assert found["positions"] * 256_000 * 4 > 1e9
    assert found["grown"] < 250e6, f"{found['grown'] / 1e6:.0f} MB more than after loading"


def peak(kind):
    """How much the peak of the memory grew, in a process of its own."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("large_vocabulary.py"), kind],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    name, grown, positions = done.stdout.split()
    assert name == kind
    return {"grown": int(grown), "positions": int(positions)}
