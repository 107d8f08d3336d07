"""Models in memory, and the checkpoint folders they were loaded from.

A folder's fingerprint is that of its files; a model in memory has none. To share scores, the folder
that the model names as its own is loaded once more and compared: classes, configuration, plain
attributes, every tensor, and the tokenizer. If anything differs, the model is another one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from boxpen.errors import ModelError
from boxpen.models.base import ModelSpec
from boxpen.models.engine.memory import free_memory
from boxpen.models.loading import fingerprint
from boxpen.models.loading.assembly import fingerprint_of
from boxpen.models.loading.checkpoint import forbidden_of, from_checkpoint, labels_of
from boxpen.models.loading.fingerprint import hooked, plain_attributes, tokenizer_parts
from boxpen.models.loading.kinds import kind_of, scorer_of
from boxpen.names import fits_a_line
from boxpen.scoring.policy import Dtype

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["from_pair"]

_LONGEST = 200  # characters of a name
_VOLATILE = ("_name_or_path", "dtype", "torch_dtype", "transformers_version")
_SETTINGS = ("truncation_side", "model_max_length", "model_input_names")
_UNUSED = ("name_or_path", "padding_side", "pad_token", "src_lang", "tgt_lang")
"""Settings of tokenizers that change no score: boxpen pads and names languages by itself."""


def from_pair(
    module: Any, tokenizer: Any, *, labels: str | Sequence[str] | None = None
) -> TransformersModel:
    """Return a model and a tokenizer that are already in memory, ready to score.

    If they are those of the folder they were loaded from, they share its fingerprint.
    """
    architecture = type(module).__name__
    kind = kind_of(module.config, architecture, architecture=architecture)
    order = labels_of(kind, module.config, architecture, labels)
    order |= forbidden_of(kind, module.config, architecture, lambda: module.generation_config)
    module.eval()
    dtype = str(module.dtype).removeprefix("torch.")
    name, languages = _name_of(module), None
    spec = ModelSpec(name=f"hf:{name}", path="", labels=labels)
    found = _same_model_on_disk(module, tokenizer, dtype, spec)
    forbidden = getattr(found, "forbidden", ())
    if found is not None and found.kind == kind and order.get("forbidden", ()) == forbidden:
        name, fingerprinted, languages = found.name, found.fingerprint, found.languages
    else:
        digest = fingerprint.of_pair(module, tokenizer)
        if kind in ("nli", "choice"):  # how two texts are put together; of a folder, a file says it
            digest = fingerprint.of_parts(
                digest, *tokenizer.model_input_names, tokenizer.truncation_side
            )
        fingerprinted = fingerprint_of(digest, kind, dtype, order)
    made = scorer_of(kind, module.config.model_type)(
        **order,
        name=name,
        load=lambda: module,
        config=module.config,
        tokenizer=tokenizer,
        fingerprint=fingerprinted,
        dtype=dtype,
        device_type=module.device.type,
        languages=languages,
    )
    made.in_memory = True
    return made


def _name_of(module: Any) -> str:
    """Return the name or path a module was loaded from, or that of its class."""
    name = str(getattr(module, "name_or_path", "") or "")
    last = Path(name).name
    if fits_a_line(name) and last.strip(". ") and len(last) <= _LONGEST:
        return name
    return type(module).__name__


def _same_model_on_disk(
    module: Any, tokenizer: Any, dtype: str, spec: ModelSpec
) -> TransformersModel | None:
    """Return the model of the folder that a module was loaded from, or None if they differ."""
    import torch

    folder = str(getattr(module, "name_or_path", "") or "")
    size = sum(tensor.nbytes for tensor in module.state_dict().values())
    if (
        not folder
        or not os.path.isfile(Path(folder) / "config.json")  # noqa: PTH113 (any name is fine)
        or dtype not in get_args(Dtype)
        or hooked(module)
        or 2 * size > free_memory(torch.device("cpu"))
    ):
        return None
    try:
        found = from_checkpoint(replace(spec, path=folder, dtype=cast(Dtype, dtype), device="cpu"))
        # The weights come last: they take longest.
        if _same_tokenizer(tokenizer, found.tokenizer, found.kind) and _same(module, found.module):
            return found
    except (ModelError, OSError):
        pass  # it cannot be loaded, or not as this kind of model
    return None


def _same_tokenizer(one: Any, other: Any, kind: str) -> bool:
    """Return whether two tokenizers make the same tokens of all texts."""
    if type(one) is not type(other) or tokenizer_parts(one) != tokenizer_parts(other):
        return False
    names = {*one.init_kwargs, *other.init_kwargs, *_SETTINGS}.difference(_UNUSED)
    return _specials(one, kind) == _specials(other, kind) and all(
        getattr(one, name, None) == getattr(other, name, None) for name in names
    )


def _specials(tokenizer: Any, kind: str) -> dict[str, Any]:
    found = dict(tokenizer.special_tokens_map)
    pad = found.pop("pad_token", None)
    # Many give a causal model its end of text for padding, which it never reads.
    unread = pad is None or (kind == "causal" and pad in found.values())
    return found if unread else found | {"pad_token": pad}


def _same(one: Any, other: Any) -> bool:
    import torch

    if type(one) is not type(other) or repr(one) != repr(other):
        return False
    for name in ("config", "generation_config"):
        if _settings(getattr(one, name, None)) != _settings(getattr(other, name, None)):
            return False
    if plain_attributes(one) != plain_attributes(other):
        return False
    tensors, others = ({**m.state_dict(), **dict(m.named_buffers())} for m in (one, other))
    if tensors.keys() != others.keys():
        return False
    return all(
        tensor.dtype == others[name].dtype and torch.equal(tensor.cpu(), others[name])
        for name, tensor in tensors.items()
    )


def _settings(config: Any) -> dict[str, Any] | None:
    if config is None:
        return None
    found = {k: v for k, v in config.to_dict().items() if k not in _VOLATILE}
    return found | {"attention": getattr(config, "_attn_implementation", None)}
