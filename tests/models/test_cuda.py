"""What differs on a GPU: FlexAttention, memory that really runs out, halves, compiling."""

from __future__ import annotations

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen.models.base import Encoded, ResolvedPolicy  # noqa: E402
from boxpen.models.causal import CausalModel  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
RESOLVED = ResolvedPolicy(bos=True, eos=False, max_length=8192)


class NoTokenizer:
    """Token ids are given; only the names of special tokens are asked for."""

    unk_token_id = bos_token_id = eos_token_id = pad_token_id = None
    model_max_length = 8192
    all_special_tokens: tuple[str, ...] = ()
    all_special_ids: tuple[int, ...] = ()
    added_tokens_decoder: dict = {}  # noqa: RUF012

    def get_vocab(self):
        return {}


def model(dtype=torch.float32, width=64, vocabulary=500, **options):
    config = transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=2 * width,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=8192, initializer_range=0.3 if width == 64 else 0.05,
    )  # fmt: skip
    torch.manual_seed(7)
    module = transformers.LlamaForCausalLM(config).to("cuda", dtype).eval()
    made = CausalModel(
        name="llama", load=lambda: module, config=config, tokenizer=NoTokenizer(),
        fingerprint="f" * 64, dtype=str(dtype).removeprefix("torch."),
    )  # fmt: skip
    for name, value in options.items():
        setattr(made, name, value)
    return made


def texts(lengths, shared=0, vocabulary=500):
    rng = np.random.default_rng(3)
    stem = rng.integers(0, vocabulary, shared).tolist()
    rows = [(*stem, *rng.integers(0, vocabulary, n).tolist()) for n in lengths]
    return [Encoded(ids=row, scored=tuple(range(1, len(row)))) for row in rows]


def run(scorer, encoded):
    found = {n: values for batch in scorer.run(encoded, RESOLVED) for n, values in batch}
    return [found[n] for n in range(len(encoded))]


@torch.inference_mode()
def alone(scorer, encoded):
    """One text at a time, in float64 on the CPU."""
    module = transformers.LlamaForCausalLM(scorer.config).double().eval()
    module.load_state_dict(scorer.module.state_dict())
    out = []
    for e in encoded:
        ids = torch.tensor([e.ids])
        every = torch.log_softmax(module(input_ids=ids).logits[0, :-1], dim=-1)
        out.append(every.gather(-1, ids[0, 1:, None])[:, 0].numpy())
    return out


def agree(found, expected, tolerance=1e-3):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("lengths", "shared"),
    [((5, 9, 30, 30, 200), 4), ((2500, 2400, 7), 100), ((3000,), 0), ([20] * 50, 1500)],
    ids=["narrow rows", "wide rows take FlexAttention", "one long text", "a stem"],
)
@pytest.mark.parametrize("budget", [None, 4096, 512])
def test_trees_score_as_texts_alone(lengths, shared, budget):
    scorer = model(token_budget=budget)
    encoded = texts(lengths, shared)
    agree(run(scorer, encoded), alone(scorer, encoded))
    assert scorer.engine == "prefix tree"


@torch.inference_mode()
def test_logits_of_halves_are_float32():
    scorer = model(torch.bfloat16)
    encoded = texts((40, 60, 5), 10)
    found = run(scorer, encoded)
    hidden = scorer.body(torch.tensor([encoded[0].ids], device="cuda"))[0][0, :-1]
    logits = hidden.double() @ scorer.module.lm_head.weight.double().T
    every = torch.log_softmax(logits, dim=-1).cpu()
    expected = every.gather(-1, torch.tensor(encoded[0].ids[1:])[:, None])[:, 0].numpy()
    # The hidden states differ by the rounding of other batches, the output layer adds nothing.
    assert np.abs(found[0] - expected).mean() < 0.1
    values = torch.tensor(found[0])
    assert (values != values.bfloat16().float()).any()


def test_when_memory_runs_out_the_budget_is_halved():
    scorer = model(width=1024, vocabulary=20_000)
    encoded = texts([200] * 100, 10, vocabulary=20_000)
    expected = run(scorer, encoded)
    assert scorer.budget.tokens == 16384
    gc.collect()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    try:
        torch.cuda.set_per_process_memory_fraction(
            (torch.cuda.memory_allocated() + (260 << 20)) / total
        )
        agree(run(scorer, encoded), expected)
        assert scorer.budget.tokens < 16384
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_deterministic_scores_are_equal_to_the_last_bit():
    encoded = texts((5, 9, 30, 200), 4)
    one, other = model(torch.bfloat16, deterministic=True), model(torch.bfloat16)
    other.deterministic = True
    first = [run(one, [e])[0] for e in encoded]
    second = [run(other, [e])[0] for e in reversed(encoded)][::-1]
    assert [a.tobytes() for a in first] == [b.tobytes() for b in second]
