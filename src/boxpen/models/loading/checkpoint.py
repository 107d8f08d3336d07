"""Checkpoints: folders, or names on the Hugging Face hub."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.base import Kind, ModelSpec
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading import fingerprint
from boxpen.models.loading.assembly import assemble, load_module, loaded, transformers
from boxpen.models.loading.kinds import auto_class, introduce, kind_of
from boxpen.models.loading.label_names import label_order
from boxpen.models.loading.trust import brings_code, code_of, foreign_attention
from boxpen.models.vocabulary import foreign_vocabulary
from boxpen.plugins import ARCHITECTURES
from boxpen.text.languages import two_letter

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["forbidden_of", "from_checkpoint", "has_tokenizer", "labels_of"]

_TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model",
    "spiece.model", "sentencepiece.bpe.model", "source.spm", "merges.txt",
)  # fmt: skip


def from_checkpoint(spec: ModelSpec) -> TransformersModel:
    """Return the model of a checkpoint folder, or of a name on the Hugging Face hub.

    Raises:
        ModelError: If it cannot be found, has no tokenizer, or is of a kind that cannot score.
    """
    library, name, path, folder = transformers(), spec.name, spec.path, spec.local
    local = folder.is_dir()
    if not local and (folder.exists() or path.startswith((".", "/", "~"))):
        raise ModelError(f"model '{name}': {path} is not a checkpoint folder")
    if local and not (folder / "config.json").is_file():
        raise ModelError(f"model '{name}': {path} has no config.json, so it is not a checkpoint")
    where = str(folder) if local else path
    code = {"trust_remote_code": spec.trusted}  # None would ask on the terminal
    if local:
        _introduce(folder)
    with quiet():
        config = loaded(
            name, "configuration", lambda: library.AutoConfig.from_pretrained(where, **code)
        )
        if not spec.trusted and (why := foreign_attention(config)):
            raise ModelError(f"model '{name}': {why}, or give --trust-remote-code")
        kind = kind_of(config, name, trusted=spec.trusted)
        order = labels_of(kind, config, name, spec.labels)
        if local and not has_tokenizer(folder):
            raise ModelError(f"model '{name}': {path} has no tokenizer files")
        if local and (wrong := foreign_vocabulary(folder)):
            raise ModelError(f"model '{name}' {wrong}")
        tokenizer = loaded(
            name, "tokenizer", lambda: library.AutoTokenizer.from_pretrained(where, **code)
        )
        order |= forbidden_of(kind, config, name, lambda: _generation(library, where))

    def load(dtype: str, device: str) -> Any:
        auto = getattr(library, auto_class(kind, config))
        return load_module(name, auto, where, dtype, device, **code)

    commit = str(getattr(config, "_commit_hash", None))
    digest = fingerprint.of_directory(folder) if local else fingerprint.of_parts(path, commit)
    remote_code = spec.trusted and brings_code(config, tokenizer)
    if remote_code:
        classes = code_of(auto_class(kind, config), config, tokenizer)
        own = loaded(name, "code", lambda: fingerprint.of_code(classes, where))
        digest = fingerprint.of_parts(digest, "its own code", own)
    return assemble(
        spec,
        kind,
        config,
        tokenizer,
        digest,
        load,
        stored=getattr(config, "dtype", None),
        order=order,
        languages=_languages(folder) if local else None,
        remote_code=remote_code,
    )


def has_tokenizer(folder: Path) -> bool:
    """Return whether a checkpoint has the files of a tokenizer.

    Without them, Transformers makes up an empty one for some kinds of model.
    """
    return any((folder / name).is_file() for name in _TOKENIZER_FILES)


def labels_of(
    kind: Kind, config: Any, name: str, labels: str | Sequence[str] | None
) -> dict[str, Any]:
    """Return what an inference classifier must be told of its labels; nothing for other kinds.

    Raises:
        ModelError: If the labels are not those of inference, or given for another kind of model.
    """
    if kind == "nli":
        order = label_order(config, name, labels)
        return {"order": order, "explicit": labels is not None}
    if labels is not None:
        raise ModelError(
            f"labels are given for model '{name}', which is not an inference classifier but a "
            f"{kind} model; leave out --labels"
        )
    return {}


def forbidden_of(
    kind: Kind, config: Any, name: str, generation: Callable[[], Any]
) -> dict[str, Any]:
    """Return the tokens that a Marian checkpoint never produces; nothing if there are none.

    Args:
        kind: The kind of the model.
        config: The model's configuration.
        name: The model, for messages.
        generation: Returns its settings for generation.

    Raises:
        ModelError: If the settings cannot be read, or forbid what is not a token.
    """
    # In other models, what searches avoid is still language.
    if kind != "seq2seq" or config.model_type != "marian":
        return {}
    words = loaded(name, "settings for generation", generation).bad_words_ids or []
    known = range(getattr(config, "decoder_vocab_size", None) or config.vocab_size)
    if not isinstance(words, list) or not all(
        isinstance(word, list) and all(type(token) is int and token in known for token in word)
        for word in words
    ):
        raise ModelError(f"model '{name}' has bad_words_ids that are not lists of its token ids")
    found = tuple(sorted({word[0] for word in words if len(word) == 1}))
    return {"forbidden": found} if found else {}


def _generation(library: Any, where: str) -> Any:
    """Return a checkpoint's settings for generation, which older ones keep in ``config.json``."""
    read = library.GenerationConfig.from_pretrained
    try:
        return read(where)
    except OSError:
        return read(where, config_file_name="config.json", _from_model_config=True)


def _introduce(folder: Path) -> None:
    """Register the architecture of a checkpoint with Transformers, if it is one of ours."""
    try:
        kind = json.loads((folder / "config.json").read_text("utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError):
        return  # loading will say what is wrong with it
    if kind in ARCHITECTURES:
        introduce(kind)


def _languages(folder: Path) -> frozenset[str] | None:
    """Return the languages that the model card of a checkpoint names."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    front = re.match(r"---\s*\n(.*?)\n---", card.read_text("utf-8", "replace"), re.DOTALL)
    if front is None:
        return None
    line = re.search(r"^language:[ \t]*(.*(?:\n[ \t]*-[^\n]*)*)", front[1], re.MULTILINE)
    codes = re.findall(r"[A-Za-z][A-Za-z_-]*", line[1]) if line else []
    known = frozenset(two_letter(c) for c in codes if c.lower() != "multilingual")
    return known or None
