"""THUMT's model equals its slow twin, starts as its base, and learns from the context."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from context_task import (  # noqa: E402
    EOS,
    PAD,
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
from boxpen.nmt.architectures.attention import pack  # noqa: E402
from boxpen.nmt.context.concat import ConcatForConditionalGeneration  # noqa: E402
from boxpen.nmt.context.thumt import (  # noqa: E402
    ThumtConfig,
    ThumtForConditionalGeneration,
    register,
)

READS = ThumtForConditionalGeneration.reads
SOURCES = [[5, 9, 3, 22, 0], [7, 0], [28, 4, 4, 11, 6, 17, 8, 0], [0]]
CONTEXTS = [[8, 0, 13, 6, 0], [0], [4, 21, 9, 0], [30, 31, 32, 33, 34, 35, 0]]
TARGETS = [[2, 5, 8, 19], [2, 3, 3, 3], [2, 7, 1, 12], [2, 18, 18, 4]]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make(*, shared: bool = False, layers: int = 1, dropout: float = 0.0, length: int = 32) -> Any:
    """Return a model whose context parts say something; a mistake in them shows."""
    base = tiny_marian(3, shared=shared, dropout=dropout, length=length)
    model = ThumtForConditionalGeneration.from_sentence_model(base, context_layers=layers)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:  # positions are fixed, and are not saved
                weight.add_(torch.randn(weight.shape) * 0.1)
    return model.eval()


def batch(sources: list[Any] = SOURCES, contexts: list[Any] = CONTEXTS, more: int = 0) -> Any:
    ids, mask = padded(sources, more)
    context, context_mask = padded(contexts, more)
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "context_input_ids": context,
        "context_attention_mask": context_mask,
    }


# The slow twin: one sentence, no batch, no mask, float64.


def twin(model: Any, context: list[int], source: list[int], target: list[int]) -> Any:
    w = {name: value.double() for name, value in model.state_dict().items()}
    memory = embedded(w, "model.encoder", context)
    for n in range(model.config.context_layers):
        name = f"model.encoder.context_encoder.layers.{n}"
        memory = residual(w, f"{name}.self_attn", memory, memory)
        memory = fed_forward(w, name, memory)
    x = embedded(w, "model.encoder", source)
    for n in range(2):
        name = f"model.encoder.layers.{n}"
        x = residual(w, f"{name}.self_attn", x, x)
        x = fed_forward(w, name, gated(w, f"{name}.context_attention", x, memory))
    y = embedded(w, "model.decoder", target)
    for n in range(2):
        name = f"model.decoder.layers.{n}"
        y = residual(w, f"{name}.self_attn", y, y, causal=True)
        y = gated(w, f"{name}.context_attention", y, memory)
        y = residual(w, f"{name}.encoder_attn", y, x)
        y = fed_forward(w, name, y)
    return y @ w["lm_head.weight"].T + w["final_logits_bias"]


def embedded(w: Any, name: str, tokens: list[int]) -> Any:
    return torch.stack(
        [
            w[f"{name}.embed_tokens.weight"][token] * 8 + w[f"{name}.embed_positions.weight"][i]
            for i, token in enumerate(tokens)
        ]
    )


def linear(w: Any, name: str, x: Any) -> Any:
    return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)


def normed(w: Any, name: str, x: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]


def attended(w: Any, name: str, x: Any, memory: Any, *, causal: bool = False) -> Any:
    q, k, v = (
        linear(w, f"{name}.{part}_proj", of)
        for part, of in (("q", x), ("k", memory), ("v", memory))
    )
    rows = []
    for i in range(len(x)):
        seen = i + 1 if causal else len(memory)
        heads = []
        for head in range(4):
            part = slice(head * 16, head * 16 + 16)
            weights = torch.softmax(k[:seen, part] @ q[i, part] / 4, dim=0)
            heads.append(weights @ v[:seen, part])
        rows.append(torch.cat(heads))
    return linear(w, f"{name}.out_proj", torch.stack(rows))


def residual(w: Any, name: str, x: Any, memory: Any, *, causal: bool = False) -> Any:
    return normed(w, f"{name}_layer_norm", x + attended(w, name, x, memory, causal=causal))


def gated(w: Any, name: str, x: Any, memory: Any) -> Any:
    s = attended(w, f"{name}.attention", x, memory)
    gate = torch.sigmoid(linear(w, f"{name}.gate_input", x) + linear(w, f"{name}.gate_context", s))
    return normed(w, f"{name}.norm", gate * x + (1 - gate) * s)


def fed_forward(w: Any, name: str, x: Any) -> Any:
    s = linear(w, f"{name}.fc2", torch.relu(linear(w, f"{name}.fc1", x)))
    return normed(w, f"{name}.final_layer_norm", x + s)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_padded_batch_equals_the_twin(layers: int) -> None:
    model = make(layers=layers).double()
    with torch.no_grad():
        found = model(**batch(), decoder_input_ids=torch.tensor(TARGETS)).logits
    for row, *sentences in zip(found, CONTEXTS, SOURCES, TARGETS, strict=True):
        torch.testing.assert_close(row, twin(model, *sentences), rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def model() -> Any:
    """A model that tests only read."""
    return make()


SENTENCES = st.lists(st.integers(3, 39), max_size=7).map(lambda words: [*words, EOS])


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4), more=st.integers(0, 3)
)
def test_neither_padding_nor_other_rows_change_a_row(model: Any, rows: Any, more: int) -> None:
    together = batch([s for s, _ in rows], [c for _, c in rows], more)
    target = torch.tensor([[2, 4, 17, 9]])
    with torch.no_grad():
        logits = model(**together, decoder_input_ids=target.expand(len(rows), -1)).logits
        for row, (source, context) in zip(logits, rows, strict=True):
            alone = model(
                input_ids=torch.tensor([source]),
                context_input_ids=torch.tensor([context]),
                decoder_input_ids=target,
            ).logits
            torch.testing.assert_close(row, alone[0], rtol=0, atol=1e-4)


def test_no_context_is_a_context_of_the_end_alone() -> None:
    model = make()
    inputs = {**batch(contexts=[[EOS]] * 4), "decoder_input_ids": torch.tensor(TARGETS)}
    with torch.no_grad():
        given = model(**inputs).logits
        none = model(**inputs_of(inputs)).logits
        other = model(**batch(), decoder_input_ids=torch.tensor(TARGETS)).logits
    assert torch.equal(none, given)
    assert (given - other).abs().amax((1, 2)).gt(0.01).tolist() == [True, False, True, True]


def test_a_context_without_positions_enough_loses_its_beginning() -> None:
    model = make(length=8)
    long = [list(range(4, 20)), [9, EOS], list(range(8, 17)), [EOS]]
    target = torch.tensor(TARGETS)
    with torch.no_grad():
        whole = model(**batch(contexts=long), decoder_input_ids=target).logits
        cut = model(**batch(contexts=[c[-8:] for c in long]), decoder_input_ids=target).logits
    torch.testing.assert_close(whole, cut, rtol=0, atol=1e-5)


def test_step_by_step_equals_the_whole_and_reads_the_context_once() -> None:
    model = make()
    inputs, target = batch(), torch.tensor(TARGETS)
    read = []
    for layer in model.model.decoder.layers:
        keys = layer.context_attention.attention.k_proj
        keys.register_forward_hook(lambda *_: read.append(1))
    with torch.no_grad():
        whole = model(**inputs, decoder_input_ids=target, use_cache=False)
        assert whole.past_key_values is None
        read.clear()
        encoder_outputs = model.get_encoder()(**inputs)
        past, steps = None, []
        for begin, end in ((0, 1), (1, 3), (3, 4)):
            out = model(
                encoder_outputs=encoder_outputs,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=target[:, begin:end],
                past_key_values=past,
                use_cache=True,
            )
            past = out.past_key_values
            steps.append(out.logits)
            assert past.get_seq_length() == end
    torch.testing.assert_close(torch.cat(steps, dim=1), whole.logits, rtol=0, atol=1e-5)
    assert len(read) == 2, "once for each of two layers"


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_with_and_without_memory_is_the_same(beams: int) -> None:
    model = make()
    options = {"num_beams": beams, "max_new_tokens": 12, "min_new_tokens": 8, "do_sample": False}
    kept = model.generate(**batch(), **options, use_cache=True)
    anew = model.generate(**batch(), **options, use_cache=False)
    assert torch.equal(kept, anew)
    other = model.generate(**batch(contexts=[[EOS]] * 4), **options)
    assert torch.equal(other[1], kept[1]), "row 1 has no context in either"
    assert not torch.equal(other, kept), "too easy: the context changes nothing"


def test_scores_of_a_beam_are_those_of_its_sentences() -> None:
    model = make()
    made = model.generate(
        **batch(), num_beams=4, num_return_sequences=4, max_new_tokens=9, length_penalty=0.0,
        return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    rows = {name: value.repeat_interleave(4, dim=0) for name, value in batch().items()}
    labels = made.sequences[:, 1:]
    with torch.no_grad():
        logits = model(**rows, decoder_input_ids=made.sequences[:, :-1]).logits
    values = torch.log_softmax(logits.double(), -1).gather(-1, labels[..., None])[..., 0]
    over = (labels == EOS).long().cumsum(1) - (labels == EOS).long()  # behind the end
    totals = values.masked_fill(over > 0, 0).sum(1)
    torch.testing.assert_close(made.sequences_scores.double(), totals, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shared", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path: Path, shared: bool) -> None:
    register()
    register()
    model = make(shared=shared, layers=2)
    model.save_pretrained(tmp_path)
    loaded, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(loaded) is ThumtForConditionalGeneration
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert loaded.config.context_layers == 2
    encoder, decoder = loaded.model.encoder, loaded.model.decoder
    assert loaded.lm_head.weight is decoder.embed_tokens.weight
    assert (loaded.lm_head.weight is encoder.embed_tokens.weight) == shared
    inputs = {**batch(), "decoder_input_ids": torch.tensor(TARGETS)}
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, loaded(**inputs).logits)


def test_attentions_and_states_are_those_of_marian() -> None:
    model = make()
    model.set_attn_implementation("eager")  # the others keep no weights
    out = model(
        **batch(), decoder_input_ids=torch.tensor(TARGETS), output_attentions=True,
        output_hidden_states=True,
    )  # fmt: skip
    assert [tuple(a.shape) for a in out.cross_attentions] == [(4, 4, 4, 8)] * 2
    assert len(out.decoder_attentions) == 2
    assert len(out.decoder_hidden_states) == 3


def test_it_starts_as_its_base() -> None:
    base = copy.deepcopy(sentence_model())
    for name, weight in base.named_parameters():  # as after a long training
        if "norm" in name:
            weight.data.add_(torch.randn(weight.shape) * 0.2)
    model = ThumtForConditionalGeneration.from_sentence_model(base)
    assert not model.training
    rows = context_task(5, 100)
    given = rows["labels"] != -100
    with torch.no_grad():
        expected = base(**inputs_of(rows)).logits[given]
        found = model(**inputs_of(rows, READS)).logits[given]
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-3)
        for layer in model.model.encoder.layers:
            layer.self_attn_layer_norm.load_state_dict(layer.context_attention.norm.state_dict())
            torch.nn.init.ones_(layer.context_attention.norm.weight)
            torch.nn.init.zeros_(layer.context_attention.norm.bias)
        plain = model(**inputs_of(rows, READS)).logits[given]
    assert (plain - expected).abs().max() > 0.05, "a plain norm would do as well"


def test_it_learns_what_only_the_context_says() -> None:
    base = sentence_model()
    model = ThumtForConditionalGeneration.from_sentence_model(base)
    model.freeze_sentence_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    learn(model, model.context_parameters(), steps=100, reads=READS)
    assert min(accuracy(model, reads=READS)) >= 0.99
    pronouns, others = accuracy(base)
    assert pronouns < 0.35  # chance is 0.25
    assert others > 0.95
    changed = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert changed
    assert all("context" in name for name in changed)
    made = model.generate(**batch([[9, 3, 10, EOS]] * 2, [[6, 11, EOS], [12, 5, EOS]]))
    assert made[:, :5].tolist() == [[PAD, 19, 6, 20, EOS], [PAD, 19, 5, 20, EOS]]


def test_only_the_context_learns_and_has_dropout_once_the_rest_is_frozen() -> None:
    model = make(dropout=0.3).train()
    inputs = {**batch(), "labels": torch.tensor(TARGETS)}
    model(**inputs).loss.backward()
    assert not [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    model.zero_grad()
    model.freeze_sentence_model()
    model.eval()
    model.train()
    chosen = {id(weight) for weight in model.context_parameters()}
    for name, module in model.named_modules():
        if name.startswith("model."):
            assert module.training == ("context" in name), name
    model(**inputs).loss.backward()
    for name, weight in model.named_parameters():
        assert weight.requires_grad == (id(weight) in chosen) == ("context" in name), name
        assert (weight.grad is not None and bool(weight.grad.any())) == weight.requires_grad, name


def test_labels_give_the_loss_and_autocast_comes_near_it() -> None:
    model = make().train()
    labels = torch.tensor([[5, 8, 0, -100], [3, 3, 3, 0], [4, 0, -100, -100], [7, 7, 7, 0]])
    exact = model(**batch(), labels=labels)
    flat = torch.log_softmax(exact.logits, -1)[labels != -100]
    expected = -flat.gather(-1, labels[labels != -100][:, None]).mean()
    torch.testing.assert_close(exact.loss, expected)
    with torch.autocast("cpu", torch.bfloat16):
        near = model(**batch(), labels=labels)
    near.loss.backward()
    assert near.loss.item() == pytest.approx(exact.loss.item(), rel=0.03)
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


def test_sentences_that_share_a_tile_stay_apart() -> None:
    model = make().train()
    inputs = {**batch(SOURCES * 2, CONTEXTS * 2), "labels": torch.tensor(TARGETS * 2)}
    plain = model(**inputs).logits
    pack(model, 6, 4)
    torch.testing.assert_close(model(**inputs).logits, plain, rtol=0, atol=1e-4)


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_a_context_encoder_without_layers_is_refused(wrong: Any) -> None:
    with pytest.raises(NmtError, match=f"context_layers is {wrong}, expected a whole number"):
        ThumtConfig(context_layers=wrong)


def test_a_base_that_is_no_sentence_model_is_refused() -> None:
    base = ConcatForConditionalGeneration.from_sentence_model(tiny_marian(1))
    with pytest.raises(NmtError, match="is a ConcatForConditionalGeneration, expected a Marian"):
        ThumtForConditionalGeneration.from_sentence_model(base)


def test_what_misses_the_context_is_refused() -> None:
    model = make()
    target = torch.tensor(TARGETS)
    encoded = transformers.modeling_outputs.BaseModelOutput(torch.zeros(4, 3, 64))
    with pytest.raises(NmtError, match="are a BaseModelOutput, expected the ContextOutput"):
        model(encoder_outputs=encoded, decoder_input_ids=target)
    with pytest.raises(NmtError, match="no context_states"):
        model.get_decoder()(input_ids=target, encoder_hidden_states=encoded[0])
    with pytest.raises(NmtError, match="given no input_ids"):
        model(decoder_input_ids=target)
    with pytest.raises(NmtError, match="3 rows of context and 4 of source"):
        model(**batch(contexts=CONTEXTS[:3]), decoder_input_ids=target)
