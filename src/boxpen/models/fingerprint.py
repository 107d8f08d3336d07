"""Fingerprints: digests of models, so that cached scores never mix up models."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["of_directory", "of_file", "of_pair", "of_parts", "tokenizer_parts"]

_BERT = "bert"
# What never changes a score: papers, licences, examples, training leftovers.
_IGNORED = (".md", ".png", ".jpg", ".log", ".pt", ".gitattributes", ".gitignore")
_LEFT = frozenset((".lock", "held-out.txt", "log.jsonl", "result.json", "training.json"))
"""Files that boxpen's training leaves beside the model; some contain times."""


def of_parts(*parts: str) -> str:
    """Return the digest of strings."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def of_file(path: Path) -> str:
    """Return the sha256 of a file's content.

    Files of a hub cache are links to blobs named by their content; large ones by its sha256.
    """
    real = path.resolve()
    if real.parent.name == "blobs" and len(real.name) == 64:
        return real.name
    with real.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def of_directory(folder: Path) -> str:
    """Return the digest of all files of a checkpoint that can matter to a score."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.name not in _LEFT)
    parts = [f"{p.name}={of_file(p)}" for p in files if not p.name.endswith(_IGNORED)]
    if (folder / _BERT).is_dir():  # the tokenizer of a BERT that is a part of the model
        parts.append(f"{_BERT}={of_directory(folder / _BERT)}")
    return of_parts(*parts)


def of_pair(module: Any, tokenizer: Any) -> str:
    """Return the digest of a model and a tokenizer in memory."""
    digest = hashlib.sha256(type(module).__name__.encode())
    digest.update(module.config.to_json_string(use_diff=False).encode())
    for name, tensor in sorted(module.state_dict().items()):
        import torch

        raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(raw.numpy())
    digest.update(type(tokenizer).__name__.encode())
    for part in tokenizer_parts(tokenizer):
        digest.update(part)
    if getattr(module, "bert_reader", None) is not None:
        digest.update(_backend(module.bert_reader.tokenizer).encode())
    digest.update(json.dumps(tokenizer.special_tokens_map, default=str, sort_keys=True).encode())
    return digest.hexdigest()


def tokenizer_parts(tokenizer: Any) -> list[bytes]:
    """Return what a tokenizer is made of, but for its class and its special tokens."""
    if tokenizer.is_fast:
        return [_backend(tokenizer).encode()]
    models = (getattr(tokenizer, name, None) for name in ("sp_model", "spm_source", "spm_target"))
    return [
        json.dumps(sorted(tokenizer.get_vocab().items())).encode(),
        *(model.serialized_model_proto() for model in models if model is not None),
    ]


def _backend(tokenizer: Any) -> str:
    """Return a fast tokenizer as JSON, without what using it changes."""
    data = json.loads(tokenizer.backend_tokenizer.to_str())
    changing = ["padding", "truncation"]
    if hasattr(tokenizer, "src_lang"):
        changing.append("post_processor")  # rewritten for every language pair
    return json.dumps({key: value for key, value in data.items() if key not in changing})
