"""What requests have in common is run once: masked copies, sources, beginnings of targets."""

from __future__ import annotations

import copy

import pytest
import tiny
import torch
from spies import spied

from boxpen import Request, ScoringPolicy, resolve_model

PEN = "The box was in the pen."
BOX = "The box was in the box."
PIANO = "Some porter put a piano into the drawer."


def warm(model, *requests):
    """Let the model do its self-checks."""
    for _ in model.score(list(requests), model.resolve_policy(ScoringPolicy(pll="original"))):
        pass


def rows_of(calls) -> list[list[int]]:
    return [row for call in calls for row in call["input_ids"].tolist()]


# --- Masked and permuted copies


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("budget", [None, 20])
def test_texts_that_differ_in_one_word_share_the_copy_that_masks_it(
    name, budget, tiny_models, score_all, twin, agree
):
    model = resolve_model(tiny_models.pair(name), token_budget=budget)
    other = BOX if name == "bert" else "The box was at the pen."
    ids = [model.tokenizer.encode(t, add_special_tokens=False) for t in (PEN, other)]
    assert sum(a != b for a, b in zip(*ids, strict=True)) == 1, "the example must differ in one"
    warm(model, Request(text="Box"))
    texts = (PEN, PIANO, other)
    with spied(model.body) as calls:
        records = score_all(model, [Request(text=t) for t in texts], pll="original")
    porter = model.tokenizer.encode(PIANO, add_special_tokens=False)
    assert len(rows_of(calls)) == 2 * len(ids[0]) - 1 + len(porter)
    for text, record in zip(texts, records, strict=True):
        agree(record, twin(name, text, "", pll="original"))


def test_equal_copies_are_found_however_many_are_made(tiny_models, score_all, monkeypatch):
    """Copies are made in windows; those that could be equal are in one."""
    monkeypatch.setattr("boxpen.models.copies._WINDOW", 1)
    model = resolve_model(tiny_models.pair("bert"))
    warm(model, Request(text="Box"))
    texts = [PEN, "Box is", PIANO, BOX, "The", PIANO + " Who did this?"]
    with spied(model.body) as calls:
        score_all(model, [Request(text=t) for t in texts], pll="original")
    copies = rows_of(calls)
    pad = model.tokenizer.pad_token_id
    assert len({tuple(t for t in row if t != pad) for row in copies}) == len(copies)


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_a_text_and_the_same_behind_a_prefix_share_their_copies(
    name, tiny_models, score_all, twin, agree
):
    model = resolve_model(tiny_models.pair(name))
    warm(model, Request(text="Box"))
    requests = [Request(text=PEN), Request(text=" the pen.", prefix="The box was in")]
    with spied(model.body) as calls:
        records = score_all(model, requests, pll="original")
    assert len(rows_of(calls)) == len(records[0].logprobs) > len(records[1].logprobs) > 0
    how = {"pll": "original"} if name == "bert" else {}
    for request, record in zip(requests, records, strict=True):
        agree(record, twin(name, request.text, request.prefix, **how))
    assert records[0].logprobs[-2:].tobytes() == records[1].logprobs[-2:].tobytes()


@pytest.mark.parametrize("name", ["bert", "roberta", "unigram_bert"])
@pytest.mark.parametrize("pll", ["original", "within_word_l2r", "unmasked"])
def test_the_output_layer_sees_only_the_places_that_are_asked_for(
    name, pll, tiny_models, score_all
):
    model = resolve_model(tiny_models.pair(name))
    warm(model, Request(text="Box"))
    seen = []
    layer = model.module.get_output_embeddings()
    handle = layer.register_forward_pre_hook(lambda _, args: seen.append(args[0][..., 0].numel()))
    records = score_all(model, [Request(text=t) for t in (PEN, PIANO)], pll=pll)
    handle.remove()
    assert sum(seen) == sum(len(r.logprobs) for r in records)


# --- Sources and targets

SOURCES = ("箱子在围栏里。", "大雨", "太阳从东方升起。")
TARGETS = (PEN, BOX, PIANO, "The box was in the drawer.")


