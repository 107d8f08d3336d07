"""CADec: its first pass and its decoder against obvious twins, generation, freezing, learning."""

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
    context_task,
    inputs_of,
    padded,
    sentence_model,
    tiny_marian,
    translated,
)

from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.architectures.attention import pack  # noqa: E402
from boxpen.nmt.context.cadec import (  # noqa: E402
    CADecConfig,
    CADecForConditionalGeneration,
    register,
)
from boxpen.nmt.context.cadec_layers import TRACE  # noqa: E402
from boxpen.nmt.context.drafts import drafts_for_training  # noqa: E402

SOURCES = [[9, 3, 12, EOS], [3, EOS], [20, 21, 3, 15, 9, EOS], [8, 3, EOS]]
CONTEXTS = [  # two sentences, none, one, two of which one is empty
    [[10, 4, EOS], [5, 13, 14, 22, EOS]],
    [],
    [[11, 6, EOS]],
    [[EOS], [7, 16, EOS]],
]
TARGETS = [[19, 4, 22, EOS], [5, EOS], [30, 31, 6, EOS], [18, 7, 11, 12, 13, EOS]]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> Any:
    return _model()


def test_the_first_pass_agrees_with_one_sentence_at_a_time(model: Any) -> None:
    with torch.no_grad():
        made = model.encoder(**_inputs(SOURCES, CONTEXTS))
    for row, (source, context) in enumerate(zip(SOURCES, CONTEXTS, strict=True)):
        wanted = _first_pass_twin(model, source, context)
        for states, mask, expected in (
            (made.last_hidden_state, made.source_mask, wanted["source"]),
            (made.target_states, made.target_mask, wanted["target"]),
        ):
            assert mask[row].sum() == len(expected)
            torch.testing.assert_close(states[row][mask[row].bool()], expected)
        assert [token for token in made.draft_ids[row].tolist() if token != PAD] == wanted["draft"]


def test_a_layer_agrees_with_attention_written_out(model: Any) -> None:
    dice = torch.Generator().manual_seed(5)
    source_width, target_width = 64 + 3, 128 + 3
    states = torch.randn(1, 4, 64, generator=dice)
    source = torch.randn(1, 6, source_width, generator=dice)
    target = torch.randn(1, 5, target_width, generator=dice)
    layer = model.decoder.layers[0]
    causal = torch.ones(4, 4).tril().bool()
    with torch.no_grad():
        made = layer(states, source, target, causal_mask=causal[None, None])
        x = states[0]
        for attention, norm, others, mask in (
            (layer.self_attn, layer.self_attn_layer_norm, None, causal),
            (layer.source_attn, layer.source_attn_layer_norm, source[0], None),
            (layer.target_attn, layer.target_attn_layer_norm, target[0], None),
        ):
            x = norm(x + _attention_twin(attention, x, x if others is None else others, mask))
        x = layer.final_layer_norm(x + layer.fc2(layer.fc1(x).relu()))
    torch.testing.assert_close(made[0], x)


def test_rows_and_padding_do_not_change_results(model: Any) -> None:
    together = _logits(model, _inputs(SOURCES, CONTEXTS, TARGETS))
    wide = _logits(model, _inputs(SOURCES, CONTEXTS, TARGETS, more=3))
    for row, target in enumerate(TARGETS):
        length = len(target)
        alone = _logits(model, _inputs([SOURCES[row]], [CONTEXTS[row]], [target]))
        torch.testing.assert_close(together[row, :length], alone[0])
        torch.testing.assert_close(wide[row, :length], alone[0])


def test_every_sentence_counts_and_so_does_its_distance(model: Any) -> None:
    def logits(*context: list[int]) -> Any:
        return _logits(model, _inputs([SOURCES[0]], [list(context)], [TARGETS[0]]))

    near, far = CONTEXTS[0]
    versions = [logits(), logits(near), logits(far), logits(near, far), logits(far, near)]
    for i, one in enumerate(versions):
        for other in versions[:i]:
            assert (one - other).abs().max() > 1e-4


