"""Concatenation: rows are joined as a slow twin joins them, and Marian reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from context_task import (  # noqa: E402
    EOS,
    PAD,
    accuracy,
    inputs_of,
    learn,
    padded,
    quick_marian,
    tiny_marian,
)
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.context.concat import (  # noqa: E402
    ConcatForConditionalGeneration,
    joined,
    register,
)

READS = ConcatForConditionalGeneration.reads
SOURCES = [[5, 9, 3, 22, 0], [7, 0], [28, 4, 4, 11, 6, 17, 8, 0], [0]]
CONTEXTS = [[8, 0, 13, 6, 0], [0], [4, 21, 9, 0], [30, 31, 32, 33, 34, 35, 0]]
TARGETS = [[2, 5, 8, 19], [2, 3, 3, 3], [2, 7, 1, 12], [2, 18, 18, 4]]
SENTENCES = st.lists(st.integers(3, 39), max_size=7).map(lambda words: [*words, EOS])


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def pair(*, shared: bool = False, length: int = 32) -> tuple[Any, Any]:
    """Return a plain model and one made of it; weights of a wide spread, so that rows matter."""
    base = tiny_marian(3, shared=shared, length=length)
    with torch.no_grad():
        for weight in base.parameters():
            if weight.requires_grad:
                weight.add_(torch.randn(weight.shape) * 0.2)
    base.eval()
    return base, ConcatForConditionalGeneration.from_sentence_model(base)


def batch(sources: list[Any] = SOURCES, contexts: list[Any] = CONTEXTS, more: int = 0) -> Any:
    ids, mask = padded(sources, more)
    context, context_mask = padded(contexts, more)
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "context_input_ids": context,
        "context_attention_mask": context_mask,
    }


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4),
    more=st.integers(0, 3),
    most=st.integers(11, 20),
)
def test_rows_are_joined_as_lists_are(rows: Any, more: int, most: int) -> None:
    inputs = batch([s for s, _ in rows], [c for _, c in rows], more)
    ids, mask = joined(
        inputs["context_input_ids"], inputs["context_attention_mask"], inputs["input_ids"],
        inputs["attention_mask"], pad=PAD, most=most,
    )  # fmt: skip
    assert ids.shape == mask.shape
    assert ids.shape[1] <= most
    for tokens, real, (source, context) in zip(ids.tolist(), mask.tolist(), rows, strict=True):
        expected = context + source
        while len(expected) > most:
            expected.pop(0)
        assert tokens == expected + [PAD] * (len(tokens) - len(expected))
        assert real == [1] * len(expected) + [0] * (len(tokens) - len(expected))


def test_it_is_marian_on_the_joined_rows() -> None:
    base, model = pair()
    target = torch.tensor(TARGETS)
    with torch.no_grad():
        found = model(**batch(more=2), decoder_input_ids=target).logits
        for row, context, source, words in zip(found, CONTEXTS, SOURCES, target, strict=True):
            alone = base(
                input_ids=torch.tensor([context + source]), decoder_input_ids=words[None]
            ).logits
            torch.testing.assert_close(row, alone[0], rtol=0, atol=1e-4)


def test_too_long_a_context_loses_its_beginning() -> None:
    base, model = pair(length=9)
    context, source = list(range(4, 14)), [20, 21, 22, EOS]
    target = torch.tensor(TARGETS[:1])
    with torch.no_grad():
        found = model(**batch([source], [context]), decoder_input_ids=target).logits
        read = torch.tensor([context[-5:] + source])
        expected = base(input_ids=read, decoder_input_ids=target).logits
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_no_context_is_a_context_of_the_end_alone() -> None:
    _, model = pair()
    inputs = {**batch(contexts=[[EOS]] * 4), "decoder_input_ids": torch.tensor(TARGETS)}
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, model(**inputs_of(inputs)).logits)


def test_step_by_step_equals_the_whole() -> None:
    _, model = pair()
    target = torch.tensor(TARGETS)
    with torch.no_grad():
        whole = model(**batch(), decoder_input_ids=target, use_cache=False).logits
        encoder_outputs = model.get_encoder()(**batch())
        past, steps = None, []
        for begin, end in ((0, 1), (1, 3), (3, 4)):
            out = model(
                encoder_outputs=encoder_outputs,
                decoder_input_ids=target[:, begin:end],
                past_key_values=past,
                use_cache=True,
            )
            past = out.past_key_values
            steps.append(out.logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_is_that_of_marian_with_and_without_memory(beams: int) -> None:
    base, model = pair()
    options = {"num_beams": beams, "max_new_tokens": 10, "min_new_tokens": 6, "do_sample": False}
    kept = model.generate(**batch(), **options, use_cache=True)
    anew = model.generate(**batch(), **options, use_cache=False)
    assert torch.equal(kept, anew)
    ids, mask = padded([c + s for c, s in zip(CONTEXTS, SOURCES, strict=True)])
    assert torch.equal(kept, base.generate(input_ids=ids, attention_mask=mask, **options))
    assert len({tuple(row) for row in kept.tolist()}) > 1, "too easy: all the same"


@pytest.mark.parametrize("shared", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, shared: bool) -> None:
    register()
    register()
    _, model = pair(shared=shared)
    model.save_pretrained(tmp_path)
    loaded, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(loaded) is ConcatForConditionalGeneration
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert loaded.lm_head.weight is loaded.model.decoder.embed_tokens.weight
    assert (loaded.lm_head.weight is loaded.model.encoder.embed_tokens.weight) == shared
    inputs = {**batch(), "decoder_input_ids": torch.tensor(TARGETS)}
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, loaded(**inputs).logits)


def test_everything_learns_frozen_or_not() -> None:
    _, model = pair()
    model.freeze_sentence_model()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.train()(**batch(), labels=torch.tensor(TARGETS)).loss
    loss.backward()
    chosen = {id(weight) for weight in model.context_parameters()}
    for name, weight in model.named_parameters():
        fixed = "embed_positions" in name
        assert fixed == (id(weight) not in chosen) == (weight.grad is None), name


def test_it_learns_what_only_the_context_says() -> None:
    model = ConcatForConditionalGeneration.from_sentence_model(quick_marian(1))
    learn(model, model.context_parameters(), steps=240, reads=READS)
    assert min(accuracy(model, reads=READS)) >= 0.99


def test_what_cannot_be_joined_is_refused() -> None:
    base, model = pair(length=8)
    target = torch.tensor(TARGETS)
    with pytest.raises(NmtError, match="source is 9 tokens wide, expected 8 or fewer"):
        model(**batch(more=1), decoder_input_ids=target)
    with pytest.raises(NmtError, match="3 rows of context and 4 of source"):
        model(**batch(contexts=CONTEXTS[:3]), decoder_input_ids=target)
    with pytest.raises(NmtError, match="given no input_ids"):
        model(decoder_input_ids=target)
    encoded = base.get_encoder()(input_ids=torch.tensor(TARGETS))
    with pytest.raises(NmtError, match="are a BaseModelOutput, expected the ContextOutput"):
        model(encoder_outputs=encoded, decoder_input_ids=target)
    with pytest.raises(NmtError, match="is a ConcatForConditionalGeneration, expected a Marian"):
        ConcatForConditionalGeneration.from_sentence_model(model)


def test_a_base_with_weights_of_its_own_is_refused() -> None:
    base = tiny_marian(3)
    base.model.encoder.extra = torch.nn.Linear(2, 2)
    with pytest.raises(NmtError) as refused:
        ConcatForConditionalGeneration.from_sentence_model(base)
    assert str(refused.value) == (
        "the sentence-level model has the weight 'model.encoder.extra.weight', which a "
        "ConcatForConditionalGeneration does not have; expected a plain MarianMTModel"
    )
