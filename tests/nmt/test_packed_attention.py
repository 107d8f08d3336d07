"""Sentences that share a tile do not see each other: attention equals that of each by itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.nmt.architectures.attention import MOST, pack, packed, together
from boxpen.nmt.architectures.compiled import compile_layers, eager
from boxpen.nmt.architectures.sizes import new_model
from boxpen.nmt.data.inputs import IGNORED
from boxpen.nmt.objective import Objective, _fused_loss, _loss


@given(
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 7),
    st.sampled_from(["no", "causal", "mask"]),
)
@settings(deadline=None, max_examples=60)
def test_packed_attention_equals_a_loop_over_sentences(rows, time, length, kind):
    torch.manual_seed(rows * 100 + time * 10 + length)
    length = time if kind == "causal" else length
    number_of = (MOST // 2, MOST)[rows % 2]
    batch = rows * number_of
    query = torch.randn(batch, 2, time, 4, dtype=torch.float64, requires_grad=True)
    key, value = (
        torch.randn(batch, 2, length, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)
    )
    lengths = torch.randint(1, length + 1, (batch,))
    mask = (torch.arange(length) < lengths[:, None])[:, None, None] if kind == "mask" else None
    found = packed(query, key, value, mask, number_of, causal=kind == "causal")
    alone = []
    for number in range(batch):
        heads = []
        for head in range(2):
            scores = query[number, head] @ key[number, head].T / 2  # the root of the width, 4
            for t in range(time):
                for s in range(length):
                    unseen = (kind == "causal" and s > t) or (
                        kind == "mask" and s >= lengths[number]
                    )
                    if unseen:
                        scores = scores.index_put(
                            (torch.tensor(t), torch.tensor(s)),
                            torch.tensor(-1e30, dtype=torch.float64),
                        )
            heads.append(scores.softmax(-1) @ value[number, head])
        alone.append(torch.stack(heads))
    expected = torch.stack(alone)
    assert torch.allclose(found, expected, atol=1e-9)
    made = torch.autograd.grad(found.square().sum(), (query, key, value))
    wanted = torch.autograd.grad(expected.square().sum(), (query, key, value))
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(made, wanted, strict=True))


@pytest.mark.parametrize(("length", "number"), [(1, 8), (8, 8), (9, 4), (30, 2), (64, 1), (900, 1)])
def test_rows_fill_a_tile_and_no_more(length, number):
    assert together(length) == number


def model_and_batch(rows=MOST):
    torch.manual_seed(3)
    model = new_model(
        "transformer", "tiny", source_vocabulary=40, target_vocabulary=30, shared=False, pad=2,
        eos=0, dropout=0.0,
    ).train()  # fmt: skip
    mask = (torch.arange(7) < torch.randint(1, 8, (rows, 1))).long()
    batch = {
        "input_ids": torch.randint(3, 40, (rows, 7)),
        "attention_mask": mask,
        "decoder_input_ids": torch.randint(3, 30, (rows, 5)),
        "labels": torch.randint(3, 30, (rows, 5)),
    }
    return model, batch


def loss_and_gradients(model, batch):
    model.zero_grad()
    loss = Objective(model, 0.1)(**batch)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("rows", [MOST, MOST // 2, MOST + 1])
@pytest.mark.parametrize("lengths", [(7, 10), (7, 40), (100, 100)])
def test_a_model_learns_the_same_with_it(rows, lengths):
    model, batch = model_and_batch(rows)
    loss, gradients = loss_and_gradients(model, batch)
    pack(model, *lengths)
    other, packed_gradients = loss_and_gradients(model, batch)
    assert other == pytest.approx(loss, rel=1e-5)
    for name, gradient in gradients.items():
        assert torch.allclose(gradient, packed_gradients[name], atol=1e-4), name


def test_the_loss_equals_that_of_the_logits():
    model, batch = model_and_batch()
    logits = model(**{k: v for k, v in batch.items() if k != "labels"}).logits
    expected = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), batch["labels"].flatten(), label_smoothing=0.1, reduction="sum"
    )
    assert Objective(model, 0.1)(**batch).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_that_a_compiler_reads_well_is_the_same(smoothing):
    torch.manual_seed(5)
    states, weight = torch.randn(3, 4, 6, requires_grad=True), torch.randn(9, 6, requires_grad=True)
    labels = torch.randint(0, 9, (3, 4))
    labels[1, 2:] = IGNORED
    expected, found = (f(states, weight, labels, smoothing) for f in (_loss, _fused_loss))
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    for a, b in zip(
        *(torch.autograd.grad(x, (states, weight)) for x in (expected, found)), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-5)


def test_bfloat16_goes_from_layer_to_layer_only_where_products_are_bfloat16():
    model, batch = model_and_batch()
    plain, _ = loss_and_gradients(model, batch)
    seen = []
    for layer in [*model.get_encoder().layers, *model.get_decoder().layers]:
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].dtype))
    compile_layers(model, 7, 10)
    with eager(model):
        assert loss_and_gradients(model, batch)[0] == pytest.approx(plain, rel=1e-5)
        assert set(seen) == {torch.float32}
        seen.clear()
        with torch.autocast("cpu", torch.bfloat16):
            rounded, gradients = loss_and_gradients(model, batch)
    assert seen == [torch.bfloat16] * 4
    assert rounded == pytest.approx(plain, rel=0.02)
    assert all(gradient.dtype == torch.float32 for gradient in gradients.values())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_compiled_layers_learn_the_same():
    model, batch = model_and_batch()
    model, batch = model.cuda(), {k: v.cuda() for k, v in batch.items()}
    loss, gradients = loss_and_gradients(model, batch)
    assert compile_layers(model, 7, 10) == 4
    other, compiled = loss_and_gradients(model, batch)
    assert other == pytest.approx(loss, rel=1e-4)
    for name, gradient in gradients.items():
        assert torch.allclose(gradient, compiled[name], atol=1e-3), name
    with eager(model):
        assert loss_and_gradients(model, batch)[0] == pytest.approx(loss, rel=1e-5)
