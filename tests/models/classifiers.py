"""Tiny classifiers and multiple-choice models of real Transformers classes, as pairs in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import tiny
import torch
import transformers as t

from boxpen.models.plain_pairs import PLAIN

NAMED = {0: "CONTRADICTION", 1: "neutral", 2: "Entailment"}
"""An order that no default has."""

_SHAPE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2,
}  # fmt: skip


def named(labels: dict[int, str] | None) -> dict[str, Any]:
    if labels is None:
        return {"num_labels": 1}
    return {"id2label": labels, "label2id": {name: i for i, name in labels.items()}}


def _bert(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.bert()[1]
    return getattr(t, f"Bert{head}")(tiny.bert_config(tokenizer, **more)), tokenizer


def _distilbert(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = t.DistilBertTokenizer(vocab=tiny.bert()[1].get_vocab())
    config = t.DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, hidden_dim=48, n_layers=2, n_heads=2,
        max_position_embeddings=256, **more,
    )  # fmt: skip
    return getattr(t, f"DistilBert{head}")(config), tokenizer


def _roberta(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.roberta()[1]
    config = t.RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=258, type_vocab_size=1, **_SHAPE, **more
    )
    return getattr(t, f"Roberta{head}")(config), tokenizer


def _deberta(head: str, more: dict[str, Any]) -> tiny.Pair:
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    vocab = [(p, s) for p, s in tiny._unigram(["<unk>"]) if p != "<unk>"]
    tokenizer = t.DebertaV2Tokenizer(vocab=[*((s, 0.0) for s in specials), *vocab])
    config = t.DebertaV2Config(
        vocab_size=len(tokenizer), max_position_embeddings=256, relative_attention=True,
        pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0,
        pooler_hidden_size=32, **_SHAPE, **more,
    )  # fmt: skip
    return getattr(t, f"DebertaV2{head}")(config), tokenizer


def _bart(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.roberta()[1]
    config = t.BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_position_embeddings=256, bos_token_id=0, pad_token_id=1,
        eos_token_id=2, decoder_start_token_id=2, **more,
    )  # fmt: skip
    return getattr(t, f"Bart{head}")(config), tokenizer


def _llama(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.llama()[1]
    config = t.LlamaConfig(
        vocab_size=len(tokenizer), num_key_value_heads=1, max_position_embeddings=256,
        bos_token_id=1, eos_token_id=2, **_SHAPE, **more,
    )  # fmt: skip
    return getattr(t, f"Llama{head}")(config), tokenizer


def _gpt2(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.gpt2()[1]
    config = t.GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0, **more,
    )  # fmt: skip
    return getattr(t, f"GPT2{head}")(config), tokenizer


def _gpt2_padded(head: str, more: dict[str, Any]) -> tiny.Pair:
    """As it is trained in a hurry: the end of text is also what rows are filled up with."""
    return _gpt2(head, {"pad_token_id": 0, **more})


def _xlnet(head: str, more: dict[str, Any]) -> tiny.Pair:
    tokenizer = tiny.xlnet()[1]
    config = t.XLNetConfig(
        vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=2, d_inner=48, **more
    )
    return getattr(t, f"XLNet{head}")(config), tokenizer


FAMILIES: dict[str, Callable[[str, dict[str, Any]], tiny.Pair]] = {
    "bert": _bert,
    "distilbert": _distilbert,
    "roberta": _roberta,
    "deberta": _deberta,
    "bart": _bart,
    "llama": _llama,
    "gpt2": _gpt2,
    "gpt2_padded": _gpt2_padded,
    "xlnet": _xlnet,
}
CHOOSING = {
    **dict.fromkeys(("bert", "distilbert", "roberta", "deberta"), "ForMultipleChoice"),
    **dict.fromkeys(("llama", "gpt2", "gpt2_padded", "bart"), "ForSequenceClassification"),
    "xlnet": "ForMultipleChoice",
}
"""Families with the form of their multiple-choice models."""


@cache
def nli(name: str) -> tiny.Pair:
    return _wide(FAMILIES[name]("ForSequenceClassification", named(NAMED)))


@cache
def choice(name: str) -> tiny.Pair:
    head = CHOOSING[name]
    return _wide(FAMILIES[name](head, {} if head.endswith("Choice") else named(None)))


def _wide(pair: tiny.Pair) -> tiny.Pair:
    module, tokenizer = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tiny.wide(module), tokenizer


@torch.inference_mode()
def logits(pair: tiny.Pair, first: str, second: str) -> list[float]:
    """Plain Transformers: one pair, no padding, no batch."""
    module, tokenizer = pair
    encoded = tokenizer(*([first, second] if first else [second]), return_tensors="pt")
    if type(module).__name__.endswith("ForMultipleChoice"):
        encoded = {name: array[None] for name, array in encoded.items()}
    return module(**encoded).logits[0].tolist()


def label_logprobs(pair: tiny.Pair, first: str, second: str) -> dict[str, float]:
    """The log-probabilities of labels, by their name in the configuration, in lower case."""
    values = torch.log_softmax(torch.tensor(logits(pair, first, second)).double(), dim=0).tolist()
    names = pair[0].config.id2label
    return {names[i].lower(): value for i, value in enumerate(values)}


@cache
@torch.no_grad()
def right() -> tiny.Pair:
    """A classifier that gets the plain pairs right, its labels named as in ``NAMED``.

    Eighteen pairs are fewer than the width of the model, so an output layer that gives each its
    label is the solution of linear equations.
    """
    module, tokenizer = _wide(_bert("ForSequenceClassification", named(NAMED)))
    places = {name.lower(): i for i, name in NAMED.items()}
    states = torch.cat(
        [module.bert(**tokenizer(p, h, return_tensors="pt")).pooler_output for p, h, _ in PLAIN]
    )  # (pairs, width)
    wanted = torch.zeros(len(PLAIN), len(NAMED))
    for row, (_, _, label) in enumerate(PLAIN):
        wanted[row, places[label]] = 10.0
    solved = torch.linalg.lstsq(states.double(), wanted.double(), driver="gelsd").solution
    module.classifier.weight.copy_(solved.T)
    module.classifier.bias.zero_()
    assert (module.classifier(states).argmax(-1) == wanted.argmax(-1)).all()
    return module, tokenizer
