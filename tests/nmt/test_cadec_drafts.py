"""Drafts for CADec: sampled, corrupted, and which of them a training gets; sentences cut apart."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from context_task import EOS, PAD, VOCABULARY, context_task, padded, tiny_marian  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from boxpen.nmt.context.cadec_first_pass import split  # noqa: E402
from boxpen.nmt.context.drafts import (  # noqa: E402
    corrupted,
    drafts_for_training,
    greedy,
    sampled,
)

SPECIAL = {EOS, PAD}


@pytest.fixture(scope="module")
def base() -> Any:
    torch.set_num_threads(1)
    return tiny_marian(4, dropout=0.5)


def dice(seed: int = 1) -> Any:
    return torch.Generator().manual_seed(seed)


def test_samples_end_and_come_again_with_their_seed(base: Any) -> None:
    batch = context_task(5, 30)
    base.train()
    ids, mask = batch["input_ids"], batch["attention_mask"]
    one, two, other = (sampled(base, ids, mask, generator=dice(seed)) for seed in (1, 1, 2))
    assert base.training
    assert torch.equal(one, two)
    assert one.shape != other.shape or not torch.equal(one, other)
    for row, length in zip(one.tolist(), mask.sum(1).tolist(), strict=True):
        end = row.index(EOS)
        assert end < 2 * length + 10
        assert PAD not in row[:end]
        assert set(row[end + 1 :]) <= {PAD}


def test_cold_samples_are_the_greedy_translation(base: Any) -> None:
    batch = context_task(6, 20)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    cold = sampled(base, ids, mask, generator=dice(), temperature=1e-5)
    with torch.no_grad():
        states = base.eval().model.encoder(input_ids=ids, attention_mask=mask)[0]
    assert torch.equal(cold, greedy(base, states, mask))
    short = sampled(base, ids, mask, generator=dice(), max_new_tokens=3, temperature=1e-5)
    assert torch.equal(short[:, :2], cold[:, :2])
    assert set(short[:, 2].tolist()) <= SPECIAL


def test_samples_follow_the_distribution(base: Any) -> None:
    base.eval()
    ids, mask = padded([[9, 3, EOS]])
    with torch.no_grad():
        logits = base(input_ids=ids, decoder_input_ids=torch.tensor([[PAD]])).logits[0, 0]
    logits[PAD] = -torch.inf
    wanted = (logits / 0.5).softmax(-1)
    rows = 4000
    drawn = sampled(
        base, ids.expand(rows, -1), mask.expand(rows, -1), generator=dice(), max_new_tokens=2
    )
    found = torch.bincount(drawn[:, 0], minlength=VOCABULARY) / rows
    assert (found - wanted).abs().max() < 0.03


@given(st.lists(st.integers(-1, 11), min_size=1, max_size=20), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_corruption_leaves_special_tokens_alone(tokens: list[int], share: float, seed: int) -> None:
    labels = torch.tensor([[-100 if token < 0 else token for token in tokens]])
    made = corrupted(labels, share=share, vocabulary=12, special=SPECIAL, generator=dice(seed))
    for before, after in zip(labels[0].tolist(), made[0].tolist(), strict=True):
        if before < 0 or before in SPECIAL:
            assert after == before
        else:
            assert 0 <= after < 12
            assert after not in SPECIAL
    if share == 0:
        assert torch.equal(made, labels)


def test_a_fifth_is_corrupted_evenly() -> None:
    labels = torch.full((100, 200), 50)
    made = corrupted(labels, share=0.2, vocabulary=60, special={0, 31, 59}, generator=dice())
    replaced = made[made != 50]
    assert len(replaced) / labels.numel() == pytest.approx(0.2, abs=0.015)
    assert {*replaced.tolist()} == {*range(1, 59)} - {31, 50}
    everything = corrupted(labels, share=1, vocabulary=60, special={0}, generator=dice())
    assert (everything != 50).float().mean() > 0.97


def test_training_gets_drafts_of_either_kind(base: Any) -> None:
    batch = context_task(7, 200)
    labels = batch["labels"]
    target = labels.masked_fill(labels == -100, PAD)
    kinds = []
    for seed in range(60):
        few = {name: tensor[:4] for name, tensor in batch.items()}
        made = drafts_for_training(base, few, generator=dice(seed))
        ids, mask = made["draft_ids"], made["draft_attention_mask"]
        assert torch.equal(mask.bool(), ids != PAD)
        assert ids.min() >= 0
        kinds.append(ids.shape == target[:4].shape and torch.equal(ids == EOS, target[:4] == EOS))
    assert 15 <= sum(kinds) <= 45
    noisy = drafts_for_training(base, batch, denoising=1, generator=dice())["draft_ids"]
    words = (target != PAD) & (target != EOS)
    assert (noisy != target)[words].float().mean() == pytest.approx(0.2, abs=0.05)
    assert torch.equal(noisy[~words], target[~words])
    free = drafts_for_training(base, batch, denoising=0, generator=dice())["draft_ids"]
    assert free.shape != target.shape or (free != target)[words].float().mean() > 0.5


def test_samples_without_an_end_are_cut(base: Any) -> None:
    batch = context_task(9, 6)
    endless = copy.deepcopy(base)
    endless.final_logits_bias[0, EOS] = -torch.inf
    own = sampled(endless, batch["input_ids"], batch["attention_mask"], generator=dice())
    made = drafts_for_training(endless, batch, denoising=0, generator=dice())["draft_ids"]
    longest = batch["labels"].shape[1] * 3 // 2 + 5
    assert made.shape[1] == longest < own.shape[1]
    assert (made[:, -1] == EOS).all()


SENTENCE = st.lists(st.integers(3, 9), max_size=4).map(lambda words: [*words, EOS])


@given(st.lists(st.lists(SENTENCE, max_size=3), min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_rows_are_cut_behind_every_end(rows: list[list[list[int]]]) -> None:
    ids, mask = padded([[token for s in row for token in s] for row in rows], more=1)
    made = split(ids, mask, eos=EOS, pad=PAD)
    found = [
        (row, distance, tokens[: sum(kept)])
        for row, distance, tokens, kept in zip(
            *(x.tolist() for x in (made.row, made.distance, made.ids, made.mask)), strict=True
        )
    ]
    assert found == [
        (number, len(row) - i, sentence)
        for number, row in enumerate(rows)
        for i, sentence in enumerate(row)
    ]
    assert (made.ids[~made.mask] == PAD).all()
