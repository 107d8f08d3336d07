"""The scorer of bidirectional models against brute force, and what it tells of texts."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import boxpen
from boxpen import Request, ScoringPolicy, resolve_model
from boxpen.errors import ModelError
from boxpen.lm.bilm.characters import BEGIN, END, spelling, spelt
from boxpen.lm.bilm.training import load, new_model, save
from boxpen.report.terminal import notes
from boxpen.scoring.normalise import score

INPUTS = ["characters", "pieces"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    found = {}
    for kind in INPUTS:
        model, tokenizer = new_model(
            tiny.lines() * 2, size="tiny", vocabulary=400, seed=1, input=kind
        )
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                # Wide, but not so wide that an LSTM runs away with the last bit of a float.
                spread = 0.3 if "lm_head" in name or weight.dim() < 2 else weight[0].numel() ** -0.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread)
        found[kind] = tmp_path_factory.mktemp("bilm") / kind
        save(found[kind], model, tokenizer)
    return found


@pytest.fixture(scope="module")
def scorers(folders):
    return {kind: resolve_model(f"hf:{folder}", device="cpu") for kind, folder in folders.items()}


@pytest.fixture(scope="module")
def pairs(folders):
    return {kind: load(folder) for kind, folder in folders.items()}


@torch.inference_mode()
def brute_force(pair, text, prefix="", *, end=False):
    """Each token from one side of it; nothing else is even shown to the model."""
    module, tokenizer = pair
    whole = prefix + text
    found = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    ids = [tokenizer.bos_token_id, *found["input_ids"], tokenizer.eos_token_id]
    if module.config.input == "characters":
        words = [whole[a:b] for a, b in found["offset_mapping"]]
        row = [BEGIN, *(spelling(w, 50) for w in words), END]
        read = module.characters(torch.from_numpy(spelt([row], 50)))[0]
    else:
        read = module.pieces(torch.tensor(ids))

    def value(direction, inputs, token):
        state = direction(inputs[None])[0, -1]
        return float(torch.log_softmax(module.lm_head(state).double(), -1)[token])

    first = 1 + sum(b <= len(prefix) for _, b in found["offset_mapping"])
    ahead = [value(module.forwards, read[:i], ids[i]) for i in range(first, len(ids))]
    behind = [
        value(module.backwards, read[i + 1 :].flip(0), ids[i]) for i in range(first, len(ids) - 1)
    ]
    if end:
        behind.append(value(module.backwards, read[1:].flip(0), ids[0]))
    else:
        ahead.pop()
    scored = ids[first:] if end else ids[first:-1]
    return scored, [(a + b) / 2 for a, b in zip(ahead, behind, strict=True)]


@pytest.mark.parametrize("size", [1, 3, 16])
@pytest.mark.parametrize("kind", INPUTS)
def test_scores_are_those_of_brute_force(kind, size, folders, pairs, score_all, agree):
    model = resolve_model(f"hf:{folders[kind]}", device="cpu", batch_size=size)
    texts = list(tiny.SENTENCES)
    random.Random(size).shuffle(texts)
    for text, record in zip(texts, score_all(model, [Request(t) for t in texts]), strict=True):
        agree(record, brute_force(pairs[kind], text))
    assert model.engine == "both directions, batches of like length"


@pytest.mark.parametrize("kind", INPUTS)
def test_a_prefix_is_read_and_not_scored(kind, scorers, pairs, score_all, agree):
    request = Request(" was in the pen.", prefix="The little box")
    (record,) = score_all(scorers[kind], [request])
    agree(record, brute_force(pairs[kind], request.text, request.prefix))
    (alone,) = score_all(scorers[kind], [Request("was in the pen.")])
    assert abs(record.total - alone.total) > 0.01


@pytest.mark.parametrize("kind", INPUTS)
def test_the_end_is_scored_by_both(kind, scorers, pairs, score_all, agree):
    (record,) = score_all(scorers[kind], [Request("The box")], eos="always")
    agree(record, brute_force(pairs[kind], "The box", end=True))


def test_the_paper_s_root(scorers, pairs, score_all):
    """(∏ p→ p←)^(1/n): its logarithm is twice the score by token, so the order is the same."""
    text = "The box was in the pen."
    (record,) = score_all(scorers["characters"], [Request(text)])
    _, values = brute_force(pairs["characters"], text)
    root = np.prod(np.exp(2 * np.array(values))) ** (1 / len(values))
    assert score(record, text, "token") == pytest.approx(np.log(root) / 2, abs=1e-5)
    assert score(record, text, "word") == pytest.approx(sum(values) / 6, abs=1e-4)


def test_unknown_words_are_counted_and_differ_by_their_letters(scorers, score_all):
    model = scorers["characters"]
    texts = ["The zebra was in the pen.", "The yak was in the pen.", "The box was in the pen."]
    zebra, yak, box = score_all(model, [Request(t) for t in texts])
    assert [zebra.unknown, yak.unknown, box.unknown] == [1, 1, 0]
    assert zebra.token_ids.tolist() == yak.token_ids.tolist()
    assert model.token_texts(zebra.token_ids.tolist())[1].strip() == "<UNK>"
    # The neighbours of the word have read it; the word itself is <UNK> in both.
    assert abs(zebra.logprobs[0] - yak.logprobs[0]) > 1e-3
    assert abs(zebra.logprobs[2] - yak.logprobs[2]) > 1e-3
    assert zebra.logprobs[1] == pytest.approx(yak.logprobs[1], abs=1e-5)


@pytest.mark.parametrize("kind", INPUTS)
def test_a_long_text_is_cut_and_flagged(kind, scorers, score_all, pairs, agree):
    model = scorers[kind]
    (whole, cut) = (score_all(model, [Request(tiny.LONG)], max_length=n)[0] for n in (None, 12))
    assert not whole.truncated
    assert cut.truncated
    assert cut.token_ids.tolist() == whole.token_ids.tolist()[-10:]
    if kind == "characters":  # what is left is scored as if it stood alone
        words = model.tokenizer(tiny.LONG, return_offsets_mapping=True)["offset_mapping"]
        agree(cut, brute_force(pairs[kind], tiny.LONG[words[-10][0] :]))
    with pytest.raises(ModelError, match="max_length 600 is more than"):
        model.resolve_policy(ScoringPolicy(max_length=600))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.sampled_from(INPUTS))
def test_any_texts_in_any_company(scorers, score_all, texts, kind):
    model = scorers[kind]
    together = score_all(model, [Request(t) for t in texts])
    for text, record in zip(texts, together, strict=True):
        (alone,) = score_all(model, [Request(text)])
        assert alone.token_ids.tolist() == record.token_ids.tolist()
        np.testing.assert_allclose(alone.logprobs, record.logprobs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", INPUTS)
def test_a_suite_is_evaluated_and_the_second_time_nothing_is_scored(kind, folders, tmp_path):
    suite = boxpen.load_suite("starter.sense")
    suite = suite.take(suite.items[:6])
    first = boxpen.evaluate(f"hf:{folders[kind]}", suite, cache=tmp_path / "c.sqlite",
                            check_languages=False, device="cpu")  # fmt: skip
    again = boxpen.evaluate(f"hf:{folders[kind]}", suite, cache=tmp_path / "c.sqlite",
                            check_languages=False, device="cpu")  # fmt: skip
    assert first.info.model.kind == "bidirectional"
    assert [v.scores for v in first.verdicts] == [v.scores for v in again.verdicts]
    assert first.info.engine["how"] == "both directions, batches of like length"
    assert again.info.engine["from_cache"] > 0
    assert "how" not in again.info.engine  # nothing was run
    unknown = sum(s.record.unknown for c in again.candidates.values() for s in c)
    told = f"{unknown} word(s) of the texts are not in the model's vocabulary: <UNK>"
    assert (unknown > 0) == (kind == "characters")
    assert (told in list(notes(again))) == (kind == "characters")


def test_a_pair_in_memory_and_halves(pairs, folders, score_all):
    texts = [Request(t) for t in tiny.SENTENCES]
    exact = score_all(resolve_model(pairs["characters"]), texts)
    halves = score_all(
        resolve_model(f"hf:{folders['characters']}", device="cpu", dtype="bfloat16"), texts
    )
    for a, b in zip(exact, halves, strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, rtol=0, atol=1.0)
        assert np.isfinite(b.logprobs).all()


def test_what_does_not_belong_together(pairs, folders):
    model, _ = pairs["characters"]
    _, tokenizer = pairs["pieces"]
    with pytest.raises(ModelError, match="reads characters, its tokenizer pieces"):
        list(resolve_model((model, tokenizer)).encode([Request("a")], _resolved_policy()))
    _, short = new_model(tiny.lines() * 2, size="tiny", vocabulary=400, seed=1)
    short.init_kwargs["max_characters"] = 20
    with pytest.raises(ModelError, match="reads words of 50 characters, its tokenizer writes 20"):
        list(resolve_model((model, short)).encode([Request("a")], _resolved_policy()))


def _resolved_policy():
    from boxpen.models.base import ResolvedPolicy

    return ResolvedPolicy(eos=False, max_length=512)
