"""BERT-fused models compute what their slow twin computes, learn, and behave as models do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from context_task import (  # noqa: E402
    EOS,
    PAD,
    VOCABULARY,
    accuracy,
    context_task,
    inputs_of,
    learn,
    padded,
    sentence_model,
    tiny_marian,
)
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.context.bert_fused import (  # noqa: E402
    BertFusedConfig,
    BertFusedForConditionalGeneration,
    register,
)
from boxpen.nmt.context.bert_fused_layers import shares  # noqa: E402

READS = BertFusedForConditionalGeneration.reads


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def tiny_bert(seed: int = 5, **options: Any) -> Any:
    """Return a BERT of random weights that is narrower than the translation model."""
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 24,
        "pad_token_id": PAD,
    }
    torch.manual_seed(seed)
    return transformers.BertModel(transformers.BertConfig(**(shape | options))).eval()


def make(p_net: float = 1.0, *, spread: float = 0.1, **options: Any) -> Any:
    """Return a small model; weights of a wide spread, so that a mistake shows."""
    model = BertFusedForConditionalGeneration.from_sentence_model(
        tiny_marian(1, **options), tiny_bert(), p_net
    )
    with torch.no_grad():
        for weight in model.context_parameters():
            weight.add_(torch.randn(weight.shape) * spread)
    return model.eval()


def given_to(model: Any, rows: int = 6, seed: int = 3, *, labels: bool = False) -> dict[str, Any]:
    inputs = inputs_of(context_task(seed, rows, bert=True), model.reads)
    return inputs if labels else {k: v for k, v in inputs.items() if k != "labels"}


MODEL = make()


# --- the twin: one row at a time, without padding or cache, formula by formula ---


def linear(layer: Any, x: Any) -> Any:
    return x @ layer.weight.T + layer.bias


def attend(attention: Any, asking: Any, seen: Any, *, causal: bool = False) -> Any:
    query = linear(attention.q_proj, asking)  # (time, width)
    key, value = linear(attention.k_proj, seen), linear(attention.v_proj, seen)
    heads = []
    for q, k, v in zip(
        *(x.chunk(attention.num_heads, dim=1) for x in (query, key, value)), strict=True
    ):
        scores = q @ k.T / math.sqrt(q.shape[1])
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        heads.append(scores.softmax(1) @ v)
    return linear(attention.out_proj, torch.cat(heads, dim=1))


def feed_forward(layer: Any, x: Any) -> Any:
    return layer.final_layer_norm(x + linear(layer.fc2, linear(layer.fc1, x).relu()))


def embedded(part: Any, ids: Any) -> Any:
    return part.embed_tokens.weight[ids] * math.sqrt(64) + part.embed_positions.weight[: len(ids)]


def twin(model: Any, source: Any, read: Any, target: Any) -> Any:
    """Return the logits of one row (Zhu et al. 2020, section 4)."""
    encoder, decoder = model.model.encoder, model.model.decoder
    bert = encoder.bert(input_ids=read[None]).last_hidden_state[0]
    h = embedded(encoder, source)
    for layer in encoder.layers:
        both = attend(layer.self_attn, h, h) + attend(layer.bert_attn, h, bert)
        h = feed_forward(layer, layer.self_attn_layer_norm(h + both / 2))
    s = embedded(decoder, target)
    for layer in decoder.layers:
        s = layer.self_attn_layer_norm(s + attend(layer.self_attn, s, s, causal=True))
        both = attend(layer.bert_attn, s, bert) + attend(layer.encoder_attn, s, h)
        s = feed_forward(layer, layer.encoder_attn_layer_norm(s + both / 2))
    return s @ model.lm_head.weight.T


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_padded_batch_equals_the_twin(attention: str, shared: bool) -> None:
    model = make(shared=shared).double()
    model.set_attn_implementation(attention)
    batch = given_to(model)
    with torch.no_grad():
        found = model(**batch).logits
        for row, logits in enumerate(found):
            source, read = (
                batch[f"{kind}input_ids"][row][batch[f"{kind}attention_mask"][row].bool()]
                for kind in ("", "bert_")
            )
            target = batch["decoder_input_ids"][row]
            expected = twin(model, source, read, target)
            torch.testing.assert_close(logits, expected, rtol=0, atol=1e-9)


# --- rows, padding, steps ---


sentences = st.lists(st.integers(3, VOCABULARY - 1), min_size=1, max_size=7)


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4), more=st.integers(0, 4)
)
def test_neither_other_rows_nor_padding_change_a_row(
    rows: list[tuple[list[int], list[int]]], more: int
) -> None:
    ids, mask = padded([[*source, EOS] for source, _ in rows], more)
    read, read_mask = padded([[1, *r, EOS, *source, EOS] for source, r in rows], more)
    target = torch.tensor([[PAD, 9, 30, 12]]).repeat(len(rows), 1)
    with torch.no_grad():
        together = MODEL(
            input_ids=ids, attention_mask=mask, decoder_input_ids=target,
            bert_input_ids=read, bert_attention_mask=read_mask,
        ).logits  # fmt: skip
        for i, (source, before) in enumerate(rows):
            alone = MODEL(
                input_ids=torch.tensor([[*source, EOS]]),
                bert_input_ids=torch.tensor([[1, *before, EOS, *source, EOS]]),
                decoder_input_ids=target[:1],
            ).logits
            torch.testing.assert_close(together[i], alone[0], rtol=0, atol=2e-5)


def test_without_a_mask_what_fills_up_is_seen_by_its_token() -> None:
    batch = given_to(MODEL)
    with torch.no_grad():
        expected = MODEL(**batch).logits
        batch.pop("bert_attention_mask")
        torch.testing.assert_close(MODEL(**batch).logits, expected, rtol=0, atol=1e-6)


def test_the_context_is_seen_only_through_bert() -> None:
    batch = given_to(MODEL)
    other = batch | {"bert_input_ids": batch["bert_input_ids"].clone()}
    other["bert_input_ids"][0, 1] = 7 if other["bert_input_ids"][0, 1] != 7 else 6
    with torch.no_grad():
        moved = (MODEL(**batch).logits - MODEL(**other).logits).abs().amax((1, 2))
    assert moved[0] > 1e-3
    assert moved[1:].max() < 1e-6


def test_step_by_step_equals_the_whole() -> None:
    batch = given_to(MODEL)
    target = batch.pop("decoder_input_ids")
    with torch.no_grad():
        whole = MODEL(**batch, decoder_input_ids=target, use_cache=False)
        assert whole.past_key_values is None
        encoded = MODEL.get_encoder()(**batch)
        cache, steps = None, []
        for begin, end in ((0, 1), (1, 3), (3, target.shape[1])):
            out = MODEL(
                encoder_outputs=encoded,
                attention_mask=batch["attention_mask"],
                decoder_input_ids=target[:, begin:end],
                past_key_values=cache,
                use_cache=True,
            )
            cache = out.past_key_values
            steps.append(out.logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole.logits, rtol=0, atol=2e-5)


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_is_the_same_with_and_without_cache_and_row_by_row(beams: int) -> None:
    batch = given_to(MODEL)
    batch.pop("decoder_input_ids")
    options = {"num_beams": beams, "max_new_tokens": 9, "do_sample": False}
    cached = MODEL.generate(**batch, **options)
    assert torch.equal(cached, MODEL.generate(**batch, **options, use_cache=False))
    assert len({tuple(row.tolist()) for row in cached}) > 1
    for i in range(len(cached)):
        row = {
            name: value[i : i + 1, : int(batch[mask][i].sum())]
            for name, value in batch.items()
            for mask in [name.replace("input_ids", "attention_mask")]
        }
        alone = MODEL.generate(**row, **options)[0].tolist()
        together = cached[i].tolist()
        assert together[: len(alone)] == alone
        assert set(together[len(alone) :]) <= {PAD}
    if beams == 1:
        with torch.no_grad():
            forced = MODEL(**batch, decoder_input_ids=cached[:, :-1]).logits.argmax(-1)
        live = ((cached == EOS).cumsum(1) == 0)[:, :-1]
        assert torch.equal(forced[live], cached[:, 1:][live])


def test_attentions_are_recorded_once_a_layer() -> None:
    model = make()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        found = model(**given_to(model), output_attentions=True, output_hidden_states=True)
    assert [len(x) for x in (found.decoder_attentions, found.cross_attentions)] == [2, 2]
    encoded = model.get_encoder()(
        **{k: v for k, v in given_to(model).items() if k != "decoder_input_ids"},
        output_attentions=True,
        output_hidden_states=True,
    )
    assert (len(encoded.attentions), len(encoded.hidden_states)) == (2, 3)
    assert encoded.attentions[0].shape[-1] == given_to(model)["input_ids"].shape[1]


# --- from a sentence-level model; drop-net ---


@pytest.mark.parametrize(
    ("drawn", "p_net", "expected"),
    [
        (0.0, 0.0, (0.5, 0.5)),
        (1.0, 0.0, (0.5, 0.5)),
        (0.49, 1.0, (0.0, 1.0)),
        (0.51, 1.0, (1.0, 0.0)),
        (0.09, 0.2, (0.0, 1.0)),
        (0.1, 0.2, (0.5, 0.5)),
        (0.9, 0.2, (0.5, 0.5)),
        (0.91, 0.2, (1.0, 0.0)),
    ],
)
def test_shares_of_drop_net(drawn: float, p_net: float, expected: tuple[float, float]) -> None:
    assert shares(drawn, p_net) == expected


def test_its_own_attention_alone_is_the_sentence_level_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = tiny_marian(1).eval()
    model = BertFusedForConditionalGeneration.from_sentence_model(base, tiny_bert(), 0.4)
    batch = given_to(model)
    plain = {k: v for k, v in batch.items() if not k.startswith("bert")}
    with torch.no_grad():
        expected = base(**plain).logits
        mean = model.eval()(**batch).logits
        assert (mean - expected).abs().max() > 0.1  # the new attentions disturb it
        model.train()  # there is no dropout in it
        found = {}
        for drawn in (0.1, 0.5, 0.9):
            monkeypatch.setattr(torch, "rand", lambda *_a, u=drawn, **_k: torch.tensor(u))
            found[drawn] = model(**batch).logits
        torch.testing.assert_close(found[0.9], expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(found[0.5], mean, rtol=0, atol=1e-5)
        assert (found[0.1] - mean).abs().max() > 0.1
        monkeypatch.setattr(torch, "rand", lambda *_a, **_k: pytest.fail("drawn in inference"))
        torch.testing.assert_close(model.eval()(**batch).logits, mean)


def test_all_weights_of_both_models_are_taken_over_and_none_shared() -> None:
    base, bert = tiny_marian(2), tiny_bert()
    base.generation_config.num_beams = 7
    torch.manual_seed(11)
    model = BertFusedForConditionalGeneration.from_sentence_model(base, bert)
    assert model.generation_config.num_beams == 7
    found = model.state_dict()
    for name, weight in base.state_dict().items():
        assert torch.equal(found[name], weight)
        assert found[name].data_ptr() != weight.data_ptr()
    for name, weight in bert.state_dict().items():
        if not name.startswith("pooler"):
            assert torch.equal(found[f"model.encoder.bert.{name}"], weight)
    torch.manual_seed(11)
    again = BertFusedForConditionalGeneration.from_sentence_model(base, bert)
    new = [name for name in found if "bert_attn" in name]
    assert len(new) == 4 * 8
    assert all(torch.equal(found[name], again.state_dict()[name]) for name in new)
    # Xavier-uniform, from 48 to 64: its standard deviation is √(2 / (48 + 64))
    drawn = found["model.decoder.layers.1.bert_attn.k_proj.weight"]
    assert drawn.std().item() == pytest.approx(math.sqrt(2 / 112), rel=0.05)


def test_gradients_go_everywhere_but_into_bert() -> None:
    model = make(dropout=0.1)
    model.freeze_sentence_model()
    learnt = {id(weight) for weight in model.context_parameters()}
    before = {k: v.clone() for k, v in model.bert.state_dict().items()}
    model.train()
    assert not any(m.training for m in model.bert.modules())
    batch = given_to(model, labels=True)
    states = [model.get_encoder()(
        **{k: v for k, v in batch.items() if k not in ("decoder_input_ids", "labels")}
    ).context_states for _ in range(2)]  # fmt: skip
    assert torch.equal(*states)
    loss = model(**batch).loss
    assert torch.isfinite(loss)
    loss.backward()
    torch.optim.AdamW(model.parameters(), weight_decay=0.5).step()
    for name, weight in model.named_parameters():
        of_bert = name.startswith("model.encoder.bert.")
        assert of_bert or "embed_positions" in name or id(weight) in learnt, name
        assert (weight.grad is not None) == weight.requires_grad == (id(weight) in learnt), name
    assert all(torch.equal(v, before[k]) for k, v in model.bert.state_dict().items())


def test_the_loss_is_that_of_the_labels() -> None:
    batch = given_to(MODEL, labels=True)
    with torch.no_grad():
        found = MODEL(**batch)
        batch.pop("decoder_input_ids")  # made of the labels
        again = MODEL(**batch)
    expected = torch.nn.functional.cross_entropy(
        found.logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100
    )
    torch.testing.assert_close(found.loss, expected)
    torch.testing.assert_close(again.loss, expected)


def test_bfloat16_is_near() -> None:
    model = make(dropout=0.0, spread=0.0)
    batch = given_to(model, labels=True)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(**batch)
        found.loss.backward()
    with torch.no_grad():
        torch.testing.assert_close(found.loss, model(**batch).loss, rtol=0.05, atol=0)


# --- saving ---


def test_a_saved_model_needs_no_other_folder(tmp_path: Path) -> None:
    register()
    register()
    model = make(0.25, shared=True)
    model.save_pretrained(tmp_path)
    for loader in (BertFusedForConditionalGeneration, transformers.AutoModelForSeq2SeqLM):
        loaded = loader.from_pretrained(tmp_path)
        assert type(loaded) is BertFusedForConditionalGeneration
        assert loaded.config.p_net == 0.25
        assert loaded.config.bert_config.hidden_size == 48
        assert not any(weight.requires_grad for weight in loaded.bert.parameters())
        with torch.no_grad():
            expected = model(**given_to(model)).logits
            torch.testing.assert_close(
                loaded(**given_to(model)).logits, expected, rtol=0, atol=1e-6
            )


# --- learning ---


def test_it_learns_what_only_the_context_says_and_a_sentence_level_model_cannot() -> None:
    base = sentence_model()
    pronouns, others = accuracy(base)
    assert pronouns < 0.4
    assert others > 0.98
    torch.manual_seed(1)
    model = BertFusedForConditionalGeneration.from_sentence_model(base, tiny_bert(), 0.25)
    model.freeze_sentence_model()
    learn(model, model.context_parameters(), steps=150, reads=READS, bert=True)
    pronouns, others = accuracy(model, reads=READS, bert=True)
    assert pronouns >= 0.99
    assert others >= 0.98


# --- bad input ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bert_input_ids": None}, "was given no bert_input_ids, expected what BERT reads"),
        ({"bert_input_ids": torch.ones(3, 4).long()}, r"shape \(3, 4\), expected 6 rows"),
        ({"bert_input_ids": torch.ones(6, 25).long()}, r"\(6, 25\).* of 1 to 24 tokens"),
        (
            {"encoder_outputs": (torch.zeros(6, 3, 64),)},
            "encoder_outputs are a tuple, expected the ContextOutput",
        ),
    ],
)
def test_bad_inputs_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(NmtError, match=message):
        MODEL(**(given_to(MODEL) | change))


def test_bad_settings_are_named() -> None:
    bert, base = tiny_bert(), tiny_marian(1)
    fuse = BertFusedForConditionalGeneration.from_sentence_model
    with pytest.raises(NmtError, match=r"p_net is 1.5, expected a rate from 0 to 1"):
        fuse(base, bert, 1.5)
    with pytest.raises(NmtError, match="is a BertModel, expected a MarianMTModel"):
        fuse(bert, base)
    with pytest.raises(NmtError, match="is_decoder=True, expected a BERT encoder"):
        BertFusedConfig(bert_config={"is_decoder": True})
