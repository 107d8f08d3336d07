"""From what a user writes to a model: ``smollm2``, ``hf:gpt2``, ``gguf:FILE``, ``elmo:DIR``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boxpen.errors import ModelError, nearest
from boxpen.models.base import SCHEMES, Model
from boxpen.models.presets import PRESETS
from boxpen.scoring.policy import Dtype

__all__ = ["resolve_model"]


def resolve_model(
    spec: str | Model | tuple[Any, Any],
    *,
    dtype: Dtype = "auto",
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    compiled: bool | None = None,
    labels: str | Sequence[str] | None = None,
) -> Model:
    """Return the model that a name, a path or a pair in memory stands for.

    Args:
        spec: A preset, ``hf:NAME_OR_PATH``, ``gguf:FILE``, ``ct2:DIR``, ``elmo:DIR``, a
            ``(model, tokenizer)`` pair, or a model of boxpen itself.
        dtype: Floating-point type of the weights.
        device: Where to compute; a GPU if there is one.
        batch_size: Most sequences of a batch; none by default.
        token_budget: Most tokens of a batch, padding included; chosen from the memory if None.
            What is None is left as it is in a model of boxpen itself, here and below.
        deterministic: Whether every text is run by itself, to the same last bit every time.
        compiled: Whether the module is compiled before it is run.
        labels: Names of an inference classifier's labels in the order of its outputs, if those of
            the checkpoint will not do.

    Raises:
        ModelError: If there is no such model, or it cannot be loaded.
    """
    if isinstance(spec, Model) and labels is not None:
        raise ModelError(
            f"labels are given for model '{spec.name}', which is there already; expected them "
            "where it is resolved"
        )
    model = spec if isinstance(spec, Model) else _resolved(spec, dtype, device, labels)
    if dtype not in ("auto", model.dtype):
        raise ModelError(f"model '{model.name}' computes in {model.dtype}, not in {dtype}")
    model.adjust(
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
        compiled=compiled,
    )
    return model


def _resolved(
    spec: str | tuple[Any, Any],
    dtype: Dtype,
    device: str | None,
    labels: str | Sequence[str] | None,
) -> Model:
    if isinstance(spec, tuple):
        from boxpen.models.checkpoint import from_pair

        if len(spec) != 2:
            raise ModelError(f"expected a (model, tokenizer) pair, found {len(spec)} things")
        return from_pair(*spec, labels=labels)
    preset = PRESETS.get(spec)
    scheme, _, rest = (preset.spec if preset else spec).partition(":")
    if preset is None and scheme == "hf":  # a model of the list, under its name on the hub
        known = (p for p in PRESETS.values() if f"{p.spec}/".endswith((f":{rest}/", f"/{rest}/")))
        preset = next(known, None) if rest else None
    languages = frozenset(preset.languages) if preset else None
    if labels is not None and scheme != "hf":
        raise ModelError(
            f"labels are given for model '{spec}', which is no inference classifier; leave out "
            "--labels"
        )
    if scheme == "embedded":
        from boxpen.models.checkpoint import from_gguf
        from boxpen.models.embedded import smollm2_path

        return from_gguf(spec, smollm2_path(), dtype=dtype, device=device, languages=languages)
    if not rest or scheme not in SCHEMES:
        raise ModelError(
            f"model '{spec}' is unknown, {nearest(spec, sorted(PRESETS))} Other models: "
            "hf:NAME_OR_PATH, gguf:FILE, ct2:DIR, elmo:DIR"
        )
    if scheme == "gguf":
        from boxpen.models.checkpoint import from_gguf

        return from_gguf(spec, Path(rest).expanduser(), dtype=dtype, device=device)
    if scheme == "ct2":
        from boxpen.models.ct2 import CTranslate2Model

        folder = Path(rest).expanduser()
        if not folder.is_dir():
            raise ModelError(f"model '{spec}': there is no folder {folder}")
        return CTranslate2Model(spec, folder, device=device)
    if scheme == "elmo":
        from boxpen.models.checkpoint import from_elmo

        return from_elmo(spec, Path(rest).expanduser(), dtype=dtype, device=device)
    from boxpen.models.checkpoint import from_checkpoint

    return from_checkpoint(
        spec, rest, dtype=dtype, device=device, languages=languages, labels=labels
    )
