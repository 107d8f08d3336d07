"""Models by name have the shapes, the ties and the counts that they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen.nmt.architectures import rnnsearch  # noqa: E402
from boxpen.nmt.architectures.sizes import SIZES, new_model, parameters  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make(architecture: Any, size: Any = "tiny", *, shared: bool = False, **options: Any) -> Any:
    torch.manual_seed(1)
    vocabularies = {"source_vocabulary": 90, "target_vocabulary": 90 if shared else 70}
    fixed = {"pad": 1, "eos": 0, "max_length": 40}
    return new_model(architecture, size, shared=shared, **(vocabularies | fixed | options))


def transformer_count(layers: int, width: int, feed_forward: int, embeddings: int) -> int:
    """Count by hand: attention has four square layers, a norm two vectors."""
    attention, norm = 4 * (width * width + width), 2 * width
    feeding = 2 * width * feed_forward + feed_forward + width
    encoder = attention + feeding + 2 * norm
    decoder = 2 * attention + feeding + 3 * norm
    return layers * (encoder + decoder) + embeddings * width


def rnnsearch_count(layers: int, width: int, embeddings: int) -> int:
    """Count by hand: a gate reads its input and its state, and has two biases."""

    def lstm(reads: int, gives: int) -> int:
        return 4 * gives * (reads + gives + 2)

    encoder = layers * 2 * lstm(width, width // 2)
    decoder = lstm(width, width) + (layers - 1) * lstm(2 * width, width)
    attention = (width * width + width) + width * width + width
    start = 2 * layers * width * (width + 1)
    readout = width * (3 * width + 1)
    return encoder + decoder + attention + start + readout + embeddings * width


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_parameters_are_as_counted_by_hand(size: Any, shared: bool) -> None:
    embeddings = 90 if shared else 90 + 70
    shape = SIZES["transformer"][size]
    expected = transformer_count(shape.layers, shape.width, shape.feed_forward, embeddings)
    assert parameters(make("transformer", size, shared=shared)) == expected
    shape = SIZES["rnnsearch"][size]
    expected = rnnsearch_count(shape.layers, shape.width, embeddings)
    assert parameters(make("rnnsearch", size, shared=shared)) == expected


def test_base_is_that_of_the_papers() -> None:
    config = make("transformer", "base").config
    assert (config.encoder_layers, config.decoder_layers, config.d_model) == (6, 6, 512)
    assert (config.encoder_attention_heads, config.decoder_ffn_dim) == (8, 2048)
    assert config.activation_function == "relu"
    config = make("rnnsearch", "base").config
    assert (config.num_hidden_layers, config.hidden_size) == (4, 512)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("architecture", ["transformer", "rnnsearch"])
def test_ties_hold_before_and_after_saving(architecture: Any, shared: bool, tmp_path: Path) -> None:
    rnnsearch.register()
    model = make(architecture, shared=shared).eval()
    model.save_pretrained(tmp_path)
    loaded, info = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    for one in (model, loaded):
        weight = one.get_output_embeddings().weight
        assert weight is one.get_decoder().embed_tokens.weight
        assert (weight is one.get_encoder().embed_tokens.weight) == shared
        assert one.generation_config.max_length == 40
        assert one.generation_config.forced_eos_token_id is None
        assert one.config.decoder_start_token_id == one.config.pad_token_id == 1
    inputs = {
        "input_ids": torch.tensor([[5, 89, 7, 0]]),
        "decoder_input_ids": torch.tensor([[1, 69, 3]]),
    }
    with torch.no_grad():
        found = loaded(**inputs).logits
        assert found.shape == (1, 3, 90 if shared else 70)
        torch.testing.assert_close(found, model(**inputs).logits, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_a_transformer_adds_no_bias_to_its_logits(shared: bool) -> None:
    model = make("transformer", shared=shared).eval()
    assert model.final_logits_bias.shape == (1, 90 if shared else 70)
    assert not model.final_logits_bias.any()


@pytest.mark.parametrize("architecture", ["transformer", "rnnsearch"])
def test_a_new_model_guesses_and_can_learn(architecture: Any) -> None:
    model = make(architecture, dropout=0.0)
    source = torch.randint(2, 90, (16, 9), generator=torch.Generator().manual_seed(2))
    labels = torch.randint(2, 70, (16, 7), generator=torch.Generator().manual_seed(3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        loss = model(input_ids=source, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Not much worse than to know nothing, log 70 = 4.2: the logits begin with a variance near 1. A
    # decoder that adds little to what goes past it begins with a liking for the token it reads.
    assert 4.2 < losses[0] < 6.0
    assert losses[-1] < 1.0


def test_dropout_is_the_sizes_own_unless_given() -> None:
    assert make("transformer").config.dropout == 0.1
    assert make("rnnsearch").config.dropout == 0.2
    assert make("rnnsearch", dropout=0.0).config.dropout == 0.0


def test_weights_hang_on_the_seed() -> None:
    one, same = (make("rnnsearch").state_dict() for _ in range(2))
    assert all(torch.equal(one[name], same[name]) for name in one)
