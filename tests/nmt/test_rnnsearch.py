"""RNNSearch computes what its slow twin computes, and behaves as a model of Transformers does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import rnnsearch_twin as twin  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.architectures.rnnsearch import (  # noqa: E402
    RNNSearchConfig,
    RNNSearchForConditionalGeneration,
    register,
)

PAD, EOS = 0, 1


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make(layers: int = 3, *, spread: float = 1.0, **options: Any) -> Any:
    """Return a small model; weights of a wide spread, so that a mistake shows."""
    torch.manual_seed(layers)
    shape = {"vocab_size": 30, "decoder_vocab_size": 20, "hidden_size": 16, "dropout": 0.3}
    model = RNNSearchForConditionalGeneration(
        RNNSearchConfig(num_hidden_layers=layers, **(shape | options))
    )
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape) * 0.3 * spread)
    return model.eval()


def batch(sources: list[list[int]], fill: int = PAD) -> dict[str, Any]:
    width = max(map(len, sources))
    ids = torch.tensor([row + [fill] * (width - len(row)) for row in sources])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in sources])
    return {"input_ids": ids, "attention_mask": mask}


SOURCES = [[5, 9, 3, 22, 1], [7, 1], [28, 4, 4, 11, 6, 17, 2, 1], [1]]
TARGETS = [[0, 5, 8, 19], [0, 3, 3, 3], [0, 7, 1, 12], [0, 2, 18, 4]]


@pytest.mark.parametrize(
    ("layers", "options"),
    [
        (1, {}),
        (2, {"share_encoder_decoder_embeddings": True, "decoder_vocab_size": 30}),
        (4, {"tie_word_embeddings": False}),
    ],
)
def test_a_padded_batch_equals_the_twin(layers: int, options: dict[str, Any]) -> None:
    model = make(layers, **options).double()
    with torch.no_grad():
        found = model(**batch(SOURCES), decoder_input_ids=torch.tensor(TARGETS)).logits
    for row, source, target in zip(found, SOURCES, TARGETS, strict=True):
        torch.testing.assert_close(row, twin.logits(model, source, target), rtol=0, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(
    sources=st.lists(st.lists(st.integers(2, 29), min_size=1, max_size=9), min_size=1, max_size=5),
    fill=st.integers(0, 29),
    more=st.integers(0, 3),
)
def test_padding_changes_nothing(sources: list[list[int]], fill: int, more: int) -> None:
    model = make(2)
    inputs = batch([*sources, [2] * (max(map(len, sources)) + more)], fill)
    target = torch.tensor([[0, 4, 17, 9]]).repeat(len(sources) + 1, 1)
    with torch.no_grad():
        states = model.get_encoder()(**inputs).last_hidden_state
        together = model(**inputs, decoder_input_ids=target).logits
        for i, source in enumerate(sources):
            assert not states[i, len(source) :].any()
            ids = torch.tensor([source])
            alone = model(input_ids=ids, decoder_input_ids=target[:1]).logits
            torch.testing.assert_close(together[i], alone[0], rtol=0, atol=1e-5)


def test_what_stands_behind_a_target_changes_nothing_before_it() -> None:
    model = make()
    with torch.no_grad():
        one = model(**batch(SOURCES[:1]), decoder_input_ids=torch.tensor([[0, 5, 8, 19, 2]]))
        other = model(**batch(SOURCES[:1]), decoder_input_ids=torch.tensor([[0, 5, 8, 6, 0]]))
    torch.testing.assert_close(one.logits[:, :3], other.logits[:, :3], rtol=0, atol=1e-6)
    assert (one.logits[:, 3] - other.logits[:, 3]).abs().max() > 0.01


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_step_by_step_equals_the_whole(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    model = make().to(device)
    inputs = {name: value.to(device) for name, value in batch(SOURCES).items()}
    mask = inputs["attention_mask"]
    target = torch.tensor(TARGETS, device=device)
    with torch.no_grad():
        encoder_outputs = model.get_encoder()(**inputs)
        whole = model(**inputs, decoder_input_ids=target, use_cache=False)
        assert whole.past_key_values is None
        state, steps = None, []
        for begin, end in ((0, 1), (1, 3), (3, 4)):
            out = model(
                encoder_outputs=encoder_outputs,
                attention_mask=mask,
                decoder_input_ids=target[:, begin:end],
                past_key_values=state,
                use_cache=True,
            )
            state = out.past_key_values
            steps.append(out.logits)
            assert state.get_seq_length() == end
    torch.testing.assert_close(torch.cat(steps, dim=1), whole.logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_with_and_without_memory_is_the_same(beams: int) -> None:
    model = make()
    options = {"num_beams": beams, "max_new_tokens": 12, "min_new_tokens": 8, "do_sample": False}
    kept = model.generate(**batch(SOURCES), **options, use_cache=True)
    anew = model.generate(**batch(SOURCES), **options, use_cache=False)
    assert torch.equal(kept, anew)
    assert len({tuple(row) for row in kept.tolist()}) > 1, "too easy: all the same"


def test_scores_of_a_beam_are_those_of_its_sentences() -> None:
    model = make()
    inputs = batch(SOURCES)
    made = model.generate(
        **inputs,
        num_beams=4,
        num_return_sequences=4,
        max_new_tokens=9,
        length_penalty=0.0,
        use_cache=True,
        return_dict_in_generate=True,
        output_scores=True,
    )
    steps = made.beam_indices[:, 1:]
    assert ((steps >= 0) & (steps != steps[:, :1])).any(), "too easy: no beam was ever left"
    rows = {name: value.repeat_interleave(4, dim=0) for name, value in inputs.items()}
    labels = made.sequences[:, 1:]
    with torch.no_grad():
        logits = model(**rows, decoder_input_ids=made.sequences[:, :-1]).logits
    values = torch.log_softmax(logits.double(), -1).gather(-1, labels[..., None])[..., 0]
    over = (labels == EOS).long().cumsum(1) - (labels == EOS).long()  # behind the end
    totals = values.masked_fill(over > 0, 0).sum(1)
    torch.testing.assert_close(made.sequences_scores.double(), totals, rtol=0, atol=1e-4)


def test_a_state_can_be_repeated_and_forgotten() -> None:
    model = make()
    with torch.no_grad():
        state = model(**batch(SOURCES), decoder_input_ids=torch.tensor(TARGETS)).past_key_values
    before = state.hidden
    state.batch_repeat_interleave(2)
    assert torch.equal(state.hidden[:, 2], before[:, 1])
    assert torch.equal(state.hidden[:, 3], before[:, 1])
    state.reset()
    assert state.hidden is None
    assert state.get_seq_length() == 0
    state.batch_select_indices(torch.tensor([0]))  # of nothing


@pytest.mark.parametrize("shared", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, shared: bool) -> None:
    register()
    register()
    options = {"share_encoder_decoder_embeddings": shared}
    model = make(**options, **({"decoder_vocab_size": 30} if shared else {}))
    model.save_pretrained(tmp_path)
    loaded, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(loaded) is RNNSearchForConditionalGeneration
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    weight = loaded.lm_head.weight
    assert weight is loaded.decoder.embed_tokens.weight
    assert (weight is loaded.encoder.embed_tokens.weight) == shared
    assert not loaded.training
    with torch.no_grad():
        inputs = {**batch(SOURCES), "decoder_input_ids": torch.tensor(TARGETS)}
        torch.testing.assert_close(
            model(**inputs).logits, loaded(**inputs).logits, rtol=0, atol=1e-6
        )
    size = sum(p.stat().st_size for p in tmp_path.glob("*.safetensors"))
    assert size < 4.2 * sum(p.numel() for p in model.parameters()) + 20_000  # each weight once


def test_labels_are_shifted_and_minus_100_left_out() -> None:
    model = make(decoder_start_token_id=6)
    labels = torch.tensor([[5, 8, 1, -100], [3, 3, 3, 1]])
    assert model.prepare_decoder_input_ids_from_labels(labels).tolist() == [
        [6, 5, 8, 1],
        [6, 3, 3, 3],
    ]
    inputs = batch(SOURCES[:2])
    with torch.no_grad():
        out = model(**inputs, labels=labels)
        halved = model(**inputs, labels=labels, num_items_in_batch=14).loss
        values = torch.log_softmax(out.logits, -1)
    expected = -sum(
        values[row, place, token].item()
        for row, tokens in enumerate(labels.tolist())
        for place, token in enumerate(tokens)
        if token != -100
    )
    assert out.loss.item() == pytest.approx(expected / 7, abs=1e-5)
    assert halved.item() == pytest.approx(expected / 14, abs=1e-5)
    assert out.past_key_values is None


def test_outputs_come_as_an_object_or_a_tuple() -> None:
    model = make()
    encoded = model.get_encoder()(**batch(SOURCES), return_dict=False)
    target = torch.tensor(TARGETS)
    mask = batch(SOURCES)["attention_mask"]
    loss, logits, *_ = model(
        encoder_outputs=encoded, attention_mask=mask, labels=target, return_dict=False
    )
    whole = model(**batch(SOURCES), labels=target, output_attentions=True)
    assert torch.equal(loss, whole.loss)
    assert torch.equal(logits, whole.logits)
    (weights,) = whole.cross_attentions  # (batch, 1, target, source)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 1, 4))
    assert not weights[1, 0, :, len(SOURCES[1]) :].any()


def test_the_decoder_and_the_output_layer_can_be_taken_apart() -> None:
    model = make()
    inputs = batch(SOURCES)
    target = torch.tensor(TARGETS)
    states = model.get_encoder()(**inputs).last_hidden_state
    hidden = model.get_decoder()(
        input_ids=target,
        encoder_hidden_states=states,
        encoder_attention_mask=inputs["attention_mask"],
        use_cache=False,
    )[0]
    logits = model.get_output_embeddings()(hidden)
    assert torch.equal(logits, model(**inputs, decoder_input_ids=target).logits)


def test_every_parameter_learns() -> None:
    model = make(4, spread=0.0).train()
    model(**batch(SOURCES), labels=torch.tensor(TARGETS)).loss.backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not still


def test_dropout_is_for_training() -> None:
    model = make()
    inputs = {**batch(SOURCES), "decoder_input_ids": torch.tensor(TARGETS)}
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, model(**inputs).logits)
        model.train()
        assert not torch.allclose(model(**inputs).logits, model(**inputs).logits)


def test_gates_of_forgetting_begin_open_and_recurrence_orthogonal() -> None:
    layer = make(spread=0.0).decoder.layers[1]
    assert layer.bias_ih_l0.tolist() == [0.0] * 16 + [1.0] * 16 + [0.0] * 32
    assert not layer.bias_hh_l0.any()
    for gate in layer.weight_hh_l0.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(16), rtol=0, atol=1e-5)


def test_bfloat16_under_autocast_and_as_weights() -> None:
    model = make(spread=0.3)
    inputs = {**batch(SOURCES), "labels": torch.tensor(TARGETS)}
    exact = model(**inputs).loss
    with torch.autocast("cpu", torch.bfloat16):
        out = model(**inputs)
    out.loss.backward()
    assert out.logits.dtype == torch.bfloat16
    assert out.encoder_last_hidden_state.dtype == torch.float32  # the LSTMs are left exact
    assert out.loss.item() == pytest.approx(exact.item(), rel=0.02)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
    half = model.to(torch.bfloat16)
    assert half(**inputs).loss.item() == pytest.approx(exact.item(), rel=0.05)
    half.generate(**batch(SOURCES), num_beams=2, max_new_tokens=4)


def test_the_trainer_of_transformers_trains_it(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    model = make()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    rows = [{"input_ids": s, "labels": t} for s, t in zip(SOURCES * 2, TARGETS * 2, strict=True)]

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        labels = torch.tensor([row["labels"] for row in rows])
        return {**batch([row["input_ids"] for row in rows]), "labels": labels}

    arguments = transformers.Seq2SeqTrainingArguments(
        output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=2,
        gradient_accumulation_steps=2, use_cpu=True, report_to="none", disable_tqdm=True,
        save_strategy="no", predict_with_generate=True,
    )  # fmt: skip
    trainer = transformers.Seq2SeqTrainer(
        model=model, args=arguments, train_dataset=rows, data_collator=collate
    )
    assert trainer.train().global_step == 2
    assert all(not torch.equal(before[name], p) for name, p in model.named_parameters())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden_size": 15}, "cannot have 3 layers 15 wide, expected"),
        ({"share_encoder_decoder_embeddings": True}, "between 30 source and 20 target tokens"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(NmtError, match=message):
        make(**wrong)


def test_padding_on_the_left_is_refused() -> None:
    inputs = batch(SOURCES)
    inputs["attention_mask"][1] = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1])
    with pytest.raises(NmtError, match="mask of row 1 has a 0 before a 1"):
        make().get_encoder()(**inputs)


def test_the_memory_of_another_model_is_refused() -> None:
    with pytest.raises(NmtError, match="given a DynamicCache as its past_key_values"):
        make()(
            **batch(SOURCES),
            decoder_input_ids=torch.tensor(TARGETS),
            past_key_values=transformers.DynamicCache(),
        )
