"""Fingerprints: digests of models, so that cached scores never mix up models."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "hooked",
    "of_code",
    "of_directory",
    "of_file",
    "of_pair",
    "of_parts",
    "plain_attributes",
    "tokenizer_parts",
]

_BERT = "bert"
# What never changes a score: papers, licences, examples, training leftovers.
_IGNORED = (".md", ".png", ".jpg", ".log", ".pt", ".gitattributes", ".gitignore")
_LEFT = frozenset((".lock", "held-out.txt", "log.jsonl", "result.json", "training.json"))
"""Files that boxpen's training leaves beside the model; some contain times."""

# Attributes of modules that change no score, or that change as the module is used.
_INCIDENTAL = frozenset(
    ("training", "name_or_path", "gradient_checkpointing", "max_seq_len_cached",
     "_is_full_backward_hook", "_is_hf_initialized")
)  # fmt: skip


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


def of_code(classes: Iterable[str], where: str) -> str:
    """Return the digest of the Python files of classes, with what these import beside them.

    Args:
        classes: Names as in ``auto_map``: ``module.Class``, or ``elsewhere--module.Class``.
        where: The folder of the checkpoint, or its name on the hub.
    """
    from transformers import dynamic_module_utils as dynamic

    parts = []
    for name in classes:
        place, _, inside = name.rpartition("--")
        module = inside.partition(".")[0]
        try:
            copy = dynamic.get_cached_module_file(place or where, f"{module}.py")
        except OSError:
            continue  # Transformers needs it no more than we do, or fails
        file = Path(dynamic.HF_MODULES_CACHE) / copy
        files = [file, *map(Path, sorted(dynamic.get_relative_import_files(file)))]
        parts += [name, *(f"{one.name}={of_file(one)}" for one in files)]
    return of_parts(*parts)


def of_pair(module: Any, tokenizer: Any) -> str:
    """Return the digest of a model and a tokenizer in memory.

    A hooked module gets a new digest every time: what its hooks compute is unknown.
    """
    import torch

    digest = hashlib.sha256(type(module).__name__.encode())
    digest.update(module.config.to_json_string(use_diff=False).encode())
    digest.update(repr(plain_attributes(module)).encode())
    if hooked(module):
        digest.update(secrets.token_bytes())
    tensors = {**module.state_dict(), **dict(module.named_buffers())}
    for name, tensor in sorted(tensors.items()):
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


def hooked(module: Any) -> bool:
    """Whether hooks or replaced methods change what a module computes from its weights."""
    return any(
        part._forward_hooks
        or part._forward_pre_hooks
        or any(
            callable(v) and callable(getattr(type(part), k, None)) for k, v in vars(part).items()
        )
        for part in module.modules()
    )


def plain_attributes(module: Any) -> dict[str, list[tuple[str, object]]]:
    """Return the numbers, texts and tuples of them that each part of a module has, by its name."""
    return {
        name: sorted(
            (key, value)
            for key, value in vars(part).items()
            if key not in _INCIDENTAL and _is_plain(value)
        )
        for name, part in module.named_modules()
    }


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | complex | str)


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
