"""Loading checkpoints through Transformers, and what they read."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.base import Kind
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading import fingerprint
from boxpen.models.loading.gguf_file import read_fast
from boxpen.models.loading.kinds import auto_class, class_of, kind_of
from boxpen.models.loading.label_names import label_order
from boxpen.models.loading.origin import name_of, same_model_on_disk
from boxpen.models.loading.own import BIDIRECTIONAL, OWN, introduce
from boxpen.models.loading.trained_vocabulary import foreign_vocabulary
from boxpen.scoring.policy import Dtype
from boxpen.text.languages import two_letter

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = [
    "cannot_load",
    "from_checkpoint",
    "from_elmo",
    "from_gguf",
    "from_pair",
    "unavailable",
]

_TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model",
    "spiece.model", "sentencepiece.bpe.model", "source.spm", "merges.txt",
)  # fmt: skip


def from_checkpoint(
    name: str,
    path: str,
    *,
    dtype: Dtype = "auto",
    device: str | None = None,
    languages: frozenset[str] | None = None,
    labels: str | Sequence[str] | None = None,
) -> TransformersModel:
    """Return the model of a checkpoint folder, or of a name on the Hugging Face hub.

    Args:
        name: As the user named it.
        path: The folder, or the name.
        dtype: Floating-point type of the weights.
        device: Where to compute.
        languages: What it reads, if known.
        labels: Names of a classifier's labels in the order of its outputs, if those of the
            checkpoint will not do.

    Raises:
        ModelError: If it cannot be found, has no tokenizer, or is of a kind that cannot score.
    """
    transformers = _transformers()
    folder = Path(path).expanduser()
    local = folder.is_dir()
    if not local and (folder.exists() or path.startswith((".", "/", "~"))):
        raise ModelError(f"model '{name}': {path} is not a checkpoint folder")
    if local and not (folder / "config.json").is_file():
        raise ModelError(f"model '{name}': {path} has no config.json, so it is not a checkpoint")
    where = str(folder) if local else path
    if local:
        _introduce(folder)
    with quiet():
        config = _loaded(
            name, "configuration", lambda: transformers.AutoConfig.from_pretrained(where)
        )
        kind = kind_of(config, name)
        order = _order(kind, config, name, labels)
        if local and not any((folder / f).is_file() for f in _TOKENIZER_FILES):
            raise ModelError(f"model '{name}': {path} has no tokenizer files")
        if local and (wrong := foreign_vocabulary(folder)):
            raise ModelError(f"model '{name}' {wrong}")
        tokenizer = _loaded(
            name, "tokenizer", lambda: transformers.AutoTokenizer.from_pretrained(where)
        )
    device = _device(device)
    resolved_dtype = _dtype(dtype, device, getattr(config, "dtype", None))
    if local:
        digest = fingerprint.of_directory(folder)
    else:
        digest = fingerprint.of_parts(path, str(getattr(config, "_commit_hash", None)))

    def load() -> Any:
        auto = getattr(transformers, auto_class(kind, config))
        return _module(name, auto, where, resolved_dtype, device)

    return class_of(kind, config.model_type)(
        **order,
        name=name,
        load=load,
        config=config,
        tokenizer=tokenizer,
        fingerprint=_fingerprint(digest, kind, resolved_dtype, order),
        dtype=resolved_dtype,
        device_type=device.partition(":")[0],
        languages=languages or (_languages(folder) if local else None),
    )


def from_gguf(
    name: str,
    path: Path,
    *,
    dtype: Dtype = "auto",
    device: str | None = None,
    languages: frozenset[str] | None = None,
) -> TransformersModel:
    """Return the model of a GGUF file; its weights are dequantised.

    Reading the vocabulary out of a GGUF file takes seconds, so the tokenizer and the configuration
    are kept in the cache folder.
    """
    transformers = _transformers()
    if not path.is_file():
        raise ModelError(f"model '{name}': file {path} does not exist")
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError(f"model '{name}': {path} is not a GGUF file")
    digest = fingerprint.of_file(path)
    with quiet(), read_fast():
        config, tokenizer = _gguf_parts(name, path, digest)
    device = _device(device)
    resolved_dtype = _dtype(dtype, device, None)

    def load() -> Any:
        auto = transformers.AutoModelForCausalLM
        with read_fast():
            return _module(
                name,
                auto,
                str(path.parent),
                resolved_dtype,
                device,
                gguf_file=path.name,
                config=config,
            )

    return class_of("causal")(
        name=name,
        load=load,
        config=config,
        tokenizer=tokenizer,
        fingerprint=_fingerprint(digest, "causal", resolved_dtype),
        dtype=resolved_dtype,
        device_type=device.partition(":")[0],
        languages=languages,
    )


def from_elmo(
    name: str, folder: Path, *, dtype: Dtype = "auto", device: str | None = None
) -> TransformersModel:
    """Return the model of a folder with the public files of ELMo.

    Raises:
        ModelError: If files are missing, above all the softmax, or do not belong together.
    """
    _transformers()
    from boxpen.lm.bilm.elmo import find_elmo

    files = find_elmo(folder)
    config, tokenizer = files.config(), files.tokenizer()
    device = _device(device)
    resolved_dtype = _dtype(dtype, device, None)

    def load() -> Any:
        import torch

        return files.load().to(device, getattr(torch, resolved_dtype))

    return class_of("bidirectional")(
        name=name,
        load=load,
        config=config,
        tokenizer=tokenizer,
        fingerprint=_fingerprint(fingerprint.of_directory(folder), "bidirectional", resolved_dtype),
        dtype=resolved_dtype,
        device_type=device.partition(":")[0],
    )


def from_pair(
    module: Any,
    tokenizer: Any,
    *,
    name: str | None = None,
    labels: str | Sequence[str] | None = None,
) -> TransformersModel:
    """Return a model and a tokenizer that are already in memory, ready to score.

    If they are those of the folder they were loaded from, they share its fingerprint.
    """
    kind = kind_of(module.config, type(module).__name__, architecture=type(module).__name__)
    order = _order(kind, module.config, name or type(module).__name__, labels)
    module.eval()
    dtype = str(module.dtype).removeprefix("torch.")
    own = name_of(module)
    load = partial(from_checkpoint, f"hf:{own}", device="cpu", labels=labels)
    found = same_model_on_disk(module, tokenizer, load)
    if found is not None and found.kind == kind:
        own, fingerprinted, languages = found.name, found.fingerprint, found.languages
    else:
        digest = fingerprint.of_pair(module, tokenizer)
        if kind in ("nli", "choice"):  # how two texts are put together; of a folder, a file says it
            digest = fingerprint.of_parts(
                digest, *tokenizer.model_input_names, tokenizer.truncation_side
            )
        fingerprinted, languages = _fingerprint(digest, kind, dtype, order), None
    made = class_of(kind, module.config.model_type)(
        **order,
        name=name or own,
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


def _order(
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


def _fingerprint(
    digest: str, kind: Kind, dtype: str, order: Mapping[str, Any] = MappingProxyType({})
) -> str:
    named = [str(label) for label in order.get("order", ())]  # a record is in their order
    # Once, a GPU rounded what the filters over characters multiply to TF32.
    exact = ["filters float32"] if kind == "bidirectional" else []
    return fingerprint.of_parts(digest, kind, _precision(dtype), *named, *exact)


def _transformers() -> Any:
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError:
        raise ModelError(
            "this model needs PyTorch and Transformers; install them with: pip install 'boxpen[hf]'"
        ) from None
    return transformers


def _introduce(folder: Path) -> None:
    """Register the architecture of a checkpoint with Transformers, if it is one of ours."""
    try:
        kind = json.loads((folder / "config.json").read_text("utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError):
        return  # loading will say what is wrong with it
    if kind in OWN or kind in BIDIRECTIONAL:
        introduce(kind)


def _loaded(name: str, what: str, load: Any) -> Any:
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
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"its {what} cannot be loaded ({reason})"


def _module(name: str, auto: Any, where: str, dtype: str, device: str, **options: Any) -> Any:
    import torch

    options |= {"dtype": getattr(torch, dtype), "output_loading_info": True}
    with quiet():
        module, info = _loaded(name, "weights", lambda: auto.from_pretrained(where, **options))
    missing = sorted(info["missing_keys"])
    if missing:  # Transformers would make them up at random, and only warn
        raise ModelError(
            f"model '{name}': the checkpoint lacks {len(missing)} weights, such as '{missing[0]}'; "
            "a model needs its output layer"
        )
    return _loaded(name, f"weights on {device}", lambda: module.to(device).eval())


def _gguf_parts(name: str, path: Path, digest: str) -> tuple[Any, Any]:
    import transformers

    from boxpen.folders import cache_dir

    kept = cache_dir() / "gguf" / f"{digest[:16]}-{transformers.__version__}"
    if kept.is_dir():
        with contextlib.suppress(OSError, ValueError):  # damaged: made again below
            config = transformers.AutoConfig.from_pretrained(kept)
            return config, transformers.AutoTokenizer.from_pretrained(kept)
    source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = _loaded(
        name, "tokenizer", lambda: transformers.AutoTokenizer.from_pretrained(**source)
    )
    config = _loaded(
        name, "configuration", lambda: transformers.AutoConfig.from_pretrained(**source)
    )
    _keep(config, tokenizer, kept)
    return config, tokenizer


def _keep(config: Any, tokenizer: Any, place: Path) -> None:
    """Keep a configuration and a tokenizer, whole or not at all; failing only costs time later."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place.parent))
    except OSError:
        return
    try:
        config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        shutil.rmtree(place, ignore_errors=True)
        folder.rename(place)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def _device(wanted: str | None) -> str:
    """Return where to compute.

    Raises:
        ModelError: If there is no such device.
    """
    import torch

    if wanted is not None:
        with contextlib.suppress(RuntimeError, AssertionError, ValueError):
            torch.zeros(1, device=wanted).item()
            return wanted
        raise ModelError(unavailable(wanted))
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def unavailable(device: str) -> str:
    """Return a message for an unavailable device that names the available ones."""
    import torch

    usable = ["cpu"]
    if torch.cuda.is_available():
        usable += ["cuda", *(f"cuda:{n}" for n in range(1, torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        usable.append("mps")
    return f"device '{device}' is not available; use {' or '.join(usable)}"


def _dtype(wanted: Dtype, device: str, stored: Any) -> str:
    if wanted != "auto":
        return wanted
    name = str(stored).removeprefix("torch.")
    return name if device.startswith("cuda") and name in ("bfloat16", "float16") else "float32"


def _precision(dtype: str) -> str:
    """Return what numbers depend on: the logits of halves were once rounded to halves, too."""
    return dtype if dtype == "float32" else f"{dtype}, logits float32"


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
