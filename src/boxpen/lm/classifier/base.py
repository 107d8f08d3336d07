"""What training starts from: a checkpoint, a GGUF file, or a new model of some size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from boxpen.errors import ModelError, nearest
from boxpen.lm.pairs import ready_for_pairs
from boxpen.lm.scratch import SHAPES, new_config, new_tokenizer
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading.assembly import cannot_load
from boxpen.models.loading.checkpoint import has_tokenizer
from boxpen.models.loading.presets import PRESETS
from boxpen.models.loading.trust import foreign_attention, trusted
from boxpen.models.resolve import recognised

__all__ = ["Base", "find_base", "plain"]

T = TypeVar("T")


@dataclass(frozen=True)
class Base:
    """A model to start from.

    Attributes:
        spec: What the user wrote.
        config: Its configuration, without the new head.
        tokenizer: Its tokenizer, ready for pairs.
        source: Arguments for ``from_pretrained``; None for a new model.
    """

    spec: str
    config: Any
    tokenizer: Any
    source: Mapping[str, Any] | None

    def load(self, auto: Any, **changes: Any) -> Any:
        """Return the module of this class, in float32, with a new head.

        Args:
            auto: One of Transformers' Auto classes.
            **changes: Fields of the configuration that belong to the head.

        Raises:
            ModelError: If the weights cannot be loaded, or are not those of this model.
        """
        import torch

        for name, value in (changes | {"pad_token_id": self.tokenizer.pad_token_id}).items():
            setattr(self.config, name, value)
        if self.source is None:
            return auto.from_config(self.config)
        options = {
            **self.source,
            "trust_remote_code": trusted(),
            "config": self.config,
            "dtype": torch.float32,
            "output_loading_info": True,
        }
        with quiet():
            module, info = _loaded(self.spec, "weights", lambda: auto.from_pretrained(**options))
        # The head is new, and so may be a pooler; the body must have come from the checkpoint.
        body = f"{module.base_model_prefix}."
        missing = [k for k in sorted(info["missing_keys"]) if k.startswith(body)]
        missing = [k for k in missing if "pooler" not in k]
        if missing:
            raise ModelError(
                f"base '{self.spec}': the checkpoint lacks {len(missing)} weights of the model's "
                f"body, such as '{missing[0]}'"
            )
        return plain(module)


def find_base(spec: str, *, tokenizer: str | None, texts: Iterable[str]) -> Base:
    """Resolve a base: ``hf:NAME_OR_PATH``, ``gguf:FILE``, a preset, ``new:tiny``.

    Args:
        spec: What the user wrote.
        tokenizer: For ``new:`` only: the model to take the tokenizer from, as above.
        texts: For ``new:`` without a tokenizer: the texts to train the vocabulary on.
    """
    scheme, _, rest = _written_out(spec).partition(":")
    if scheme == "new":
        if rest not in SHAPES:
            raise ModelError(f"base '{spec}' is unknown, {nearest(rest, list(SHAPES))}")
        taken = _tokenizer(tokenizer) if tokenizer else new_tokenizer(rest, texts)
        taken = ready_for_pairs(taken, tokenizer or spec)
        return Base(spec, new_config(rest, taken), taken, None)
    if tokenizer:
        raise ModelError(f"base '{spec}' has its own tokenizer; --tokenizer only works with new:")
    from transformers import AutoConfig

    source, code = _source(spec), {"trust_remote_code": trusted()}
    with quiet():
        config = _loaded(
            spec, "configuration", lambda: AutoConfig.from_pretrained(**source, **code)
        )
    if not trusted() and (why := foreign_attention(config)):
        raise ModelError(f"base '{spec}': {why}, or give --trust-remote-code")
    taken = ready_for_pairs(_tokenizer(spec), spec)
    return Base(spec, config, taken, source)


def plain(module: Any) -> Any:
    """Return a module without the mark of quantisation.

    The weights of a GGUF file are dequantised, but the module stays marked, and is saved so.
    """
    if not getattr(module, "is_quantized", False):
        return module
    config = module.config
    for mark in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(config, mark):
            delattr(config, mark)
    made = type(module)(config)
    made.load_state_dict(module.state_dict())
    return made


def _written_out(spec: str) -> str:
    preset = PRESETS.get(spec)
    written = preset.spec if preset else recognised(spec)
    scheme, _, rest = written.partition(":")
    if not rest or scheme not in ("hf", "gguf", "embedded", "new"):
        raise ModelError(
            f"base '{spec}' is unknown, {nearest(spec, sorted(PRESETS))} Other bases: "
            "a folder or GGUF file, hf:NAME_OR_PATH, gguf:FILE, new:tiny, new:small"
        )
    return written


def _source(spec: str) -> dict[str, str]:
    """Return what ``from_pretrained`` takes for a base with weights."""
    scheme, _, rest = _written_out(spec).partition(":")
    if scheme == "hf":
        folder = Path(rest).expanduser()
        if not folder.is_dir():
            if folder.exists() or rest.startswith((".", "/", "~")):
                raise ModelError(f"base '{spec}': {rest} is not a checkpoint folder")
            return {"pretrained_model_name_or_path": rest}
        if not (folder / "config.json").is_file():
            raise ModelError(f"base '{spec}': {rest} has no config.json, so it is not a checkpoint")
        return {"pretrained_model_name_or_path": str(folder)}
    if scheme == "new":
        raise ModelError(f"base '{spec}' has no tokenizer to take")
    if scheme == "embedded":
        from boxpen.models.loading.embedded import smollm2_path

        path = smollm2_path()
    else:
        path = Path(rest).expanduser()
    if not path.is_file():
        raise ModelError(f"base '{spec}': there is no file {path}")
    return {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}


def _tokenizer(spec: str) -> Any:
    from transformers import AutoTokenizer

    source, code = _source(spec), {"trust_remote_code": trusted()}
    folder = Path(source["pretrained_model_name_or_path"])
    if folder.is_dir() and "gguf_file" not in source and not has_tokenizer(folder):
        raise ModelError(f"base '{spec}': {folder} has no tokenizer files")
    with quiet():
        return _loaded(spec, "tokenizer", lambda: AutoTokenizer.from_pretrained(**source, **code))


def _loaded(spec: str, what: str, load: Callable[[], T]) -> T:
    """Run a Transformers loader, and turn any error into a one-sentence message."""
    try:
        return load()
    except Exception as error:
        raise ModelError(f"base '{spec}': {cannot_load(what, error)}") from error
