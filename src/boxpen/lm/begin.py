"""What the training of a language model starts from: a model, or a new one of some size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boxpen.errors import ModelError, nearest
from boxpen.lm.bilm.trainable import Bidirectional
from boxpen.lm.scratch import SHAPES
from boxpen.lm.trainable import Causal, Masked, Trainable

__all__ = ["KINDS", "NEW", "begin", "check_model"]

KINDS: dict[str, type[Trainable]] = {made.kind: made for made in (Causal, Masked, Bidirectional)}
NEW = "new"
VOCABULARY = 50_000  # words of a new bidirectional model
_SCORED = {"bidirectional": "bilm"}  # what a kind is called among scorers


def check_model(kind: str, model: str, vocabulary: int | None, uncased: bool) -> None:
    """Fail early, before any data is read, if a model cannot be trained."""
    if kind not in KINDS:
        raise ModelError(f"kind '{kind}' is unknown, {nearest(kind, list(KINDS))}")
    size = size_of(model)
    sizes: Iterable[str] = SHAPES
    if kind == "bilm":
        from boxpen.lm.bilm.config import SIZES

        sizes = SIZES
    if size is not None and size not in sizes:
        raise ModelError(f"model '{model}' is unknown, {nearest(size, [*sizes])}")
    for option, given in (("--vocabulary", vocabulary is not None), ("--uncased", uncased)):
        if given and size is None:
            raise ModelError(f"{option} is only for a new model, new:SIZE")


def size_of(model: str) -> str | None:
    """Return the size of a new model, or None for an existing one."""
    if model == NEW:
        return "small"
    return model.removeprefix(f"{NEW}:") if model.startswith(f"{NEW}:") else None


def begin(
    kind: str,
    model: str,
    *,
    texts: Iterable[str],
    vocabulary: int | None,
    uncased: bool = False,
    seed: int,
) -> Trainable:
    """Return a model that can be trained.

    Args:
        kind: One of ``KINDS``.
        model: ``new``, ``new:SIZE``, or a model as ``boxpen run`` takes it.
        texts: The texts to train the vocabulary of a new model on.
        vocabulary: Maximum vocabulary size of a new model.
        uncased: Whether a new model of any kind reads lower-cased byte pairs.
        seed: Random seed for new weights and for batches.
    """
    size = size_of(model)
    if size is None:
        return KINDS[kind](*_found(kind, model), seed)
    if kind == "bilm":
        from boxpen.lm.bilm.training import new_model

        made = new_model(
            texts, size=size, vocabulary=vocabulary or VOCABULARY, seed=seed,
            input="pieces" if uncased else "characters", uncased=uncased,
        )  # fmt: skip
        return Bidirectional(*made, seed)
    import torch

    from boxpen.lm.scratch import new_causal, new_masked

    torch.manual_seed(seed)
    if kind == "causal":
        return Causal(*new_causal(size, texts, vocabulary, uncased=uncased), seed)
    return Masked(*new_masked(size, texts, vocabulary), seed)


def _found(kind: str, model: str) -> tuple[Any, Any]:
    """Return the module of a model, in float32 on the CPU, and its tokenizer."""
    from boxpen.lm.classifier.base import plain
    from boxpen.models.resolve import resolve_model

    found: Any = resolve_model(model, dtype="float32", device="cpu")
    is_of = _SCORED.get(found.kind, found.kind)
    if is_of != kind:
        command = "boxpen train bilm" if is_of == "bilm" else f"--kind {is_of}"
        way = f"; use {command}" if is_of in KINDS else ""
        raise ModelError(f"model '{model}' is of the kind '{is_of}', expected '{kind}'{way}")
    if kind == "masked" and found.tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of model '{model}' has no mask token")
    return plain(found.module), found.tokenizer
