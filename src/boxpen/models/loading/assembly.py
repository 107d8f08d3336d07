"""What all loaders of Transformers models share: errors, devices, dtypes, weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.base import Kind, ModelSpec
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading import fingerprint
from boxpen.models.loading.kinds import scorer_of
from boxpen.models.loading.trust import refused
from boxpen.scoring.policy import Dtype

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["assemble", "cannot_load", "fingerprint_of", "load_module", "loaded", "transformers"]

_NONE: Mapping[str, Any] = MappingProxyType({})


def transformers() -> Any:
    """Return the library Transformers.

    Raises:
        ModelError: If it or PyTorch is not installed.
    """
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError:
        raise ModelError(
            "this model needs PyTorch and Transformers; install them with: pip install 'boxpen[hf]'"
        ) from None
    return transformers


def assemble(
    spec: ModelSpec,
    kind: Kind,
    config: Any,
    tokenizer: Any,
    digest: str,
    load: Callable[[str, str], Any],
    *,
    stored: Any = None,
    order: Mapping[str, Any] = _NONE,
    languages: frozenset[str] | None = None,
    remote_code: bool = False,
) -> TransformersModel:
    """Make a model of its parts.

    Args:
        spec: What was asked for.
        kind: What the scores mean.
        config: The model's configuration.
        tokenizer: Its tokenizer.
        digest: Digest of its files.
        load: Returns the module, given dtype and device; called when first needed.
        stored: The dtype of the stored weights, if it may be used on a GPU.
        order: The labels of an inference classifier, or the tokens that a Marian never produces.
        languages: What the model reads, if ``spec`` does not say.
        remote_code: Whether code of the checkpoint runs.

    Raises:
        ModelError: If the device is not available.
    """
    device = _device(spec.device)
    dtype = _dtype(spec.dtype, device, stored)
    made = scorer_of(kind, config.model_type)(
        **order,
        name=spec.name,
        load=partial(load, dtype, device),
        config=config,
        tokenizer=tokenizer,
        fingerprint=fingerprint_of(digest, kind, dtype, order),
        dtype=dtype,
        device_type=device.partition(":")[0],
        languages=spec.languages or languages,
    )
    made.remote_code = remote_code
    return made


def fingerprint_of(digest: str, kind: Kind, dtype: str, order: Mapping[str, Any] = _NONE) -> str:
    """Return the fingerprint of a model from the digest of its files."""
    named = [str(label) for label in order.get("order", ())]  # a record is in their order
    # Earlier versions rounded logits of halves to halves, and filters over characters to TF32.
    precision = dtype if dtype == "float32" else f"{dtype}, logits float32"
    exact = ["filters float32"] if kind == "bidirectional" else []
    never = [f"never {token}" for token in order.get("forbidden", ())]
    return fingerprint.of_parts(digest, kind, precision, *named, *exact, *never)


def load_module(name: str, auto: Any, where: str, dtype: str, device: str, **options: Any) -> Any:
    """Return a checkpoint's module on its device, ready to score.

    Raises:
        ModelError: If it cannot be loaded, or lacks weights.
    """
    import torch

    options |= {"dtype": getattr(torch, dtype), "output_loading_info": True}
    with quiet():
        module, info = loaded(name, "weights", lambda: auto.from_pretrained(where, **options))
    missing = sorted(info["missing_keys"])
    if missing:  # Transformers would make them up at random, and only warn
        raise ModelError(
            f"model '{name}': the checkpoint lacks {len(missing)} weights, such as '{missing[0]}'; "
            "a model needs its output layer"
        )
    return loaded(name, f"weights on {device}", lambda: module.to(device).eval())


def loaded(name: str, what: str, load: Callable[[], Any]) -> Any:
    """Run a Transformers loader, and turn any error into a one-sentence message."""
    try:
        return load()
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"model '{name}': {cannot_load(what, error)}") from error


def cannot_load(what: str, error: BaseException) -> str:
    """Return why part of a model cannot be loaded, for a message."""
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    folder = "or name a local folder: ./path/to/checkpoint"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LocalEntryNotFoundError):
            if constants.HF_HUB_OFFLINE:
                return f"it is not in the cache and HF_HUB_OFFLINE is set; unset it, {folder}"
            hub = constants.ENDPOINT
            return f"it is not in the cache and {hub} cannot be reached; try again later, {folder}"
        cause = cause.__cause__ or cause.__context__
    if code := refused(error):
        return code
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"its {what} cannot be loaded ({reason})"


def _device(wanted: str | None) -> str:
    """Return where to compute.

    Raises:
        ModelError: If there is no such device.
    """
    import torch

    usable = ["cpu"]
    if torch.cuda.is_available():
        usable += ["cuda", *(f"cuda:{n}" for n in range(1, torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        usable.append("mps")
    if wanted is None:
        return usable[1] if len(usable) > 1 else "cpu"
    with contextlib.suppress(RuntimeError, AssertionError, ValueError):
        torch.zeros(1, device=wanted).item()
        return wanted
    raise ModelError(f"device '{wanted}' is not available; use {' or '.join(usable)}")


def _dtype(wanted: Dtype, device: str, stored: Any) -> str:
    if wanted != "auto":
        return wanted
    name = str(stored).removeprefix("torch.")
    return name if device.startswith("cuda") and name in ("bfloat16", "float16") else "float32"
