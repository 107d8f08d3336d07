"""Helpers for training bidirectional models: new models, batches, saving and loading."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from boxpen.errors import ModelError, nearest
from boxpen.files import moved_in
from boxpen.lm.bilm.characters import BEGIN, END, spelt
from boxpen.lm.bilm.config import SIZES, BiLMConfig, Input
from boxpen.lm.bilm.model import BiLMForLanguageModeling, register
from boxpen.lm.bilm.vocabulary import learn_pieces, learn_words, max_characters, spellings
from boxpen.models.engine.quiet import quiet

__all__ = ["batch_of", "load", "new_model", "save"]


def new_model(
    texts: Iterable[str],
    *,
    size: str,
    vocabulary: int,
    seed: int,
    input: Input = "characters",  # noqa: A002
    uncased: bool = False,
) -> tuple[BiLMForLanguageModeling, Any]:
    """Return a model with random weights, and a tokenizer trained on texts.

    Args:
        texts: Sentences; read once.
        size: One of ``SIZES``.
        vocabulary: Words (or pieces) of the softmax at most.
        seed: Of the weights.
        input: What a token is read by. ``characters``: the letters of whole words, as ELMo does;
            ``pieces``: byte pairs, to which no word is unknown.
        uncased: Whether pieces are lower-cased, as those of a new masked model.

    Raises:
        ModelError: If there is no such size or input, or the texts give no vocabulary.
    """
    if size not in SIZES:
        raise ModelError(f"no size '{size}' of a bidirectional model, {nearest(size, [*SIZES])}")
    shape = BiLMConfig(input=input, **SIZES[size])
    if input == "characters":
        tokenizer = learn_words(texts, vocabulary, shape.max_characters)
    else:
        tokenizer = learn_pieces(texts, vocabulary, uncased=uncased)
    config = BiLMConfig(
        input=input,
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        unk_token_id=tokenizer.unk_token_id,
        **SIZES[size],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BiLMForLanguageModeling(config), tokenizer


def batch_of(tokenizer: Any, texts: Sequence[str]) -> dict[str, Tensor]:
    """Return texts as a batch: ``model(**batch).loss`` is the loss in nats per predicted token.

    Texts longer than the tokenizer's maximum length are truncated at the end.

    Args:
        tokenizer: That of the model.
        texts: Sentences.

    Raises:
        ModelError: If there are none.
    """
    if not texts:
        raise ModelError("a batch needs at least one text")
    room = tokenizer.model_max_length - 2
    found = tokenizer(
        list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False
    )["input_ids"]
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    ids = [[bos, *row[:room], eos] for row in found]
    width = max(map(len, ids))
    labels = np.full((len(ids), width), -100, dtype=np.int64)
    mask = np.zeros_like(labels)
    for i, row in enumerate(ids):
        labels[i, 1 : len(row)] = row[1:]  # the backward model predicts <S> where </S> counts
        mask[i, : len(row)] = 1
    longest = max_characters(tokenizer)
    if longest is None:
        read = np.full_like(labels, eos)
        for i, row in enumerate(ids):
            read[i, : len(row)] = row
    else:
        words = spellings(tokenizer, texts)
        read = spelt([[BEGIN, *row[:room], END] for row in words], longest)
    return {
        "input_ids": torch.from_numpy(read),
        "attention_mask": torch.from_numpy(mask),
        "labels": torch.from_numpy(labels),
    }


def save(folder: Path | str, model: BiLMForLanguageModeling, tokenizer: Any) -> None:
    """Write a model and its tokenizer; ``config.json``, which makes a folder a model, comes last.

    Raises:
        ModelError: If they cannot be written; what was there stays.
    """
    folder = Path(folder)
    aside = folder / ".unfinished"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        with quiet():
            model.save_pretrained(aside)
            tokenizer.save_pretrained(aside)
        moved_in(aside, folder, last="config.json")
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise ModelError(f"the model cannot be written to {folder}: {reason}") from error


def load(folder: Path | str) -> tuple[BiLMForLanguageModeling, Any]:
    """Return the model of a folder, in float32 on the CPU, and its tokenizer.

    Raises:
        ModelError: If there is none, it is not whole, or it is a model of another kind.
    """
    from boxpen.models.base import ModelSpec
    from boxpen.models.loading.checkpoint import from_checkpoint

    register()
    if not Path(folder).is_dir():
        raise ModelError(f"there is no folder {folder}, expected one of a bidirectional model")
    spec = ModelSpec(name=str(folder), path=str(folder), dtype="float32", device="cpu")
    found = from_checkpoint(spec)
    if found.kind != "bidirectional":
        raise ModelError(f"{folder} is a {found.kind} model, expected a bidirectional one")
    return found.module, found.tokenizer