def test_no_context_is_one_end_or_nothing_at_all(model: Any) -> None:
    inputs = _inputs(SOURCES, [[]] * 4, TARGETS)
    assert inputs["context_input_ids"].tolist() == [[EOS]] * 4
    without = {name: x for name, x in inputs.items() if not name.startswith("context")}
    torch.testing.assert_close(_logits(model, inputs), _logits(model, without))
    unmasked = {name: x for name, x in inputs.items() if not name.endswith("mask")}
    torch.testing.assert_close(_logits(model, inputs), _logits(model, unmasked))


def test_what_is_given_is_taken_in_place_of_what_would_be_made(model: Any) -> None:
    inputs = _inputs(SOURCES, CONTEXTS, TARGETS)
    made = _logits(model, inputs)
    twins = [_first_pass_twin(model, s, c) for s, c in zip(SOURCES, CONTEXTS, strict=True)]
    draft, draft_mask = padded([twin["draft"] for twin in twins])
    context, context_mask = padded([_flat(twin["translations"]) for twin in twins])
    given = {
        "draft_ids": draft,
        "draft_attention_mask": draft_mask,
        "context_target_ids": context,
        "context_target_attention_mask": context_mask,
    }
    torch.testing.assert_close(_logits(model, inputs | given), made)
    for name in ("draft_ids", "context_target_ids"):
        other = given[name].clone()
        other[0, 0] = 39 if other[0, 0] != 39 else 38
        changed = (_logits(model, inputs | given | {name: other}) - made).abs().amax((1, 2))
        assert changed[0] > 1e-4
        assert changed[1:].max() < 1e-5


def test_steps_with_a_cache_agree_with_forced_decoding(model: Any) -> None:
    inputs = _inputs(SOURCES, CONTEXTS, [target[:2] for target in TARGETS])
    forced = _logits(model, inputs)
    read = inputs.pop("decoder_input_ids")
    with torch.no_grad():
        first = model.encoder(**inputs)
        cache, steps = None, []
        for t in range(read.shape[1]):
            made = model(
                encoder_outputs=first,
                decoder_input_ids=read[:, t : t + 1],
                past_key_values=cache,
                use_cache=True,
            )
            cache = made.past_key_values
            steps.append(made.logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), forced)


def test_it_begins_as_the_sentence_level_model_and_is_free_to_leave_it() -> None:
    base = tiny_marian(4).eval()
    with torch.no_grad():
        for norm in (m for m in base.modules() if isinstance(m, torch.nn.LayerNorm)):
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.uniform_(-0.5, 0.5)
    model = CADecForConditionalGeneration.from_sentence_model(base, context_sentences=2).eval()
    inputs = _inputs(SOURCES, [[]] * 4)
    decoder = torch.tensor([[PAD, 5, 6, 7]] * 4)
    with torch.no_grad():
        found = model(**inputs, decoder_input_ids=decoder).logits
        plain = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        expected = base(**plain, decoder_input_ids=decoder).logits
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    model.freeze_sentence_model()
    model(**inputs, decoder_input_ids=decoder, labels=decoder).loss.backward()
    assert model.decoder.layers[0].target_attn.out_proj.weight.grad.abs().sum() > 0


def test_a_context_is_hidden_at_first_but_for_a_trace() -> None:
    """Attention that was learnt on one sentence would take the context for words to translate."""
    base = sentence_model()
    model = CADecForConditionalGeneration.from_sentence_model(base, context_sentences=1).eval()
    batch = context_task(4, 50)
    batch["context_input_ids"] = batch["input_ids"].roll(1, 0)  # words that it could translate
    batch["context_attention_mask"] = batch["attention_mask"].roll(1, 0)
    inputs = inputs_of(batch, {"context_input_ids"})

    def loss_of(bias: float) -> float:
        for layer in model.decoder.layers:
            layer.source_attn.distance_bias.data[:, 1:] = bias
        with torch.no_grad():
            return model(**inputs).loss.item()

    begun = model.decoder.layers[0].source_attn.distance_bias
    assert begun.tolist() == [[0, TRACE]] * 4
    with torch.no_grad():
        alone = base(**inputs_of(batch)).loss.item()
    assert loss_of(-1e4) == pytest.approx(alone, abs=1e-5)
    assert 0 < loss_of(TRACE) - alone < 0.2 * (loss_of(0) - alone)


