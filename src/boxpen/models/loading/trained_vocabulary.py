"""Check that a model still has the vocabulary that it was trained with."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

__all__ = ["foreign_vocabulary", "vocabulary_digest"]

_FILES = ("source.spm", "target.spm", "vocab.json", "target_vocab.json")


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
