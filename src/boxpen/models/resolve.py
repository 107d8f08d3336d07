"""Turn a user's model name into a model: ``smollm2``, ``hf:gpt2``, ``./folder``, ``gguf:FILE``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from boxpen.errors import ModelError, nearest
from boxpen.models.base import Kind, Model, ModelSpec
from boxpen.models.loading.presets import PRESETS
from boxpen.models.loading.trust import trusted
from boxpen.plugins import MODELS
from boxpen.scoring.policy import Dtype

OTHERS = (
    "a folder or GGUF file, hf:NAME_OR_PATH, gguf:FILE, ct2:DIR, elmo:DIR, api:URL#MODEL, "
    "openai:MODEL, translator:NAME"
)

__all__ = ["OTHERS", "loads_float32", "recognised", "resolve_model", "shadowed_by_preset"]


def resolve_model(
    spec: str | Model | tuple[Any, Any],
    *,
    dtype: Dtype = "auto",
    device: str | None = None,
    batch_size: int | None = None,
    token_budget: int | None = None,
    deterministic: bool | None = None,
    labels: str | Sequence[str] | None = None,
    trust_remote_code: bool | None = None,
) -> Model:
    """Return the model for a name, a path or a pair in memory.

    Args:
        spec: A preset, the path of a model folder or GGUF file, ``hf:NAME_OR_PATH``,
            ``gguf:FILE``, ``ct2:DIR``, ``elmo:DIR``, ``api:URL#MODEL``, ``openai:MODEL``,
            ``translator:NAME``, a name of a plug-in, a ``(model, tokenizer)`` pair, or a model of
            boxpen itself. A preset wins over a path of the same name; write ``./NAME`` for that.
        dtype: Floating-point type of the weights.
        device: Where to compute; a GPU if there is one.
        batch_size: Maximum sequences per batch; unlimited by default.
        token_budget: Maximum tokens per batch, including padding; based on free memory if None.
            For a model that is already a boxpen model, None keeps its setting, here and below.
        deterministic: Whether to run every text by itself, for bit-identical scores across runs.
        labels: Names of an inference classifier's labels in the order of its outputs, if those of
            the checkpoint will not do.
        trust_remote_code: Whether code that a checkpoint brings along may run; if None, only if
            ``BOXPEN_TRUST_REMOTE_CODE`` is 1.

    Raises:
        ModelError: If there is no such model, or it cannot be loaded.
    """
    if isinstance(spec, Model) and labels is not None:
        raise ModelError(
            f"labels are given for model '{spec.name}', which is already loaded; give them when "
            "loading it"
        )
    model = (
        spec
        if isinstance(spec, Model)
        else _resolved(
            spec,
            dtype,
            device,
            labels,
            trusted() if trust_remote_code is None else trust_remote_code,
        )
    )
    if dtype not in ("auto", model.dtype):
        raise ModelError(f"model '{model.name}' computes in {model.dtype}, not in {dtype}")
    model.adjust(
        batch_size=batch_size,
        token_budget=token_budget,
        deterministic=deterministic,
    )
    return model


def _resolved(
    spec: str | tuple[Any, Any],
    dtype: Dtype,
    device: str | None,
    labels: str | Sequence[str] | None,
    trust: bool,
) -> Model:
    if isinstance(spec, tuple):
        from boxpen.models.loading.origin import from_pair

        if len(spec) != 2:
            raise ModelError(f"expected a (model, tokenizer) pair, found {len(spec)} values")
        return from_pair(*spec, labels=labels)
    preset = PRESETS.get(spec)
    spec = spec if preset else recognised(spec)
    scheme, _, path = (preset.spec if preset else spec).partition(":")
    if preset is None and scheme == "hf":  # a model of the list, under its name on the hub
        known = (p for p in PRESETS.values() if f"{p.spec}/".endswith((f":{path}/", f"/{path}/")))
        preset = next(known, None) if path else None
    if labels is not None and scheme != "hf" and scheme in MODELS.builtin:
        raise ModelError(
            f"labels are given for model '{spec}', which is not an inference classifier; leave "
            "out --labels"
        )
    if not path or scheme not in MODELS:
        raise ModelError(_unknown(spec))
    load = MODELS.load(scheme)
    languages = frozenset(preset.languages) if preset else None
    asked = ModelSpec(
        name=spec, path=path, dtype=dtype, device=device, languages=languages, labels=labels,
        trusted=trust,
    )  # fmt: skip
    with MODELS.guarding(scheme):
        return _checked(load(asked), spec)


def _checked(model: object, name: str) -> Model:
    """Return a model, unless a plug-in made something else."""
    if not isinstance(model, Model):
        raise ModelError(
            f"model '{name}': its loader returned a {type(model).__name__}, expected a boxpen.Model"
        )
    for attribute in ("name", "fingerprint", "dtype"):
        if not isinstance(getattr(model, attribute, None), str):
            raise ModelError(f"model '{name}' has no {attribute}, expected a string")
    if getattr(model, "kind", None) not in get_args(Kind):
        raise ModelError(f"model '{name}' has no kind, expected one of {', '.join(get_args(Kind))}")
    return model


def recognised(spec: str) -> str:
    """Return a path with the scheme of what is there; anything else as it is.

    Raises:
        ModelError: If there is something at the path, but no model.
    """
    try:
        path = Path(spec).expanduser()
        scheme, colon, _ = spec.partition(":")
        if (colon and scheme in MODELS) or not spec or not path.exists():
            return spec
        return f"{_scheme(spec, path)}:{spec}"
    except (OSError, RuntimeError) as error:  # a RuntimeError: no such user for ~user
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"model '{spec}' cannot be read: {reason}") from None


def loads_float32(spec: str | Model | tuple[Any, Any]) -> bool:
    """Whether the weights of a model can be loaded in float32, whatever they are stored in."""
    if not isinstance(spec, str):
        return False
    with contextlib.suppress(ModelError):
        preset = PRESETS.get(spec)
        scheme = (preset.spec if preset else recognised(spec)).partition(":")[0]
        return scheme in ("hf", "gguf", "elmo")
    return False


def shadowed_by_preset(spec: str) -> str | None:
    """Return a note if a preset hides a model at the path of the same name."""
    with contextlib.suppress(ModelError):
        if spec in PRESETS and recognised(f"./{spec}") != f"./{spec}":
            return f"'{spec}' is the preset; for the path of that name, write ./{spec}"
    return None


def _scheme(spec: str, path: Path) -> str:
    if path.is_file():
        with path.open("rb") as stream:
            if stream.read(4) == b"GGUF":
                return "gguf"
        raise ModelError(f"model '{spec}' is a file, expected a model folder or a GGUF file")
    if _is_ct2(path):  # before the next: it may have a config.json, too
        return "ct2"
    if (path / "config.json").is_file():
        return "hf"
    if _is_ct2(path / "model"):  # as Argos Translate packs it
        return "ct2"
    if any(p.suffix in (".hdf5", ".h5") for p in path.iterdir()):
        return "elmo"
    inside = sorted([*path.glob("*.gguf"), *(p.parent for p in path.glob("*/config.json"))])
    hint = f"; did you mean {Path(spec) / inside[-1].name}?" if inside else ""
    raise ModelError(
        f"model '{spec}' is a folder without a model, expected config.json (Transformers), "
        f"model.bin with its vocabulary (CTranslate2), or the *.hdf5 files of ELMo{hint}"
    )


def _is_ct2(folder: Path) -> bool:
    return (folder / "model.bin").is_file() and any(folder.glob("*vocabulary.*"))


def _unknown(spec: str) -> str:
    if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", spec):
        return f"model '{spec}' is neither a preset nor a path; for the hub, write hf:{spec}"
    if "/" in spec or spec.endswith(".gguf"):
        return f"model '{spec}': no such file or folder"
    return (
        f"model '{spec}' is unknown, {nearest(spec, sorted(PRESETS))} Other models: "
        + ", ".join(
            [OTHERS, *(f"{scheme}:NAME" for scheme in MODELS if scheme not in MODELS.builtin)]
        )
    )
