"""The losses of language models equal slow twins, and what boxpen scores with the same model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
from easy_rules import NOUNS, OBJECTS, VERBS
from hypothesis import given
from hypothesis import strategies as st

from boxpen.errors import ModelError
from boxpen.lm.begin import begin
from boxpen.lm.masking import masked
from boxpen.lm.trainable import HELD_OUT, NOTHING, Trainable
from boxpen.models.resolve import resolve_model
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

Base = Callable[[str], str]
SENTENCES = [
    "the cat eats fish",
    "the dog",
    "the farmer likes the bread the cook finds the rice the child wants",
    "soup",
    "not the girl sees milk",
]


def learner_of(kind: str, model: str, seed: int = 4) -> Trainable:
    learner = begin(kind, model, texts=SENTENCES * 3, vocabulary=None, seed=seed)
    learner.module.eval()
    return learner


def total(learner: Trainable, texts: list[str], epoch: int = HELD_OUT) -> tuple[float, int]:
    """Return nats and tokens of all texts in one batch."""
    features = learner.features(texts, 64).features
    batch = learner.batch(features, epoch)
    with torch.no_grad():
        nats, tokens = learner.loss(batch)
    assert sum(map(learner.predictions, features)) == int(tokens)
    return float(nats), int(tokens)


def log_p(module: Any, ids: list[int], place: int, token: int) -> float:
    """Return what a module gives one token at one place of one sentence."""
    with torch.no_grad():
        return float(module(torch.tensor([ids])).logits[0, place].log_softmax(-1)[token])


@pytest.mark.parametrize("begins", [True, False])
def test_the_causal_loss_is_that_of_one_token_at_a_time(tiny_base: Base, begins: bool) -> None:
    learner = learner_of("causal", tiny_base("llama"))
    if not begins:
        learner.tokenizer.bos_token = None
    tokenizer = learner.tokenizer
    expected, tokens = 0.0, 0
    for text in SENTENCES:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if begins:
            ids = [tokenizer.bos_token_id, *ids]
        for place in range(1, len(ids)):
            expected -= log_p(learner.module, ids[:place], place - 1, ids[place])
            tokens += 1
    assert total(learner, SENTENCES) == (pytest.approx(expected, abs=1e-3), tokens)


def test_the_masked_loss_is_that_of_one_token_at_a_time(tiny_base: Base) -> None:
    learner = learner_of("masked", tiny_base("bert"))
    for epoch in (HELD_OUT, 1, 2):
        expected, tokens = 0.0, 0
        for feature in learner.features(SENTENCES, 64).features:
            batch = learner.batch([feature], epoch)
            ids, labels = batch["input_ids"][0].tolist(), batch["labels"][0].tolist()
            for place, label in enumerate(labels):
                if label != NOTHING:
                    assert feature.content[place] == label
                    expected -= log_p(learner.module, ids, place, label)
                    tokens += 1
        assert tokens >= len(SENTENCES), "every sentence has one at least"
        assert total(learner, SENTENCES, epoch) == (pytest.approx(expected, abs=1e-3), tokens)


def test_the_bidirectional_loss_is_that_of_one_sentence_at_a_time() -> None:
    learner = learner_of("bilm", "new:tiny")
    alone = [total(learner, [text]) for text in SENTENCES]
    nats, tokens = (sum(side) for side in zip(*alone, strict=True))
    assert total(learner, SENTENCES) == (pytest.approx(nats, abs=1e-3), tokens)
    assert tokens == sum(len(text.split()) + 1 for text in SENTENCES)  # and the end


def test_what_is_learnt_is_what_is_scored(tiny_base: Base) -> None:
    model: Any = resolve_model(tiny_base("llama"), device="cpu")
    resolved_policy = model.resolve_policy(ScoringPolicy())
    encoded = model.encode([Request(text=text) for text in SENTENCES], resolved_policy)
    learner = learner_of("causal", tiny_base("llama"))
    features = learner.features(SENTENCES, 64).features
    assert [tuple(f.content) for f in features] == [tuple(e.ids) for e in encoded]
    requests = [Request(text=text) for text in SENTENCES]
    scored = sum(
        record.total for some in model.score(requests, resolved_policy) for _, record in some
    )
    assert total(learner, SENTENCES)[0] == pytest.approx(-scored, abs=1e-3)


def test_a_beginning_of_text_in_the_text_is_not_doubled(tiny_base: Base) -> None:
    learner = learner_of("causal", tiny_base("llama"))
    plain, written = learner.features(["the cat", "<s> the cat"], 64).features
    assert plain.content == written.content


def test_long_sentences_are_cut_and_counted_and_empty_ones_left_out(tiny_base: Base) -> None:
    long = " ".join(NOUNS * 3)
    for kind, model in (("causal", tiny_base("llama")), ("masked", tiny_base("bert"))):
        found = learner_of(kind, model).features([long, "the cat"], 10)
        assert (found.cut, found.empty) == (1, 0)
        assert [f.place for f in found.features] == [0, 1]
        assert found.features[0].length == len(found.features[0].content) == 10
    learner = learner_of("causal", tiny_base("llama"))
    learner.tokenizer.bos_token = None
    found = learner.features(["cat", "the cat"], 10)
    assert ([f.place for f in found.features], found.empty) == ([1], 1)


def test_a_sentence_of_which_nothing_can_be_masked_is_left_out(tiny_base: Base) -> None:
    """A batch of such sentences alone would have no loss, and turn all weights into nan."""
    learner = learner_of("masked", tiny_base("bert"))
    found = learner.features(["[UNK][UNK]", "the cat", "[SEP] cat"], 64)
    assert ([f.place for f in found.features], found.empty) == ([1, 2], 1)
    assert total(learner, ["[UNK][UNK]", "the cat"]) == total(learner, ["", "the cat"])
    # Cut behind what cannot be masked, nothing is left either.
    assert learner.features(["[UNK]" * 7 + "cat"], 8).empty == 1


def test_tokens_that_the_model_lacks_are_refused_or_only_fill_up(tiny_base: Base) -> None:
    learner = learner_of("causal", tiny_base("llama"))
    expected = total(learner, SENTENCES)
    rows = learner.module.config.vocab_size
    learner.tokenizer.add_special_tokens({"pad_token": "<pad>"})
    learner.tokenizer.add_tokens(["<image>"])
    learner.__dict__.pop("_beyond", None)
    assert learner.tokenizer.pad_token_id == rows
    assert total(learner, SENTENCES) == expected
    with pytest.raises(ModelError, match=f"has the token {rows + 1} of .* no row for it"):
        learner.features(["the cat", "the <image> cat"], 64)


def test_a_long_sentence_of_a_bidirectional_model_is_cut_at_a_word() -> None:
    learner = learner_of("bilm", "new:tiny")
    found = learner.features(["the cat eats fish the dog the cat eats fish", "the cat"], 8)
    assert [f.content for f in found.features] == ["the cat eats fish the dog", "the cat"]
    assert (found.cut, [f.length for f in found.features]) == (1, [6, 2])


tokens = st.lists(st.integers(5, 500), max_size=60)


@given(ids=tokens, seed=st.integers(0, 2**32 - 1), epoch=st.integers(0, 99), place=st.integers(0))
def test_masks_are_as_berts(ids: list[int], seed: int, epoch: int, place: int) -> None:
    special = frozenset({1, 2, 3, 4})
    framed = [1, *ids, 2]
    how: dict[str, Any] = {"mask": 4, "special": special, "words": range(5, 501)}
    row, labels = masked(framed, draw=(seed, epoch, place), **how)
    assert (row, labels) == masked(framed, draw=(seed, epoch, place), **how)
    chosen = [i for i, label in enumerate(labels) if label != NOTHING]
    assert len(chosen) == (max(1, round(0.15 * len(ids))) if ids else 0)
    for i, token in enumerate(framed):
        if i in chosen:
            assert labels[i] == token
            assert token not in special
            assert row[i] == 4 or row[i] in how["words"]
        else:
            assert row[i] == token


def test_four_fifths_are_masked_and_epochs_differ() -> None:
    ids = list(range(10, 110))
    fates: Counter[str] = Counter()
    seen = set()
    for epoch in range(400):
        row, labels = masked(
            ids, draw=(1, epoch, 7), mask=4, special=frozenset(), words=range(1000, 2000)
        )
        seen.add(tuple(labels))
        for token, label in zip(row, labels, strict=True):
            if label != NOTHING:
                fates["masked" if token == 4 else "kept" if token == label else "other"] += 1
    assert len(seen) == 400
    shares = {fate: count / fates.total() for fate, count in fates.items()}
    assert shares == {
        "masked": pytest.approx(0.8, abs=0.02),
        "kept": pytest.approx(0.1, abs=0.02),
        "other": pytest.approx(0.1, abs=0.02),
    }


def test_a_new_model_of_each_kind_is_saved_and_loaded_with_the_same_loss(tmp_path: Path) -> None:
    for kind in ("causal", "masked", "bilm"):
        learner = learner_of(kind, "new:tiny")
        learner.save(tmp_path / kind)
        again = learner_of(kind, str(tmp_path / kind))
        texts = [f"the {NOUNS[0]} {VERBS[0]} {OBJECTS[0]}"]
        assert total(again, texts) == total(learner, texts)
        assert resolve_model(f"hf:{tmp_path / kind}", device="cpu").kind in (kind, "bidirectional")