def test_sentences_that_share_a_tile_do_not_change_results() -> None:
    model = _model().train()
    inputs = _inputs(SOURCES, CONTEXTS, TARGETS)
    alone = _logits(model, inputs)
    pack(model, 4, 4)
    assert model.decoder.layers[0].self_attn.together > 1
    torch.testing.assert_close(_logits(model, inputs), alone)


@pytest.mark.parametrize("beams", [1, 4])
def test_generation_is_the_same_with_and_without_cache_and_company(beams: int) -> None:
    model = _model()
    # A fresh model with tied weights would say its last token again and again.
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.roll(7, dims=0))
    settings = {
        "num_beams": beams, "max_length": 9, "do_sample": False, "suppress_tokens": [PAD],
    }  # fmt: skip
    inputs = _inputs(SOURCES, CONTEXTS)
    made = model.generate(**inputs, **settings)
    assert torch.equal(made, model.generate(**inputs, **settings, use_cache=False))
    for row, tokens in enumerate(made.tolist()):
        alone = model.generate(**_inputs([SOURCES[row]], [CONTEXTS[row]]), **settings)[0]
        assert tokens[: len(alone)] == alone.tolist()
        assert set(tokens[len(alone) :]) <= {PAD}
    assert len(made.unique()) > 3
    bare = model.generate(**_inputs(SOURCES, [[]] * 4), **settings)
    assert made.shape != bare.shape or not torch.equal(made, bare)


@pytest.mark.parametrize("shared", [False, True])
def test_a_saved_model_comes_back(tmp_path: Path, shared: bool) -> None:
    register()
    model = _model(shared=shared)
    model.save_pretrained(tmp_path)
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    assert isinstance(again, CADecForConditionalGeneration)
    assert again.config.context_sentences == 2
    assert again.lm_head.weight is again.decoder.embed_tokens.weight
    assert again.lm_head.weight is not again.base.lm_head.weight
    assert (again.base.model.encoder.embed_tokens.weight is again.base.lm_head.weight) == shared
    inputs = _inputs(SOURCES, CONTEXTS, TARGETS)
    assert torch.equal(_logits(again, inputs), _logits(model, inputs))


def test_all_of_the_sentence_model_is_taken_over() -> None:
    base = tiny_marian(3)
    model = CADecForConditionalGeneration.from_sentence_model(base, layers=1)
    for name, weight in base.state_dict().items():
        assert torch.equal(model.base.state_dict()[name], weight), name
    assert torch.equal(model.lm_head.weight, base.lm_head.weight)
    assert model.lm_head.weight.data_ptr() != base.lm_head.weight.data_ptr()
    assert len(model.decoder.layers) == 1
    assert model.generation_config.max_length == base.generation_config.max_length


def test_only_the_second_decoder_learns_and_only_it_drops_out() -> None:
    model = _model(dropout=0.3)
    model.freeze_sentence_model()
    model.train()
    assert not any(module.training for module in model.base.modules())
    assert model.decoder.layers[0].training
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    chosen = model.context_parameters()
    assert {id(w) for w in chosen} == {id(w) for w in model.parameters() if w.requires_grad}
    optimizer = torch.optim.SGD(chosen, lr=0.1)
    loss = model(**_inputs(SOURCES, CONTEXTS, TARGETS), labels=_labels()).loss
    loss.backward()
    assert all(weight.grad is not None for weight in chosen)
    assert all(weight.grad is None for weight in model.base.parameters())
    optimizer.step()
    for name, weight in model.state_dict().items():
        still = name.startswith("encoder.") or "embed_positions" in name
        assert torch.equal(weight, before[name]) == still or "k_proj.bias" in name, name
    inputs = _inputs(SOURCES, CONTEXTS)
    with torch.no_grad():
        one, two = model.encoder(**inputs), model.encoder(**inputs)
    assert torch.equal(one.target_states, two.target_states)


def test_without_freezing_the_gradient_reaches_the_sentence_model() -> None:
    model = _model()
    model(**_inputs(SOURCES, CONTEXTS, TARGETS), labels=_labels()).loss.backward()
    assert model.base.model.encoder.layers[0].fc1.weight.grad.abs().sum() > 0
    assert model.base.model.decoder.layers[0].fc1.weight.grad.abs().sum() > 0


