"""Tiny random decoders of many real Transformers classes, all with one vocabulary of raw tokens.

Their tables of positions are shorter than a row of a tree may be.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import tiny
import torch
import transformers as t

from boxpen import Model
from boxpen.models.base import Encoded, ResolvedPolicy

VOCABULARY = 64
_WIDTH = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}
_SHAPE = {
    **_WIDTH, "intermediate_size": 48, "num_attention_heads": 2, "max_position_embeddings": 96,
    "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
_GROUPED = {**_SHAPE, "num_key_value_heads": 1}
_GPT = {
    "vocab_size": VOCABULARY, "n_positions": 96, "n_embd": 32, "n_layer": 2, "n_head": 2,
    "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
_HEADS = {"head_dim": 16}


def _gemma2(**more: Any) -> Any:
    return t.Gemma2ForCausalLM(
        t.Gemma2Config(
            **_GROUPED,
            **_HEADS,
            query_pre_attn_scalar=16,
            sliding_window=80,
            final_logit_softcapping=5.0,
            **more,
        )
    )


def llama(**changes: Any) -> Any:
    return t.LlamaForCausalLM(t.LlamaConfig(**{**_GROUPED, **changes}))


def mistral(window: int | None) -> Any:
    return t.MistralForCausalLM(t.MistralConfig(**_GROUPED, sliding_window=window))


def gpt_neo(window: int, positions: int) -> Any:
    return t.GPTNeoForCausalLM(
        t.GPTNeoConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            num_layers=2,
            num_heads=2,
            window_size=window,
            attention_types=[[["global", "local"], 1]],
            max_position_embeddings=positions,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def phi3(rope: dict[str, Any] | None = None, **changes: Any) -> Any:
    return t.Phi3ForCausalLM(t.Phi3Config(**{**_SHAPE, **changes}, rope_parameters=rope))


def _falcon(*, alibi: bool) -> Any:
    return t.FalconForCausalLM(
        t.FalconConfig(**_WIDTH, num_attention_heads=2, alibi=alibi, bos_token_id=0, eos_token_id=0)
    )


PACKED: dict[str, Callable[[], Any]] = {
    "llama": llama,
    "llama_eager": lambda: llama(attn_implementation="eager"),
    "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(**_GPT)),
    "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**_GROUPED)),
    "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**_GROUPED, **_HEADS)),
    "mistral": lambda: mistral(None),
    "opt": lambda: t.OPTForCausalLM(
        t.OPTConfig(
            **_WIDTH,
            ffn_dim=48,
            num_attention_heads=2,
            max_position_embeddings=96,
            word_embed_proj_dim=32,
            bos_token_id=0,
            eos_token_id=0,
        )
    ),
    "gpt_neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**_SHAPE)),
    "gptj": lambda: t.GPTJForCausalLM(t.GPTJConfig(**_GPT, rotary_dim=8)),
    "phi": lambda: t.PhiForCausalLM(t.PhiConfig(**_SHAPE)),
    "phi3": phi3,
    "gemma2": _gemma2,
    "gemma2_eager": lambda: _gemma2(attn_implementation="eager"),
    "gemma3": lambda: t.Gemma3ForCausalLM(
        t.Gemma3TextConfig(**_GROUPED, **_HEADS, query_pre_attn_scalar=16, sliding_window=80)
    ),
    "cohere": lambda: t.CohereForCausalLM(t.CohereConfig(**_GROUPED)),
    "granite": lambda: t.GraniteForCausalLM(t.GraniteConfig(**_GROUPED, logits_scaling=3.0)),
    "falcon": lambda: _falcon(alibi=False),
    "starcoder2": lambda: t.Starcoder2ForCausalLM(t.Starcoder2Config(**_GROUPED)),
    "olmo2": lambda: t.Olmo2ForCausalLM(t.Olmo2Config(**_GROUPED)),
    "xglm": lambda: t.XGLMForCausalLM(
        t.XGLMConfig(
            vocab_size=VOCABULARY,
            d_model=32,
            ffn_dim=48,
            num_layers=2,
            attention_heads=2,
            max_position_embeddings=96,
        )
    ),
    "mixtral": lambda: t.MixtralForCausalLM(t.MixtralConfig(**_GROUPED, num_local_experts=2)),
}
"""They heed position ids and four-dimensional masks."""

PADDED: dict[str, Callable[[], Any]] = {
    "gpt": lambda: t.OpenAIGPTLMHeadModel(t.OpenAIGPTConfig(**{**_GPT, "n_positions": 96})),
    "gpt_neo": lambda: gpt_neo(window=16, positions=96),
    "falcon_alibi": lambda: _falcon(alibi=True),
    "bloom": lambda: t.BloomForCausalLM(
        t.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=2)
    ),
    "mpt": lambda: t.MptForCausalLM(
        t.MptConfig(vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=2, max_seq_len=96)
    ),
    "mamba": lambda: t.MambaForCausalLM(t.MambaConfig(**_WIDTH, state_size=4)),
    "lfm2": lambda: t.Lfm2ForCausalLM(
        t.Lfm2Config(**_GROUPED, layer_types=["conv", "full_attention"])
    ),
    "mistral_8": lambda: mistral(8),
}
"""They count places along the row, know no mask, or do not see far enough."""


def built(make: Callable[[], Any]) -> Any:
    """Make a module with wide weights, without its advice."""
    with warnings.catch_warnings(), _quiet():
        warnings.simplefilter("ignore")
        return tiny.wide(make())


@contextlib.contextmanager
def _quiet() -> Any:
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@cache
def module(name: str) -> Any:
    return built((PACKED | PADDED)[name])


def drawn(seed: int, length: int, alphabet: int = VOCABULARY) -> tuple[int, ...]:
    """Tokens at random, none of them special."""
    return tuple(np.random.default_rng(seed).integers(3, alphabet, length).tolist())


def whole(ids: Sequence[int]) -> Encoded:
    """A text all of whose tokens are scored but the first."""
    return Encoded(ids=tuple(ids), scored=tuple(range(1, len(ids))))


def run(model: Model, encoded: Sequence[Encoded]) -> list[Any]:
    """The log-probabilities of distinct encoded requests, in their order."""
    found: dict[int, Any] = {}
    for batch in model.run(encoded, ResolvedPolicy()):
        for number, values in batch:
            assert number not in found, "a request was scored twice"
            found[number] = values
    assert sorted(found) == list(range(len(encoded)))
    return [found[i] for i in range(len(encoded))]


@cache
@torch.inference_mode()
def plain(module: Any, encoded: Encoded) -> Any:
    """One sequence, one forward pass of the whole module, nothing beside it."""
    logits = module(input_ids=torch.tensor([encoded.ids]), use_cache=False).logits[0]
    every = torch.log_softmax(logits.double(), dim=-1)
    return np.array([float(every[i - 1, encoded.ids[i]]) for i in encoded.scored])


def assert_plain(module: Any, encoded: Sequence[Encoded], values: Sequence[Any]) -> None:
    """Equal to the plain scores, token by token and in sum."""
    for one, found in zip(encoded, values, strict=True):
        expected = plain(module, one)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
        assert abs(float(found.astype(np.float64).sum()) - expected.sum()) < 1e-4
