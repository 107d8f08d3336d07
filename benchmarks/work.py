"""How much a set of texts asks of a model, at the least: the useful floating-point operations.

What is the same for two texts is counted once. A causal model must see every distinct prefix once,
a masked one every distinct masked copy, a translation model every distinct source and, for each,
every distinct prefix of its targets. Each position goes once through every matrix of the model (the
output layer only where a distribution is asked for), and attends to what it can see. Padding, and
whatever a tool computes a second time, is not useful.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import Text

__all__ = ["Work", "causal_work", "linears", "work_of"]


@dataclass
class Work:
    """What scoring some texts takes.

    Attributes:
        texts: How many they are.
        tokens: Of all texts, sources too, without special tokens: the unit of tokens per second.
        positions: What a model without memory of other texts would compute.
        nodes: What is left of it when nothing is computed twice.
        matrices: (outputs, inputs) of a weight matrix, and how many rows go through such ones.
        attention: Floating-point operations of the attention products.
    """

    texts: int
    tokens: int
    positions: int = 0
    nodes: int = 0
    matrices: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    attention: int = 0

    @property
    def flops(self) -> int:
        """The useful floating-point operations."""
        return self.attention + sum(
            2 * outputs * inputs * rows for (outputs, inputs), rows in self.matrices.items()
        )


def work_of(kind: str, folder: Path, texts: Sequence[Text], *, pll: str = "") -> Work:
    """Return what it takes to score texts with a checkpoint."""
    from transformers import AutoConfig, AutoTokenizer

    config = AutoConfig.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    matrices = linears(_skeleton(kind, config))
    if kind == "causal":
        return causal_work(config, matrices, _encoded(tokenizer, texts), tokenizer.bos_token_id)
    if kind == "masked":
        return _masked(config, matrices, tokenizer, texts, pll)
    return _seq2seq(config, matrices, tokenizer, texts)


def _encoded(tokenizer: Any, texts: Sequence[Text]) -> list[list[int]]:
    rows: list[list[int]] = tokenizer([t for _, t in texts], add_special_tokens=False)["input_ids"]
    return rows


def causal_work(config: Any, matrices: dict[str, Any], rows: list[list[int]], bos: int) -> Work:
    """Return what it takes to score rows of tokens after BOS with a causal model."""
    read = [(bos, *row[:-1]) for row in rows]  # nothing is predicted from the last token
    nodes, seen = tree(read)
    work = Work(len(rows), sum(map(len, rows)), sum(map(len, read)), nodes)
    for shape in matrices.values():
        work.matrices[shape] += nodes
    width = config.num_attention_heads * config.head_dim
    work.attention = 4 * seen * width * config.num_hidden_layers
    return work


def _masked(
    config: Any, matrices: dict[str, Any], tokenizer: Any, texts: Sequence[Text], pll: str
) -> Work:
    encoded = tokenizer([text for _, text in texts], return_special_tokens_mask=True)
    copies: set[tuple[int, ...]] = set()
    work = Work(len(texts), 0)
    for i, ids in enumerate(encoded["input_ids"]):
        words = encoded.word_ids(i)
        places = [at for at, s in enumerate(encoded["special_tokens_mask"][i]) if not s]
        for at in places:
            whole = range(at, len(ids)) if pll == "within_word_l2r" else range(at, at + 1)
            hidden = {j for j in whole if words[j] == words[at]}
            copy = (tokenizer.mask_token_id if j in hidden else t for j, t in enumerate(ids))
            copies.add(tuple(copy))
        work.tokens += len(places)
        work.positions += len(places) * len(ids)
    lengths = [len(copy) for copy in copies]
    work.nodes = sum(lengths)
    for name, shape in matrices.items():
        work.matrices[shape] += len(copies) if name.startswith("cls.") else work.nodes
    work.attention = 4 * sum(n * n for n in lengths) * config.hidden_size * config.num_hidden_layers
    return work


def _seq2seq(config: Any, matrices: dict[str, Any], tokenizer: Any, texts: Sequence[Text]) -> Work:
    sources = [tuple(row) for row in tokenizer([s for s, _ in texts])["input_ids"]]
    labels = tokenizer(text_target=[t for _, t in texts])["input_ids"]
    targets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for source, row in zip(sources, labels, strict=True):
        targets.setdefault(source, []).append((config.decoder_start_token_id, *row[:-1]))
    tokens = sum(map(len, sources)) + sum(map(len, labels))
    work = Work(len(texts), tokens, tokens)
    read = sum(map(len, targets))
    asked = 0
    for source, rows in targets.items():
        nodes, seen = tree(rows)
        asked += nodes
        pairs = len(source) ** 2 * config.encoder_layers
        pairs += (seen + nodes * len(source)) * config.decoder_layers
        work.attention += 4 * config.d_model * pairs
    work.nodes = read + asked
    for name, shape in matrices.items():
        of_source = ".encoder." in name or ".encoder_attn.k" in name or ".encoder_attn.v" in name
        work.matrices[shape] += read if of_source else asked
    return work


def tree(rows: Iterable[tuple[int, ...]]) -> tuple[int, int]:
    """Return the nodes of the prefix tree of rows, and the sum of their depths."""
    nodes = depths = 0
    before: tuple[int, ...] = ()
    for row in sorted(set(rows)):
        same = next((i for i, pair in enumerate(zip(before, row)) if pair[0] != pair[1]), None)  # noqa: B905
        shared = min(len(before), len(row)) if same is None else same
        nodes += len(row) - shared
        depths += (len(row) * (len(row) + 1) - shared * (shared + 1)) // 2
        before = row
    return nodes, depths


def linears(module: Any) -> dict[str, tuple[int, int]]:
    """Return the weight matrices of a model by name: (outputs, inputs)."""
    import torch

    return {
        name: (layer.out_features, layer.in_features)
        for name, layer in module.named_modules()
        if isinstance(layer, torch.nn.Linear)
    }


def _skeleton(kind: str, config: Any) -> Any:
    """Return a model without its weights."""
    import torch
    import transformers

    auto = {
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    with torch.device("meta"):
        return auto.from_config(config)
