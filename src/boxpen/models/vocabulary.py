"""Check that a tokenizer and a model belong together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError

if TYPE_CHECKING:
    from boxpen.models.base import Encoded, Kind

__all__ = [
    "beyond",
    "check_target",
    "check_used",
    "check_vocabulary",
    "foreign_vocabulary",
    "vocabulary_digest",
]

_ADDED = 1024
_FILES = (
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
)  # the subwords of a training
_PUT_IN: dict[Kind, tuple[str, ...]] = {
    "masked": ("pad", "mask"),
    "permuted": ("pad",),
    "seq2seq": ("pad",),
}
"""Tokens that occur in no text, but are added to rows when the model runs."""


def check_vocabulary(
    name: str, tokenizer: Any, rows: int, kind: Kind, *, in_memory: bool = False
) -> None:
    """Reject a tokenizer that has more tokens than its model.

    Some that were added past the matrix are harmless until a text uses one, as the image token
    that models of text alone share with their kin; a piece of text or a whole foreign vocabulary
    is not.

    Args:
        name: Of the model.
        tokenizer: Its tokenizer.
        rows: Rows of its embedding.
        kind: Of the model.
        in_memory: Whether somebody put the two together; then pieces past the matrix are refused
            only where a text has one.

    Raises:
        ModelError: If they do not belong together.
    """
    known = tokenizer.get_vocab()
    added = getattr(tokenizer, "added_tokens_encoder", {})
    needed = [getattr(tokenizer, f"{role}_token_id", None) for role in _PUT_IN.get(kind, ())]
    largest = max(known.values(), default=0)
    pieces = max((number for piece, number in known.items() if piece not in added), default=0)
    used = max((number for number in needed if isinstance(number, int)), default=0)
    pieces = 0 if in_memory else pieces
    if max(pieces, used) >= rows or largest >= rows + _ADDED:
        raise ModelError(
            f"the tokenizer of {name} has {largest + 1} tokens, its model {rows}: they do not "
            "belong together"
        )


def check_target(name: str, known: Mapping[str, int], rows: int) -> None:
    """Reject a target vocabulary that has more pieces than the decoder.

    Raises:
        ModelError: If they do not belong together.
    """
    largest = max(known.values())
    if largest >= rows:
        raise ModelError(
            f"the tokenizer of {name} has {largest + 1} tokens for its target, its model {rows}: "
            "they do not belong together"
        )


def beyond(tokenizer: Any, config: Any) -> frozenset[int]:
    """Return the tokens that a model has no row for, as far as its configuration tells."""
    text = config.get_text_config(decoder=True)
    rows = [getattr(text, size, None) for size in ("vocab_size", "decoder_vocab_size")]
    most = max((row for row in rows if isinstance(row, int)), default=None)
    if most is None:
        return frozenset()
    return frozenset(number for number in tokenizer.get_vocab().values() if number >= most)


def check_used(name: str, chunk: Iterable[Encoded], unknown: frozenset[int]) -> None:
    """Reject texts with tokens that have no row in the model's embedding.

    Raises:
        ModelError: If there is one.
    """
    for encoded in chunk:
        for token in (*encoded.source, *encoded.context, *encoded.ids):
            if token in unknown:
                raise ModelError(
                    f"a text has the token {token} of the tokenizer of {name}, and its model has "
                    "no row for it: they do not belong together"
                )


def vocabulary_digest(folder: Path) -> str:
    """Return the digest of the subwords in a folder."""
    out = hashlib.sha256()
    for name in _FILES:
        if (folder / name).is_file():
            out.update(name.encode() + (folder / name).read_bytes())
    return out.hexdigest()


def foreign_vocabulary(folder: Path) -> str | None:
    """Return what is wrong with the vocabulary of a model, or None.

    The training of a model has left the digest of its vocabulary in ``training.json``; of a model
    without this file nothing is known.
    """
    try:
        record = json.loads((folder / "training.json").read_bytes())
    except (OSError, ValueError):
        return None
    then = record.get("vocabulary") if isinstance(record, dict) else None
    if not isinstance(then, str) or then == vocabulary_digest(folder):
        return None
    return (
        "has another vocabulary than it was trained with, as its training.json tells; put back "
        f"{', '.join(_FILES[:-1])} and, where there was one, {_FILES[-1]} of its training"
    )
