"""Score with a vocabulary of 256,000, one child process a kind, and print how its memory grew.

Run by ``test_memory.py``. Each line: kind, bytes of growth from loading to the end of scoring,
positions that were scored.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tiny
import torch
import transformers as t

from boxpen import resolve_model
from boxpen.models.base import Encoded, ResolvedPolicy

VOCABULARY = 256_000
SHAPE = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "max_position_embeddings": 128, "tie_word_embeddings": True,
}  # fmt: skip


def causal() -> Any:
    return t.LlamaForCausalLM(t.LlamaConfig(**SHAPE)), TOKENIZERS["causal"]


def replayed() -> Any:
    """A decoder whose logits are scaled, so that whole rows of them must be had."""
    config = t.GraniteConfig(**SHAPE, logits_scaling=3.0)
    return t.GraniteForCausalLM(config), TOKENIZERS["causal"]


def masked() -> Any:
    return t.BertForMaskedLM(t.BertConfig(**SHAPE)), TOKENIZERS["masked"]


def seq2seq() -> Any:
    config = t.MBartConfig(
        vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, max_position_embeddings=128,
    )  # fmt: skip
    return t.MBartForConditionalGeneration(config), TOKENIZERS["seq2seq"]


def texts(kind: str) -> list[Encoded]:
    rng = np.random.default_rng(1)
    count, length = (140, 8) if kind == "masked" else (21, 48)
    out = []
    for _ in range(count):
        ids = tuple(rng.integers(300, VOCABULARY, length).tolist())
        source = ids[:6] if kind == "seq2seq" else ()
        out.append(Encoded(ids, tuple(range(1, length)), source))
    return out


def measure(kind: str, make: Any) -> None:
    model = resolve_model(make())
    model.load()
    encoded = texts(kind)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for batch in model.run(encoded, ResolvedPolicy(pll="original")):
        assert all(np.isfinite(values).all() for _, values in batch)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1 if sys.platform == "darwin" else 1024
    print(kind, grown * unit, sum(len(e.scored) for e in encoded), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    torch.set_num_threads(1)
    TOKENIZERS = {"causal": tiny.gpt2()[1], "masked": tiny.bert()[1], "seq2seq": tiny.mbart()[1]}
    kinds = {made.__name__: made for made in (causal, replayed, masked, seq2seq)}
    for made in (kinds[name] for name in sys.argv[1:]):
        child = os.fork()
        if child == 0:
            try:
                measure(made.__name__, made)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"{made.__name__} failed")