def test_the_loss_is_the_mean_over_labels(model: Any) -> None:
    inputs, labels = _inputs(SOURCES, CONTEXTS, TARGETS), _labels()
    with torch.no_grad():
        made = model(**inputs, labels=labels)
        shifted = model(**{**inputs, "decoder_input_ids": None}, labels=labels)
    losses = [
        -made.logits[row, t].log_softmax(-1)[token]
        for row, target in enumerate(TARGETS)
        for t, token in enumerate(target)
    ]
    torch.testing.assert_close(made.loss, torch.stack(losses).mean())
    torch.testing.assert_close(shifted.loss, made.loss)


def test_it_runs_in_bfloat16() -> None:
    model = _model()
    model.freeze_sentence_model()
    inputs = _inputs(SOURCES, CONTEXTS, TARGETS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = model(**inputs, labels=_labels())
    made.loss.backward()
    assert made.loss.dtype == torch.float32
    assert all(weight.grad.isfinite().all() for weight in model.context_parameters())


def test_bad_input_is_named(model: Any) -> None:
    inputs = _inputs(SOURCES[:1], CONTEXTS[:1], TARGETS[:1])
    three, _ = padded([[10, EOS, 11, EOS, 12, EOS]])
    with pytest.raises(NmtError, match=r"row 0 of the context has 3 sentences, but .* at most 2"):
        model(**inputs | {"context_input_ids": three, "context_attention_mask": None})
    loose, _ = padded([[10, EOS, 11]])
    with pytest.raises(NmtError, match=r"row 0 of the context does not end with .* \(token 0\)"):
        model(**inputs | {"context_input_ids": loose, "context_attention_mask": None})
    one, _ = padded([[10, EOS]])
    with pytest.raises(NmtError, match="has 2 sentences, but its translation has 1"):
        model(**inputs, context_target_ids=one)
    with pytest.raises(NmtError, match="2 layers for 0 sentences"):
        CADecForConditionalGeneration.from_sentence_model(tiny_marian(1), context_sentences=0)
    with pytest.raises(NmtError, match="is a Linear, expected a MarianMTModel"):
        CADecForConditionalGeneration.from_sentence_model(torch.nn.Linear(2, 2))
    with pytest.raises(NmtError, match="expected one token each"):
        CADecConfig(pad_token_id=1, eos_token_id=1)


def test_it_learns_what_only_the_context_can_settle() -> None:
    base = sentence_model()
    chance, others = accuracy(base)
    assert chance < 0.35
    assert others > 0.95
    torch.manual_seed(2)
    model = CADecForConditionalGeneration.from_sentence_model(base, context_sentences=1)
    model.freeze_sentence_model()
    dice = torch.Generator().manual_seed(3)
    chosen = model.context_parameters()
    steps, rate = 120, 4e-3
    optimizer = torch.optim.Adam(chosen, lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for step in range(steps):
        batch = _with_translated_context(context_task(1000 + step, 64))
        batch |= drafts_for_training(model.base, batch, generator=dice)
        optimizer.zero_grad()
        model(**inputs_of(batch, model.reads)).loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    held_out = _with_translated_context(context_task(0, 200))
    inputs = inputs_of(held_out, model.reads)
    labels = inputs.pop("labels")
    inputs.pop("decoder_input_ids")
    place, right = held_out["answer"].T
    made = model.generate(**inputs, max_length=labels.shape[1] + 1)[:, 1:]
    made = torch.nn.functional.pad(made, (0, labels.shape[1] - made.shape[1]), value=PAD)
    assert (made.gather(1, place[:, None])[:, 0] == right).float().mean() >= 0.99
    assert (made == labels.masked_fill(labels == -100, PAD)).all(1).float().mean() >= 0.95
    with torch.no_grad():
        forced = model(**inputs_of(held_out, model.reads)).loss
        assert forced < 0.5 * base(**inputs_of(held_out)).loss


def _model(*, shared: bool = False, dropout: float = 0.0) -> Any:
    base = tiny_marian(7, shared=shared, dropout=dropout)
    torch.manual_seed(8)
    model = CADecForConditionalGeneration.from_sentence_model(base, context_sentences=2).eval()
    with torch.no_grad():  # it begins as its base, and is to be seen as one that has learnt
        for weight in model.context_parameters():
            weight.add_(0.3 * torch.randn_like(weight) * weight.std(correction=0).clamp(0.3))
    return model


def _flat(sentences: list[list[int]]) -> list[int]:
    """Return sentences one behind the other; no sentence is one end."""
    return [token for sentence in sentences for token in sentence] or [EOS]


def _inputs(
    sources: list[list[int]],
    contexts: list[list[list[int]]],
    targets: list[list[int]] | None = None,
    more: int = 0,
) -> dict[str, Any]:
    inputs = {}
    inputs["input_ids"], inputs["attention_mask"] = padded(sources, more)
    inputs["context_input_ids"], inputs["context_attention_mask"] = padded(
        [_flat(context) for context in contexts], more
    )
    if targets is not None:
        inputs["decoder_input_ids"], _ = padded([[PAD, *t[:-1]] for t in targets], more)
    return inputs


def _labels() -> Any:
    ids, mask = padded(TARGETS)
    return ids.masked_fill(mask == 0, -100)


def _logits(model: Any, inputs: dict[str, Any]) -> Any:
    with torch.no_grad():
        return model(**inputs).logits


def _with_translated_context(batch: dict[str, Any]) -> dict[str, Any]:
    rows = zip(batch["context_input_ids"], batch["context_attention_mask"], strict=True)
    ids, mask = padded([translated(row[kept.bool()].tolist()) for row, kept in rows])
    return batch | {"context_target_ids": ids, "context_target_attention_mask": mask}


def _first_pass_twin(model: Any, source: list[int], context: list[list[int]]) -> dict[str, Any]:
    """Return what the first pass should make of one row, sentence by sentence without padding."""
    base = model.base
    found: dict[str, Any] = {"source": [], "target": [], "translations": []}
    count = len(context)
    sentences = [(0, source), *((count - i, s) for i, s in enumerate(context))]
    for distance, sentence in sentences:
        translation = _greedy_twin(base, sentence)
        if distance == 0:
            found["draft"] = translation
        else:
            found["translations"].append([EOS] if sentence == [EOS] else translation)
        if sentence == [EOS]:
            continue
        mark = torch.eye(3)[distance]
        ids = torch.tensor([sentence])
        read = torch.tensor([[PAD, *translation[:-1]]])
        with torch.no_grad():
            made = base.model(input_ids=ids, decoder_input_ids=read, use_cache=False)
            for state in made.encoder_last_hidden_state[0]:
                found["source"].append(torch.cat([state, mark]))
            for token, state in zip(translation, made.last_hidden_state[0], strict=True):
                embedding = base.model.decoder.embed_tokens.weight[token] * 8  # √64
                found["target"].append(torch.cat([embedding, state, mark]))
    for side in ("source", "target"):
        found[side] = torch.stack(found[side])
    return found


def _greedy_twin(base: Any, sentence: list[int]) -> list[int]:
    """Translate without a cache; a translation is cut at 2 n + 10 tokens, or 32."""
    made: list[int] = []
    limit = min(2 * len(sentence) + 10, 32)
    while EOS not in made:
        read = torch.tensor([[PAD, *made]])
        with torch.no_grad():
            logits = base(input_ids=torch.tensor([sentence]), decoder_input_ids=read).logits
        logits[..., PAD] = -torch.inf
        made.append(EOS if len(made) + 1 == limit else int(logits[0, -1].argmax()))
    return made


def _attention_twin(attention: Any, x: Any, others: Any, mask: Any) -> Any:
    """Return multi-head attention, head by head; the last 3 columns of the source are distances."""
    q, k, v = attention.q_proj(x), attention.k_proj(others), attention.v_proj(others)
    heads = []
    for number, columns in enumerate(torch.arange(64).split(16)):
        scores = q[:, columns] @ k[:, columns].T / 4  # √16
        if hasattr(attention, "distance_bias"):
            for state, distances in enumerate(others[:, -3:]):
                scores[:, state] += (distances * attention.distance_bias[number]).sum()
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads.append(scores.softmax(-1) @ v[:, columns])
    return attention.out_proj(torch.cat(heads, dim=-1))