def pairs() -> list[Request]:
    return [Request(text=t, source=s, languages=("zh", "en")) for t in TARGETS for s in SOURCES]


@pytest.mark.parametrize("name", tiny.SEQ2SEQ)
@pytest.mark.parametrize("budget", [None, 24])
def test_every_source_is_encoded_once(name, budget, tiny_models, score_all):
    model = resolve_model(tiny_models.pair(name), token_budget=budget)
    warm(model, pairs()[0])
    with spied(model.module.get_encoder()) as calls:
        score_all(model, pairs())
    assert len(rows_of(calls)) == len(SOURCES)


@pytest.mark.parametrize("name", ["marian", "nllb", "mbart"])
def test_targets_of_one_source_share_their_beginning(name, tiny_models, score_all):
    model = resolve_model(tiny_models.pair(name))
    requests = [Request(text=t, source=SOURCES[0], languages=("zh", "en")) for t in (PEN, BOX)]
    warm(model, *requests)
    with spied(model.body) as calls:
        records = score_all(model, requests)
    assert model.engine == "sources once, targets as prefix trees"
    encoded = model.encode(requests, model.resolve_policy(ScoringPolicy()))
    lengths = [e.scored[-1] + 1 for e in encoded]  # the decoder reads one token before each
    ids = [r.token_ids.tolist() for r in records]
    shared = next(i for i, (a, b) in enumerate(zip(*ids, strict=False)) if a != b)
    language = lengths[0] - len(ids[0])  # tokens that are read and not scored
    assert shared >= 4
    nodes = sum(lengths) - shared - language - 1  # the start is shared as well
    assert sum(call["input_ids"].numel() for call in calls) == nodes


def test_t5_decodes_one_by_one(tiny_models, score_all, twin, agree):
    """It counts distances, which no table of positions can be told."""
    model = resolve_model(tiny_models.pair("t5"))
    requests = pairs()
    warm(model, requests[0])
    with spied(model.body) as calls:
        records = score_all(model, requests)
    assert model.engine == "sources once, targets one by one"
    assert len(rows_of(calls)) == len(requests)
    for request, record in zip(requests, records, strict=True):
        agree(record, twin("t5", request.text, request.source, eos=True, languages=("zh", "en")))


@pytest.mark.parametrize("name", ["marian", "mbart"])
def test_a_bias_on_the_logits_is_not_forgotten(name, tiny_models, score_all):
    """``final_logits_bias`` is zero in most checkpoints, and no part of the output layer."""
    module, tokenizer = tiny_models.pair(name)
    biased = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(5)
    biased.final_logits_bias.copy_(torch.randn(biased.final_logits_bias.shape, generator=generator))
    model = resolve_model((biased, tokenizer))
    check_against_the_module(model, score_all, pairs())


@pytest.mark.parametrize("name", tiny.SEQ2SEQ)
def test_a_literal_pad_in_a_target_is_read_as_the_model_reads_it(name, tiny_models, score_all):
    """NLLB gives padding no position, and counts on behind it as if it were not there."""
    model = resolve_model(tiny_models.pair(name))
    texts = ("The box <pad> was in the pen.", "The box <pad> was in the drawer.", PEN)
    requests = [Request(text=t, source=SOURCES[0], languages=("zh", "en")) for t in texts]
    check_against_the_module(model, score_all, requests)


@torch.inference_mode()
def check_against_the_module(model, score_all, requests) -> None:
    """One forward pass of the whole module for each request, fed with its labels."""
    encoded = model.encode(requests, model.resolve_policy(ScoringPolicy()))
    for one, record in zip(encoded, score_all(model, requests), strict=True):
        logits = model.module(
            input_ids=torch.tensor([one.source]), labels=torch.tensor([one.ids])
        ).logits[0]
        every = torch.log_softmax(logits.double(), -1)
        expected = [float(every[i, one.ids[i]]) for i in one.scored]
        assert record.logprobs.tolist() == pytest.approx(expected, abs=1e-4)
